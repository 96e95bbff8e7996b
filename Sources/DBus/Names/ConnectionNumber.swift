/// A connection's place among all connections of its bus, in the order in which they began.
///
/// A bus gives each connection a unique name with two numbers, such as `:1.42`. The bus counts up, and never gives a
/// number twice.
public struct ConnectionNumber: Sendable, Hashable, Comparable {
    private let major: UInt32
    private let minor: UInt32

    /// Reads a connection's number; nil if the name is not a unique name with two numbers.
    public init?(_ name: BusName) {
        let fields = name.rawValue.dropFirst()
        guard name.isUnique, let dot = fields.utf8.firstIndex(of: UInt8(ascii: ".")),
            let major = UInt32(fields[..<dot]), let minor = UInt32(fields[dot...].dropFirst())
        else { return nil }
        self.major = major
        self.minor = minor
    }

    /// Whether the first connection began before the second.
    public static func < (a: ConnectionNumber, b: ConnectionNumber) -> Bool {
        (a.major, a.minor) < (b.major, b.minor)
    }
}
