/// A handler's states (Table 3-1 of the app programming guide).
public enum HandlerState: String, Sendable, Hashable, CaseIterable {
    /// It has no process.
    case notRunning
    /// In the foreground but not receiving events, during an interruption, during the launch, or on the way to another
    /// state.
    case inactive
    /// In the foreground and receiving events.
    case active
    /// Running, but not in the foreground.
    case background
    /// In memory, but not executing.
    case suspended
}
