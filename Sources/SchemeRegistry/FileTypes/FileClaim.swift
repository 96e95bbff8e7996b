/// A handler's claim on files with a certain property.
public struct FileClaim: Sendable, Hashable {
    /// The property that the files must have.
    public var key: FileKey
    /// The rank among the handlers that claim the same property.
    public var rank: HandlerRank

    /// Creates a claim.
    public init(_ key: FileKey, _ rank: HandlerRank = .default) {
        self.key = key
        self.rank = rank
    }
}
