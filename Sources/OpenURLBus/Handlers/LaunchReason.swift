/// Why a handler is launched or woken ("Understanding When Your App Gets Launched into the Background").
public enum LaunchReason: String, Sendable, Hashable, CaseIterable {
    /// A URL is to be opened.
    case url
    /// The user or another program wants the handler in the foreground.
    case activation
    /// Another program has called the handler's bus name, or has sent a notification that wakes the handler.
    case message
    /// The handler's server has sent a push.
    case push
    /// A notification of the handler is due while the handler is active, or the user has clicked on one.
    case notification
    /// A task that the handler has scheduled is due.
    case task
    /// The user has logged in, and the handler's manifest has `voip` in `UIBackgroundModes`.
    case login
    /// The handler's process has failed, and its manifest has `voip` in `UIBackgroundModes`.
    case relaunch
}
