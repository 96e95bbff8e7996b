import Testing

@testable import RFC1808

/// The escapes that a text gets again after a program has decoded it.
@Suite struct ForbiddenBytesTests {
    private func escaped(_ text: String) -> String { GenericURL.escapingForbiddenBytes(in: text.utf8) }

    /// The texts are those of `QUrl::toString()` in Qt 5.15, which KDE's programs pass on.
    @Test(arguments: [
        ("todo:?Quarterly%20Report", "todo:?Quarterly Report"),
        ("todo:/b%C3%BCcher%20x?%E2%82%AC=%C3%BC#%F0%9F%98%80", "todo:/bücher x?€=ü#😀"),
        ("todo:/%E2%80%AE%C2%85%C2%A0%E2%80%A8", "todo:/\u{202E}\u{85}\u{A0}\u{2028}"),
        ("todo:/%FF%FE", "todo:/%FF%FE"),
        ("todo:/%2F%25%2525%252F", "todo:/%2F%25%2525%252F"),
        ("todo:a%20b%25c", "todo:a b%25c"),
        ("todo://b%C3%BCcher.de/", "todo://bücher.de/"),
        ("todo://u%20s%40:p%3A%20%C3%BC@h:80/", "todo://u s%40:p%3A ü@h:80/"),
        ("todo:a%7Cb%5Ec%60d%7Be%7Df%3Cg%3E%22h%5Ci", "todo:a%7Cb%5Ec%60d%7Be%7Df%3Cg%3E%22h%5Ci"),
        ("todo://[fe80::1%25eth0]/", "todo://[fe80::1%25eth0]/"),
        ("mailto:a%40b@c.d?subject=a%20b", "mailto:a%40b@c.d?subject=a b"),
        ("todo:?%26%3D%3D%23%0A%00", "todo:?%26%3D%3D%23%0A%00"),
        ("todo:", "todo:"), ("todo:///x", "todo:///x"), ("todo:/x?#", "todo:/x?#"),
    ])
    func restoresTheURL(url: String, decoded: String) throws {
        #expect(escaped(decoded) == url)
        #expect(try GenericURL(escaped(decoded)).description == url)
    }

    /// With an escape, the host would be another one for programs that take the backslash for a slash.
    @Test func backslashInTheNetworkLocationStays() {
        #expect(escaped("http://evil.example\\@good.example/a\\b") == "http://evil.example\\@good.example/a%5Cb")
        #expect(throws: GenericURL.ParseError.self) { try GenericURL(escaped("http://evil.example\\@good.example/")) }
    }

    /// Other decoders leave other bytes.
    @Test(arguments: [
        ("todo:a%7Cb%5Ec%60d%7Be%7Df%3Cg%3E%22h%5Ci", "todo:a|b^c`d{e}f<g>\"h\\i"),
        ("todo:/a%5B0%5D?b%5B1%5D=2#c%5B3%5D", "todo:/a[0]?b[1]=2#c[3]"),
        ("todo://[::1]:80/a%5B0%5D", "todo://[::1]:80/a[0]"),
        ("todo:%5B::1%5D", "todo:[::1]"),
        ("todo:a#b%23c%23", "todo:a#b#c#"),
        ("todo:/100%25", "todo:/100%"), ("todo:/100%25zz?%25a%25", "todo:/100%zz?%a%"),
        ("todo:%01%0A%09%7F", "todo:\u{1}\n\t\u{7F}"),
        ("//[::1]/%5B", "//[::1]/["), ("/x//%5B", "/x//["),
    ])
    func escapesEveryByteThatAURLCannotHold(url: String, decoded: String) throws {
        #expect(escaped(decoded) == url)
        #expect(try GenericURL(escaped(decoded)).description == url)
    }

    @Test func escapesBytesThatAreNotUTF8() {
        #expect(GenericURL.escapingForbiddenBytes(in: Array("a:".utf8) + [0xFF, 0x20]) == "a:%FF%20")
    }

    /// These decoded texts have two possible originals, or an original that the escapes cannot express.
    @Test func someTextsAreNotRestored() {
        #expect(escaped("todo:/a/b") != "todo:/a%2Fb")
        #expect(escaped("todo:/%41") != "todo:/%2541")
        #expect(escaped("todo://bücher.de/") != "todo://xn--bcher-kva.de/")
    }

    @Test func everyURLStaysAndIsRestored() throws {
        var random = RandomURLs("forbidden bytes")
        var decodedCount = 0
        for index in 0..<RandomURLs.count {
            let text = index.isMultiple(of: 2) ? random.string() : random.url()
            guard let url = Optional(text).flatMap(GenericURL.init) else { continue }
            #expect(escaped(text) == text)
            let decoded = decodingForbiddenBytes(of: text)
            if decoded.count < text.utf8.count { decodedCount += 1 }
            let restored = try GenericURL(GenericURL.escapingForbiddenBytes(in: decoded))
            #expect(restored.isEquivalent(to: url), "\(text)")
        }
        #expect(decodedCount > RandomURLs.count / 50)
    }

    /// Returns the bytes of a URL with each byte decoded that a URL can only hold as an escape.
    private func decodingForbiddenBytes(of url: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = url.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                decoded != UInt8(ascii: "%"), decoded != UInt8(ascii: "["), decoded != UInt8(ascii: "]"),
                decoded != UInt8(ascii: "#"), !ByteSet.query.contains(decoded)
            {
                bytes.append(decoded)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
