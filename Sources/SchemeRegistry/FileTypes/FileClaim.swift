/// A handler's claim on files with a certain property.
public struct FileClaim: Sendable, Hashable {
    /// The property that the files have.
    public var key: FileKey
    /// The rank of the handler among those with a claim on the same property.
    public var rank: HandlerRank

    /// Creates a claim.
    public init(_ key: FileKey, _ rank: HandlerRank = .default) {
        self.key = key
        self.rank = rank
    }
}
