internal import OpenURLBus
internal import Synchronization

extension HandleToken {
    /// The number of the last token of this process. Clients may share a connection, and each request needs a token of its own.
    private static let last = Atomic<UInt64>(0)

    /// A token that no client of this process has used.
    static func next() -> HandleToken? {
        HandleToken(rawValue: "swift_\(last.wrappingAdd(1, ordering: .relaxed).newValue)")
    }
}
