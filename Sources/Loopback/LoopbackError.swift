/// Why a loopback server cannot serve.
public struct LoopbackError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, for people to read.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
