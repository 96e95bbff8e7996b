/// A kind of change in the system that a handler wants to hear of (`OUObservedChanges`; Table 3-2 of the app programming
/// guide).
public enum ObservedChange: String, Sendable, Hashable, CaseIterable {
    /// The clock has been set, or the machine has slept.
    case clock
    /// The time zone has changed.
    case timeZone
    /// The language, or the format of dates and numbers, has changed.
    case locale
    /// The battery's level has changed, or whether it is charging.
    case battery
    /// The machine now runs on its battery, or no longer does.
    case powerSource
    /// The network has become available or unavailable, or costs money now or no longer does.
    case network
    /// The user now prefers dark or light colours, or no longer does.
    case colorScheme
}
