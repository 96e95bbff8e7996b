extension BusAddress {
    /// The bus whose socket has this path, whatever characters are in it.
    public static func unix(path: String) -> BusAddress {
        .address("unix:path=\(escaped(path))")
    }

    /// A value, such as a path, as it stands in an address: `"unix:dir=\(BusAddress.escaped(directory))"`.
    ///
    /// What is neither a letter, a digit nor one of `-_/.\*` becomes `%` and two hexadecimal digits: a comma would begin
    /// another value, a semicolon another address ("Server Addresses", D-Bus specification).
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
