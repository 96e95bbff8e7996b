/// The way in which a handler or an application gets URLs.
public enum HandlerKind: String, Sendable, Hashable, CaseIterable {
    /// Over ``HandlerInterface``.
    case native
    /// Over ``FreedesktopApplication``; for a system handler, through the desktop's default application.
    case freedesktop
    /// As an argument to a command.
    case exec
}
