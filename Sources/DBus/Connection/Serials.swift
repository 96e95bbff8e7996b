/// The serials of the messages that a connection sends.
///
/// Each one is greater than the one before. Filters between a program and its bus, such as xdg-dbus-proxy, end a
/// connection whose serials do not increase, or lie in the range that the filter uses itself.
struct Serials {
    private var last: UInt32 = 0

    /// The greatest serial; those above it belong to xdg-dbus-proxy.
    static let maximum = UInt32.max - 65_536

    init(after last: UInt32 = 0) {
        self.last = last
    }

    /// Returns the next serial. After ``maximum`` comes 1, because D-Bus does not allow 0.
    mutating func next() -> UInt32 {
        last = last < Self.maximum ? last + 1 : 1
        return last
    }
}
