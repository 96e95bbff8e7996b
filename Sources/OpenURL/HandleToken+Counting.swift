internal import OpenURLBus
internal import Synchronization

extension HandleToken {
    /// The number of this process's latest token. Clients may share a connection, and each request needs its own token.
    private static let last = Atomic<UInt64>(0)

    /// Returns a token that no client in this process has used.
    static func next() -> HandleToken? {
        HandleToken(rawValue: "swift_\(last.wrappingAdd(1, ordering: .relaxed).newValue)")
    }
}
