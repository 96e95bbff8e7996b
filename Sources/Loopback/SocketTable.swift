/// The lines of `/proc/net/tcp` and `/proc/net/tcp6` (proc(5)): each of the machine's TCP sockets, with its user.
struct SocketTable {
    /// One end of a connection in the kernel's format: the words of the address in hexadecimal digits, a colon and the
    /// port.
    struct End: Hashable {
        let text: String

        /// - Parameters:
        ///   - address: the four or sixteen bytes of the address, in network order.
        init(address: [UInt8], port: UInt16) {
            // The kernel writes each word of four bytes as a number in this machine's byte order.
            let words = stride(from: 0, to: address.count, by: 4).map { start in
                address[start..<min(start + 4, address.count)].reversed()
            }
            let digits = words.flatMap { Self.isLittleEndian ? Array($0) : $0.reversed() }
            text = digits.map { Self.hex(Int($0), 2) }.joined() + ":" + Self.hex(Int(port), 4)
        }

        private static let isLittleEndian = 1.littleEndian == 1

        private static func hex(_ number: Int, _ count: Int) -> String {
            let digits = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: count - digits.count) + digits
        }
    }

    /// Returns the user of the socket with these ends, as given in the line; nil if the line is about another socket.
    static func user(in line: Substring, from local: End, to remote: End) -> UInt32? {
        let fields = line.split(separator: " ", maxSplits: 8)
        guard fields.count >= 8, fields[1] == local.text, fields[2] == remote.text else { return nil }
        return UInt32(fields[7])
    }
}
