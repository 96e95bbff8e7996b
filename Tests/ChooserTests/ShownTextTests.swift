import RFC1808
import Testing

@testable import Chooser

/// URLs and names as people see them.
@Suite struct ShownTextTests {
    private func shown(_ url: String) throws -> ShownURL { ShownURL(try GenericURL(url)) }

    @Test(arguments: [
        ("https://example.com/a?b#c", "https://", "example.com", "/a?b#c"),
        ("https://example.com", "https://", "example.com", ""),
        ("HTTPS://EXAMPLE.com:8443/", "HTTPS://", "EXAMPLE.com", ":8443/"),
        ("https://xn--mnchen-3ya.de/", "https://", "xn--mnchen-3ya.de", "/"),
        ("https://paypal.com@example.net/", "https://paypal.com@", "example.net", "/"),
        ("https://a:b@example.net:1/@example.com", "https://a:b@", "example.net", ":1/@example.com"),
        ("https://example.net/https://example.com/", "https://", "example.net", "/https://example.com/"),
        ("https://[2001:db8::1]:80/", "https://", "[2001:db8::1]", ":80/"),
        ("https://ex%61mple.com/%E2%80%AE", "https://", "ex%61mple.com", "/%E2%80%AE"),
        ("mailto:a@example.com", "", "", "mailto:a@example.com"),
        ("file:///etc/passwd", "", "", "file:///etc/passwd"),
    ])
    func theHostIsApart(url: String, before: String, host: String, after: String) throws {
        let shown = try shown(url)
        #expect(shown.before == before)
        #expect(shown.host == host)
        #expect(shown.after == after)
        #expect(shown.text == url)
    }

    @Test func longTextIsShortenedAroundTheHost() throws {
        let host = String(repeating: "a.", count: 120) + "example.com"
        let path = "/" + String(repeating: "p", count: 5000) + "/end"
        let user = "www.bank.example" + String(repeating: "u", count: 5000)
        let shown = try shown("https://\(user)@\(host)\(path)")
        #expect(shown.host == host)
        #expect(shown.before.count == 40 && shown.before.hasPrefix("https://www.") && shown.before.hasSuffix("u@"))
        #expect(shown.after.count == 100 && shown.after.hasPrefix("/ppp") && shown.after.hasSuffix("pp/end"))
        #expect(shown.before.contains("…") && shown.after.contains("…"))
        let opaque = try self.shown("data:," + String(repeating: "d", count: 5000))
        #expect(opaque.host.isEmpty && opaque.text.count == 140)
        let exact = try self.shown("https://example.com/" + String(repeating: "p", count: 99))
        #expect(exact.after.count == 100 && !exact.after.contains("…"))
    }

    @Test(arguments: [
        ("Firefox", "Firefox"), ("Лиса 🦊", "Лиса 🦊"), ("A\u{202E}B\u{2066}C\u{200F}", "ABC"),
        ("A\nB\u{7}\u{2028}C", "ABC"),
        ("A\u{200B}\u{FEFF}\u{3164}B", "AB"), ("e\u{301}", "e\u{301}"), ("", ""),
    ])
    func namesHaveNoMisleadingCharacters(name: String, shown: String) {
        #expect(shownName(name) == shown)
    }

    @Test func namesAreShort() {
        let long = String(repeating: "x", count: 1000)
        #expect(shownName(long) == String(repeating: "x", count: 48) + "…")
        #expect(shownName(String(repeating: "x", count: 48)) == String(repeating: "x", count: 48))
        #expect(shownName("e" + String(repeating: "\u{301}", count: 30)).unicodeScalars.count == 5)
    }
}
