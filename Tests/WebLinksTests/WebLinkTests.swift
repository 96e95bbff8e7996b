import RFC1808
import Testing

@testable import WebLinks

/// The hosts and paths of links that an app may get.
struct WebLinkTests {
    @Test(arguments: [
        ("https://example.com", "example.com", "/"),
        ("https://example.com/", "example.com", "/"),
        ("HTTPS://WWW.Example.COM/Notes/1?q=%2F..#x", "www.example.com", "/Notes/1"),
        ("https://example.com:443/a", "example.com", "/a"),
        ("https://xn--bcher-kva.example/a/", "xn--bcher-kva.example", "/a/"),
        ("https://example.com/%7Eme/%41", "example.com", "/~me/A"),
        ("https://example.com/caf%C3%A9", "example.com", "/caf\u{E9}"),
        ("https://example.com/100%25", "example.com", "/100%"),
        ("https://example.com/a...b/..c", "example.com", "/a...b/..c"),
        ("https://1.example/%2A", "1.example", "/*"),
    ])
    func linkIsForApps(_ text: String, _ host: String, _ path: String) throws {
        let link = try WebLink(try GenericURL(text))
        #expect(link.host.rawValue == host)
        #expect(String(decoding: link.path.bytes, as: UTF8.self) == path)
    }

    /// Each of these goes to the browser, because some program would read it differently from another.
    @Test(arguments: [
        ("http://example.com/", WebLink.Refusal.scheme),
        ("wss://example.com/", .scheme),
        ("https:/example.com/", .noHost),
        ("https:example.com/", .noHost),
        ("https:///example.com/", .noHost),
        ("https://@example.com/", .user),
        ("https://user@example.com/", .user),
        ("https://example.com@evil.example/", .user),
        ("https://example.com:8443/", .port),
        ("https://example.com:/", .port),
        ("https://example.com:0443/", .port),
        ("https://example.com./", .host(.badLabel)),
        ("https://.example.com/", .host(.badLabel)),
        ("https://-example.com/", .host(.badLabel)),
        ("https://a..b/", .host(.badLabel)),
        ("https://ex%61mple.com/", .host(.forbiddenCharacter("%"))),
        ("https://ex_ample.com/", .host(.forbiddenCharacter("_"))),
        ("https://[::1]/", .port),
        ("https://127.0.0.1/", .host(.address)),
        ("https://2130706433/", .host(.address)),
        ("https://0x7f.1/", .host(.address)),
        ("https://example.0x7f/", .host(.address)),
        ("https://localhost/", .host(.localhost)),
        ("https://a.LocalHost/", .host(.localhost)),
        ("https://example/", .host(.noDot)),
        ("https://example.com/notes;x=1/../admin", .parameters),
        ("https://example.com/notes%3Bx", .path(.ambiguous)),
        ("https://example.com/../notes", .path(.segment)),
        ("https://example.com/notes/..", .path(.segment)),
        ("https://example.com/notes/./a", .path(.segment)),
        ("https://example.com/notes/%2e%2E/admin", .path(.segment)),
        ("https://example.com/notes/%2e", .path(.segment)),
        ("https://example.com//notes", .path(.segment)),
        ("https://example.com/notes//a", .path(.segment)),
        ("https://example.com/notes/a//", .path(.segment)),
        ("https://example.com/notes%2Fadmin", .path(.ambiguous)),
        ("https://example.com/notes%5Cadmin", .path(.ambiguous)),
        ("https://example.com/notes%00", .path(.ambiguous)),
        ("https://example.com/notes%0A", .path(.ambiguous)),
        ("https://example.com/notes%7F", .path(.ambiguous)),
        ("https://example.com/%252e%252e/admin", .path(.ambiguous)),
        ("https://example.com/%252F", .path(.ambiguous)),
        ("https://example.com/%C0%AFadmin", .path(.notUTF8)),
        ("https://example.com/%C0%AE%C0%AE/admin", .path(.notUTF8)),
        ("https://example.com/%FF", .path(.notUTF8)),
        ("https://example.com/" + String(repeating: "a", count: 2048), .path(.tooLong)),
    ])
    func linkIsForTheBrowser(_ text: String, _ refusal: WebLink.Refusal) throws {
        let url = try GenericURL(text)
        #expect(throws: refusal) { try WebLink(url) }
        #expect(!refusal.description.isEmpty)
    }

    @Test func hostsHaveLimits() throws {
        let label = String(repeating: "a", count: 63)
        #expect(try WebHost("\(label).\(label).\(label).\(String(label.dropLast(2)))").rawValue.utf8.count == 253)
        #expect(throws: WebHost.ParseError.tooLong) { try WebHost("\(label)a.example") }
        #expect(throws: WebHost.ParseError.tooLong) { try WebHost("\(label).\(label).\(label).\(label)") }
        #expect(throws: WebHost.ParseError.badLabel) { try WebHost("") }
        #expect(throws: WebHost.ParseError.forbiddenCharacter("\u{212A}")) { try WebHost("\u{212A}.example") }
        #expect(throws: WebHost.ParseError.forbiddenCharacter("*")) { try WebHost("*.example.com") }
    }
}
