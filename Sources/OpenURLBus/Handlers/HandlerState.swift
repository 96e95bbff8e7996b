/// The states of a handler (Table 3-1 of the app programming guide).
public enum HandlerState: String, Sendable, Hashable, CaseIterable {
    /// There is no process.
    case notRunning
    /// In the foreground without receiving events: during the launch, or on the way to another state.
    case inactive
    /// In the foreground and receiving events.
    case active
    /// Running, and not in the foreground.
    case background
    /// In memory, and not executing.
    case suspended
}
