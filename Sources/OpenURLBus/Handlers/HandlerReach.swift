/// Programs that may send URLs to a handler, according to its manifest (`OUReach`).
public enum HandlerReach: String, Sendable, Hashable, CaseIterable {
    /// Any program.
    case everyone
    /// The user's programs that are not confined.
    case local
    /// Handlers that the manifest lists.
    case listed
}
