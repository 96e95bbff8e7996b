import RFC1808
import Testing

/// The reason and the byte offset of each refusal, with at least one case of each class.
@Suite struct Refusals {
    private func refusal(of input: String, maximumLength: Int = GenericURL.defaultMaximumLength) -> GenericURL
        .ParseError?
    {
        do throws(GenericURL.ParseError) {
            _ = try GenericURL(input, maximumLength: maximumLength)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("", "emptyInput", 0),
        ("foo:/a b", "forbiddenByte", 6), (" foo:", "forbiddenByte", 0), ("foo:\tx", "forbiddenByte", 4),
        ("foo:/a\r\nb", "forbiddenByte", 6), ("foo:/a\nb", "forbiddenByte", 6), ("foo:/\0", "forbiddenByte", 5),
        ("foo:/\u{7F}", "forbiddenByte", 5), ("foo:/\u{85}", "forbiddenByte", 5), ("foo:/\u{A0}", "forbiddenByte", 5),
        ("foo:/é", "forbiddenByte", 5), ("foo:/\u{202E}gnp", "forbiddenByte", 5),
        ("http://exämple/", "forbiddenByte", 9),
        ("\u{FEFF}foo:", "forbiddenByte", 0), ("foo:/\u{FF0E}\u{FF0E}/", "forbiddenByte", 5),
        ("http:\\\\h\\p", "forbiddenByte", 5), ("http://h\\@evil/", "forbiddenByte", 8),
        ("foo:?a\"b", "forbiddenByte", 6),
        ("foo:#a#b", "forbiddenByte", 6), ("foo:/a[1]", "forbiddenByte", 6), ("foo://u[@h", "forbiddenByte", 7),
        ("foo://[::1]:1@h", "forbiddenByte", 6), ("foo://h]", "forbiddenByte", 7),
        ("foo:/%", "badEscape", 5), ("foo:/%4", "badEscape", 5), ("foo:/%4g", "badEscape", 5),
        ("foo:/%g4", "badEscape", 5),
        ("foo:/%%41", "badEscape", 5), ("foo://%4/", "badEscape", 6), ("foo:?%u0041", "badEscape", 5),
        ("1foo:", "badScheme", 0), (":foo", "badScheme", 0), ("-:", "badScheme", 0), ("f_o:", "badScheme", 1),
        ("foo%3A:x", "badScheme", 3), ("f@o:x", "badScheme", 1), ("javascript%0A:x", "badScheme", 10),
        ("http://a@b@c/", "secondAtSign", 10), ("http://a:b@c:d@e", "secondAtSign", 14),
        ("http://@@", "secondAtSign", 8),
        ("http://a:b:c/", "badHost", 8), ("http://::1/", "badHost", 7), ("http://u@a:1:2", "badHost", 10),
        ("http://[", "badIPv6Address", 8), ("http://[]", "badIPv6Address", 8), ("http://[::1", "badIPv6Address", 11),
        ("http://[::1/", "badIPv6Address", 11), ("http://[:::1]", "badIPv6Address", 10),
        ("http://[1:2]", "badIPv6Address", 11),
        ("http://[1:2:3:4:5:6:7:8:9]", "badIPv6Address", 25), ("http://[1::2::3]", "badIPv6Address", 12),
        ("http://[12345::]", "badIPv6Address", 12), ("http://[::g]", "badIPv6Address", 10),
        ("http://[1:2:3:4:5:6:7::8]", "badIPv6Address", 24), ("http://[1:]", "badIPv6Address", 10),
        ("http://[:1]", "badIPv6Address", 8), ("http://[::1.2.3]", "badIPv6Address", 15),
        ("http://[::1.2.3.256]", "badIPv6Address", 16), ("http://[::1.2.3.04]", "badIPv6Address", 16),
        ("http://[1:2:3:4:5:6:7:1.2.3.4]", "badIPv6Address", 29), ("http://[1.2.3.4]", "badIPv6Address", 15),
        ("http://[fe80::1%eth0]", "badIPv6Address", 15), ("http://[fe80::1%25]", "badIPv6Address", 18),
        ("http://[fe80::1%25a/b]", "badIPv6Address", 19), ("http://[v1.x]", "badIPv6Address", 8),
        ("http://[::1]x", "textAfterBracket", 12), ("http://[::1]]", "textAfterBracket", 12),
        ("http://[::1].evil/", "textAfterBracket", 12), ("http://[::1]@evil/", "textAfterBracket", 12),
        ("http://h:8o/", "badPort", 10), ("http://h:65536", "badPort", 9), ("http://h:-1", "badPort", 9),
        ("http://h:+80/", "badPort", 9), ("http://h:%38", "badPort", 9),
        ("http://h:99999999999999999999/", "badPort", 9),
    ])
    func refusalNamesTheReasonAndTheByte(input: String, name: String, offset: Int) throws {
        let error = try #require(refusal(of: input))
        #expect(error.name == name)
        #expect(error.offset == offset)
        #expect(error.byte == Array(input.utf8).dropFirst(offset).first)
    }

