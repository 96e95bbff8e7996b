package import DBus
internal import Glibc

/// The place of the lane: a socket of the router, over which programs of the same user reach the router without a bus.
///
/// The socket is in `$XDG_RUNTIME_DIR/openurl`, which only the user can reach. Its name holds a hash of the bus's address, because
/// a user may have several session buses, each with a router of its own.
package enum LaneAddress {
    /// The path of the socket for the router of a bus.
    ///
    /// - Returns: Nil without a directory, for a bus without a socket on this machine, and for a path that is too long for a
    ///   socket.
    package static func path(for bus: BusAddress) -> String? {
        guard let variable = unsafe getenv("XDG_RUNTIME_DIR") else { return nil }
        return path(for: bus.text, in: unsafe String(cString: variable))
    }

    static func path(for bus: String, in directory: String) -> String? {
        guard bus.hasPrefix("unix:"), directory.hasPrefix("/") else { return nil }
        // Programs may know the address with or without the bus's identifier. `joined`, and to append a substring, would search the
        // conformances of the whole program.
        var text = ""
        for word in bus.dropFirst("unix:".count).split(separator: ",") where !word.hasPrefix("guid=") {
            if !text.isEmpty { text += "," }
            text += String(word)
        }
        let path = "\(directory)/openurl/lane-\(hash(text))"
        return path.utf8.count < socketPathSize ? path : nil
    }

    /// The address of a socket in D-Bus's notation.
    package static func address(ofPath path: String) -> String { "unix:path=" + BusAddress.escaped(path) }

    /// The size of `sun_path`, with the zero at its end.
    private static let socketPathSize = 108

    /// FNV-1a, as 16 hexadecimal digits.
    private static func hash(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
