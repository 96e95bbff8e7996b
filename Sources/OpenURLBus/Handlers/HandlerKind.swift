/// Means by which a handler or an application gets URLs.
public enum HandlerKind: String, Sendable, Hashable, CaseIterable {
    /// Over ``HandlerInterface``.
    case native
    /// Over ``FreedesktopApplication``; for a handler of the system, through the desktop's default application.
    case freedesktop
    /// As an argument of a command.
    case exec
}
