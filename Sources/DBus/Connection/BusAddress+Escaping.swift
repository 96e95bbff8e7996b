extension BusAddress {
    /// Returns the address of the bus whose socket is at `path`, which may contain any characters.
    public static func unix(path: String) -> BusAddress {
        .address("unix:path=\(escaped(path))")
    }

    /// Escapes a value, such as a path, for use in an address: `"unix:dir=\(BusAddress.escaped(directory))"`.
    ///
    /// Letters, digits and the characters `-_/.\*` stay as they are. Every other byte becomes `%` and two hexadecimal
    /// digits, because a comma would begin another value and a semicolon another address ("Server Addresses", D-Bus
    /// specification).
    public static func escaped(_ value: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var escaped: [UInt8] = []
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "*"):
                escaped.append(byte)
            default: escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}
