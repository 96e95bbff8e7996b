internal import ByteCoding
package import DBus
internal import Glibc
internal import RFC1808

/// The address of the lane: the router's socket, over which the same user's programs reach the router without a bus.
///
/// It is in `$XDG_RUNTIME_DIR/openurl`, which only the user can reach. Its name contains a hash of the bus's address,
/// because a user may have several session buses, each with its own router.
package enum LaneAddress {
    /// Returns the path of the socket for a bus's router.
    ///
    /// - Returns: Nil if there is no such directory, if the bus has no socket on this machine, or if the path is too
    ///   long for a socket.
    package static func path(for bus: BusAddress) -> String? {
        guard let variable = unsafe getenv("XDG_RUNTIME_DIR") else { return nil }
        return path(for: bus.text, in: unsafe String(cString: variable))
    }

    static func path(for bus: String, in directory: String) -> String? {
        guard bus.hasPrefix("unix:"), directory.hasPrefix("/") else { return nil }
        // Programs may know the address with or without the bus's identifier. Using `joined`, or appending a substring,
        // would search the whole program's conformances.
        var text = ""
        for word in bus.dropFirst("unix:".count).split(separator: ",") where !word.hasPrefix("guid=") {
            if !text.isEmpty { text += "," }
            text += String(word)
        }
        var hash = Checksum()
        hash.add(text)
        let path = "\(directory)/openurl/lane-\(hash.value.hexDigits)"
        return path.utf8.count < socketPathSize ? path : nil
    }

    /// Returns the address of a socket in D-Bus's notation.
    package static func address(ofPath path: String) -> String { "unix:path=" + BusAddress.escaped(path) }

    /// Size of `sun_path`, including the terminating zero.
    private static let socketPathSize = 108
}
