import Testing

@testable import WebLinks

/// The patterns for paths.
struct PathPatternTests {
    @Test(arguments: [
        ("/*", "/"), ("/*", "/a/b"), ("*", "/"), ("*.pdf", "/a/b.pdf"), ("/notes/*", "/notes/"),
        ("/notes/*", "/notes/a/b"), ("/notes/?*", "/notes/a"), ("/n?", "/n\u{E9}"), ("/a*b*c", "/aXbYbZc"),
        ("/a**b", "/ab"), ("/%7Eme", "/~me"), ("/%2A", "/*"), ("/%3F", "/?"), ("/*/edit", "/a/b/edit"), ("/a*", "/a"),
        ("/?/?", "/a/b"), ("/caf%C3%A9/*", "/caf\u{E9}/1"),
    ])
    func patternMatches(_ pattern: String, _ path: String) throws {
        #expect(try PathPattern(pattern).matches(Self.path(path)))
    }

    @Test(arguments: [
        ("/notes/*", "/notes"), ("/notes/*", "/Notes/a"), ("/notes/*", "/notesa/b"), ("/notes", "/notes/"),
        ("/notes/?*", "/notes/"), ("/n?", "/n"), ("/n?", "/nab"), ("/a*b*c", "/acb"), ("/%2A", "/a"), ("/%3F", "/a"),
        ("*.pdf", "/a.pdfx"), ("/*/edit", "/edit"), ("/", "/a"),
    ])
    func patternDoesNotMatch(_ pattern: String, _ path: String) throws {
        #expect(try !PathPattern(pattern).matches(Self.path(path)))
    }

    @Test(arguments: [
        ("", PathPattern.ParseError.relative), ("notes", .relative), ("?a", .relative), ("NOT /a", .relative),
        ("https://example.com/*", .relative), ("/a b", .forbiddenCharacter(" ")), ("/a#b", .forbiddenCharacter("#")),
        ("/a\\b", .forbiddenCharacter("\\")), ("/a;b", .forbiddenCharacter(";")), ("/a\n", .forbiddenCharacter("\n")),
        ("/caf\u{E9}", .forbiddenCharacter("\u{E9}")), ("/a/../b", .path(.segment)), ("/./*", .path(.segment)),
        ("//*", .path(.segment)), ("/%2e%2e/*", .path(.segment)), ("/a%2Fb", .path(.ambiguous)),
        ("/a%5Cb", .path(.ambiguous)), ("/a%00", .path(.ambiguous)), ("/%", .path(.ambiguous)),
        ("/%4", .path(.ambiguous)), ("/%*1", .path(.ambiguous)), ("/%252e", .path(.ambiguous)),
        ("/%C0", .path(.notUTF8)),
        ("/" + String(repeating: "a", count: 256), .tooLong(257)),
    ])
    func textIsNoPattern(_ text: String, _ error: PathPattern.ParseError) {
        #expect(throws: error) { try PathPattern(text) }
        #expect(!error.description.isEmpty)
    }

    /// A path of the greatest length and a pattern of the greatest length take no noticeable time, whatever they are.
    @Test func slowestPatternIsBounded() throws {
        let path = try Self.path("/" + String(repeating: "a", count: LinkPath.maximumLength - 1))
        let pattern = try PathPattern("/" + String(repeating: "*a", count: 127) + "b")
        let steps = try #require(PathRules(Array(repeating: PathRules.Rule(pattern), count: 15)))
        #expect(steps.pattern(for: path) == nil)
    }

    @Test func firstRuleThatMatchesDecides() throws {
        let rules = try #require(PathRules(lines: ["- /notes/admin/*", "+ /notes/*", "- /other", "+ /*"]))
        #expect(try rules.pattern(for: Self.path("/notes/1"))?.rawValue == "/notes/*")
        #expect(try rules.pattern(for: Self.path("/notes/admin/1")) == nil)
        #expect(try rules.pattern(for: Self.path("/notes/ADMIN/1")) == nil)
        #expect(try rules.pattern(for: Self.path("/Other")) == nil)
        #expect(try rules.pattern(for: Self.path("/x"))?.rawValue == "/*")
        #expect(rules.lines == ["- /notes/admin/*", "+ /notes/*", "- /other", "+ /*"])
        #expect(PathRules.all.lines == ["+ /*"])
    }

    @Test func narrowestPatternIsTaken() throws {
        let rules = try #require(PathRules(lines: ["+ /*", "+ /notes/*", "+ /n*"]))
        #expect(try rules.pattern(for: Self.path("/notes/1"))?.rawValue == "/notes/*")
    }

    @Test(arguments: [["/a"], ["+/a"], ["* /a"], ["+ a"], ["+ "], [""], Array(repeating: "+ /a", count: 65)])
    func linesAreNoRules(_ lines: [String]) { #expect(PathRules(lines: lines) == nil) }

    @Test(arguments: [
        ("example.com", "example.com"), ("applinks:Example.com", "example.com"),
        ("example.com/notes/*", "example.com/notes/*"), ("example.com/*", "example.com"),
        ("example.com/", "example.com/"),
    ])
    func textIsAClaim(_ text: String, _ claim: String) throws {
        #expect(try AssociatedDomain(text).description == claim)
    }

    @Test(arguments: [
        ("webcredentials:example.com", AssociatedDomain.ParseError.service("webcredentials:")),
        ("https://example.com", .service("https:")), ("applinks:example.com?mode=developer", .mode),
        ("*.example.com", .host(.forbiddenCharacter("*"))), ("", .host(.badLabel)), ("localhost", .host(.localhost)),
        ("169.254.169.254", .host(.address)), ("example.com:443", .host(.forbiddenCharacter(":"))),
        ("user@example.com", .host(.forbiddenCharacter("@"))), ("example.com/a/../b", .pattern(.path(.segment))),
    ])
    func textIsNoClaim(_ text: String, _ error: AssociatedDomain.ParseError) {
        #expect(throws: error) { try AssociatedDomain(text) }
        #expect(!error.description.isEmpty)
    }

    private static func path(_ text: String) throws -> LinkPath {
        let escaped = text.utf8.map { byte in
            byte < 0x80 && !"*?".utf8.contains(byte) ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16)
        }
        return try LinkPath(escaped.joined())
    }
}