    @Test func everyByteIsAcceptedOrRefusedAsListed() {
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?".utf8)
        for (prefix, also) in [
            ("foo:/", "#"), ("foo:", "#"), ("foo:/;", "#"), ("foo:/?", "#"), ("foo:/#", ""), ("/", "#"),
        ] {
            for padding in stride(from: 0, to: 40, by: 3) {
                let start = Array(prefix.utf8) + Array(repeating: UInt8(ascii: "z"), count: padding)
                for byte in UInt8.min...UInt8.max {
                    let bytes = start + [byte] + Array(repeating: UInt8(ascii: "z"), count: padding % 20)
                    let isAllowed = allowed.contains(byte) || also.utf8.contains(byte)
                    var refusal: GenericURL.ParseError?
                    do throws(GenericURL.ParseError) { _ = try GenericURL(utf8: bytes.span) } catch { refusal = error }
                    guard (refusal == nil) == isAllowed, refusal.map({ $0.offset == start.count }) ?? true else {
                        Issue.record("\(byte) after \(prefix) and \(padding) bytes: \(String(describing: refusal))")
                        return
                    }
                }
            }
        }
    }

    @Test(arguments: [
        "0177.0.0.1", "2130706433", "0x7f.1", "127.1", "1.2.3.4", "xn--bcher-kva", "a..b", "h_1", "%41", "a,b",
    ])
    func hostIsANameAndIsNotConverted(host: String) throws {
        #expect(try GenericURL("http://\(host)/").host.map(String.init) == host)
    }

    @Test(arguments: [
        "::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4",
        "2001:DB8::a", "fe80::1%25eth0", "fe80::1%25%41-._~", "0000::ffff:255.255.255.255",
    ])
    func ipv6AddressIsAHost(address: String) throws {
        let url = try GenericURL("http://u:p@[\(address)]:80/")
        #expect(url.host == "[\(address)]")
        #expect(url.port == 80)
        #expect(url.user == "u")
    }

    @Test(
        arguments: [("http://h:", nil), ("http://h:0", 0), ("http://h:00080", 80), ("http://h:65535/", 65_535)]
            as [(String, UInt16?)]
    )
    func portIsANumberOrAbsent(input: String, port: UInt16?) throws {
        let url = try GenericURL(input)
        #expect(url.port == port)
        #expect(url.description == input)
    }

    @Test func lengthLimitCountsBytesAndCanBeChosen() throws {
        let longest = "foo:" + String(repeating: "a", count: 65_532)
        #expect(try GenericURL(longest).description == longest)
        #expect(refusal(of: longest + "a")?.reason == .tooLong)
        #expect(refusal(of: longest + "a")?.offset == 65_536)
        #expect(refusal(of: longest + "a")?.byte == UInt8(ascii: "a"))
        #expect(try GenericURL(longest + "a", maximumLength: 65_537).opaquePart?.utf8.count == 65_533)
        #expect(refusal(of: "foo:", maximumLength: 3)?.offset == 3)
        #expect(refusal(of: "f", maximumLength: 0)?.offset == 0)
        #expect(refusal(of: "f", maximumLength: -1)?.offset == 0)
    }

    @Test(arguments: [
        ("foo:/a b/c", "at byte offset 6: a space is not allowed in a URL; write it as %20"),
        ("foo:/\"", "at byte offset 5: '\"' is not allowed in a URL; write it as %22"),
        ("foo:/[", "at byte offset 5: '[' may only enclose an IPv6 host; write it as %5B"),
        ("foo:/\n", "at byte offset 5: a control character (%0A) is not allowed in a URL"),
        ("foo:/\u{7F}", "at byte offset 5: a control character (%7F) is not allowed in a URL"),
        ("foo:#a#", "at byte offset 6: a '#' may only start the fragment; write it as %23"),
        (
            "foo:/é",
            "at byte offset 5: only ASCII is allowed in a URL; write other text as escaped UTF-8, é as %C3%A9"
        ),
        (
            "foo:/e\u{301}",
            "at byte offset 6: only ASCII is allowed in a URL; write other text as escaped UTF-8, this character as %CC%81"
        ),
        (
            "foo:/\u{202E}x",
            "at byte offset 5: only ASCII is allowed in a URL; write other text as escaped UTF-8, this character as %E2%80%AE"
        ),
        ("", "at byte offset 0: the URL is empty"),
        (
            "http://u:secret@@",
            "at byte offset 16: a second '@' before the path; write it as %40 in a user name or password"
        ),
        ("foo:/%4", "at byte offset 5: '%' must be followed by two hexadecimal digits; write a percent sign as %25"),
    ])
    func descriptionHelpsWithoutShowingTheInput(input: String, description: String) throws {
        let error = try #require(refusal(of: input))
        #expect(error.description == description)
        #expect(error.description == "at byte offset \(error.offset): \(error.message)")
    }

    @Test func everyReasonHasASentence() throws {
        let inputs = [
            "", "foo:/ ", "foo:/%", "1:", "http://a@b@c", "http://a:b:c", "http://[", "http://[::]a", "http://h:p",
        ]
        var reasons = Set(try inputs.map { try #require(refusal(of: $0)) }.map(\.reason))
        reasons.insert(try #require(refusal(of: "foo:", maximumLength: 1)).reason)
        let url = try GenericURL("foo:/a")
        let misplaced = try #require(throws: GenericURL.ParseError.self) { try url.replacing(.user, with: "u") }
        #expect(misplaced.message == "this component cannot have this text without changing another one")
        reasons.insert(misplaced.reason)
        #expect(reasons == Set(GenericURL.ParseError.Reason.allCases))
        #expect(
            refusal(of: "foo:", maximumLength: 1)?.description == "at byte offset 1: the URL is longer than 1 bytes"
        )
    }
}
