internal import RFC1808

/// Returns the path of a `file` URL on this machine as bytes (RFC 8089); `nil` for any other URL.
///
/// For a URL with a query or a fragment, the result is `nil`, because a path could not express them.
package func localFilePath(ofURL url: String) -> [UInt8]? {
    let bytes = Array(url.utf8)
    guard url.prefix(5).lowercased() == "file:" else { return nil }
    var rest = bytes[5...]
    if rest.starts(with: "//".utf8) {
        rest = rest.dropFirst(2)
        let host = rest.prefix { $0 != UInt8(ascii: "/") }
        guard ["", "localhost"].contains(String(decoding: host, as: UTF8.self).lowercased()) else { return nil }
        rest = rest.dropFirst(host.count)
    }
    guard rest.first == UInt8(ascii: "/"), !rest.contains(UInt8(ascii: "?")), !rest.contains(UInt8(ascii: "#"))
    else { return nil }
    var path: [UInt8] = []
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            path.append(byte)
            continue
        }
        guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue, high << 4 | low != 0
        else { return nil }
        path.append(high << 4 | low)
    }
    return path
}

/// Returns the `file` URL of an absolute path. Every byte that is not unreserved is escaped (RFC 3986 section 2.3).
package func fileURL(ofPath path: String) -> String {
    var text = "file://"
    for byte in path.utf8 {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            text.unicodeScalars.append(Unicode.Scalar(byte))
        default: text += byte.percentEscape
        }
    }
    return text
}
