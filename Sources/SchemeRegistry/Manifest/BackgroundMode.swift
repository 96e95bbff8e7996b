/// An activity in the background (`UIBackgroundModes`, Table 3-4 of the app programming guide).
public enum BackgroundMode: String, Sendable, Hashable, CaseIterable {
    /// Plays or records sound.
    case audio
    /// Receives updates on its location.
    case location
    /// Takes calls over the network.
    case voip
    /// Downloads issues of a magazine or a newspaper.
    case newsstandContent = "newsstand-content"
    /// Works with an accessory.
    case externalAccessory = "external-accessory"
    /// Works with a Bluetooth accessory.
    case bluetoothCentral = "bluetooth-central"
    /// Is itself a Bluetooth accessory.
    case bluetoothPeripheral = "bluetooth-peripheral"
    /// Downloads small amounts of content regularly.
    case fetch
    /// Downloads content when a notification arrives.
    case remoteNotification = "remote-notification"

    /// Whether this mode keeps a handler from being suspended.
    ///
    /// According to the guide, an app keeps running while it plays sound or manages the sockets of its calls. The other
    /// modes do not prevent suspension: they wake an app when something new arrives.
    public var preventsSuspension: Bool {
        switch self {
        case .audio, .voip: true
        case .location, .newsstandContent, .externalAccessory, .bluetoothCentral, .bluetoothPeripheral, .fetch,
            .remoteNotification:
            false
        }
    }

    /// Whether this mode changes anything.
    ///
    /// A handler with `fetch` may schedule a fetch. The other modes that do not prevent suspension have no effect: a push
    /// wakes each handler that has registered for pushes, and nothing else arrives in that way.
    var hasEffect: Bool { preventsSuspension || self == .fetch }
}
