/// The programs that may send URLs to a handler, as the handler's manifest says (`OUReach`).
public enum HandlerReach: String, Sendable, Hashable, CaseIterable {
    /// Every program.
    case everyone
    /// The user's own programs that are not confined.
    case local
    /// The handlers that the manifest lists.
    case listed
}
