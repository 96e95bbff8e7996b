import Testing

@testable import SchemeRegistry

struct BundleIdentifierTests {
    @Test(arguments: ["com.acme", "com.acme.todolist", "_a.b-c", "a.-", "Com.ACME"])
    func validIdentifiersAreAccepted(_ text: String) throws {
        #expect(try BundleIdentifier(text).rawValue == text)
    }

    @Test(
        arguments: [
            ("", .noDot), ("acme", .noDot), ("com..acme", .emptyElement), (".com.acme", .emptyElement),
            ("com.acme.", .emptyElement), ("com.3m", .leadingDigit(element: "3m")),
            ("com.acme app", .forbiddenCharacter(" ")),
            ("com/acme.app", .forbiddenCharacter("/")), ("com.acmé", .forbiddenCharacter("é")),
            ("com.acme\0", .forbiddenCharacter("\0")), ("../a.b", .forbiddenCharacter("/")),
            ("org.freedesktop.DBus", .reserved), ("org.openurl.Router1", .reserved),
        ] as [(String, BundleIdentifier.ParseError)]
    )
    func invalidIdentifiersAreRefused(_ text: String, _ error: BundleIdentifier.ParseError) {
        #expect(throws: error) { try BundleIdentifier(text) }
    }

    @Test func identifiersHaveALengthLimit() throws {
        let longest = "com." + String(repeating: "a", count: 251)
        #expect(try BundleIdentifier(longest).rawValue == longest)
        #expect(throws: BundleIdentifier.ParseError.tooLong(256)) { try BundleIdentifier(longest + "a") }
    }

    @Test func errorMessagesEscapeControlCharacters() {
        #expect("\(BundleIdentifier.ParseError.forbiddenCharacter("\u{202E}"))".contains("U+202E"))
        #expect("\(BundleIdentifier.ParseError.forbiddenCharacter("\u{1B}"))".contains("U+001B"))
        #expect("\(BundleIdentifier.ParseError.forbiddenCharacter("/"))".contains("'/'"))
        let colon = "\(Scheme.ParseError.forbiddenCharacter(":"))"
        #expect(colon == "contains ':'; write only the part of a URL before the ':'")
    }
}

struct SourcePatternTests {
    @Test(arguments: [
        ("*", "org.any.app", true), ("com.acme.*", "com.acme.todolist", true), ("com.acme.*", "com.acme.a.b", true),
        ("com.acme.*", "com.acmeevil.app", false), ("com.acme.*", "com.acme", false), ("com.*", "com.acme", true),
        ("com.acme.todolist", "com.acme.todolist", true), ("com.acme.todolist", "com.acme.todolist2", false),
        ("com.acme.todolist", "com.acme.Todolist", false),
    ])
    func patternsMatchSources(_ pattern: String, _ source: String, _ expected: Bool) throws {
        #expect(try SourcePattern(pattern).matches(BundleIdentifier(source)) == expected)
    }

    @Test(arguments: ["", "com", "**", "*.acme", "com.*.app", "com.acme*", "com.acme.**"])
    func invalidPatternsAreRefused(_ text: String) {
        #expect(throws: BundleIdentifier.ParseError.self) { try SourcePattern(text) }
    }
}

struct SchemeTests {
    @Test(arguments: [("todolist", "todolist"), ("HTTP", "http"), ("x-app+v1.2", "x-app+v1.2"), ("a", "a")])
    func validSchemesAreAccepted(_ text: String, _ stored: String) throws {
        #expect(try Scheme(text).rawValue == stored)
    }

    @Test(
        arguments: [
            ("", .empty), ("1a", .startsWith("1")), ("+a", .startsWith("+")), ("a_b", .forbiddenCharacter("_")),
            ("a/b", .forbiddenCharacter("/")), ("a\0", .forbiddenCharacter("\0")), ("a:", .forbiddenCharacter(":")),
            ("a\\b", .forbiddenCharacter("\\")), ("\u{212A}elvin", .forbiddenCharacter("\u{212A}")),
        ] as [(String, Scheme.ParseError)]
    )
    func invalidSchemesAreRefused(_ text: String, _ error: Scheme.ParseError) {
        #expect(throws: error) { try Scheme(text) }
    }

    @Test func schemesHaveALengthLimit() throws {
        #expect(try Scheme(String(repeating: "a", count: 64)).rawValue.count == 64)
        #expect(throws: Scheme.ParseError.tooLong(65)) { try Scheme(String(repeating: "a", count: 65)) }
    }
}

struct HostPatternTests {
    @Test(arguments: [
        ("*.acme.com", "www.acme.com", true), ("*.acme.com", "a.b.acme.com", true), ("*.acme.com", "acme.com", false),
        ("*.acme.com", "evilacme.com", false), ("*.acme.com", ".acme.com", false), ("*.acme.com", "WWW.Acme.COM", true),
        ("*.acme.com", "www.acme.com.", false), ("*.acme.com", "www.acme.com.evil.org", false),
        ("acme.com", "ACME.com", true), ("Acme.Com", "acme.com", true), ("acme.com", "www.acme.com", false),
        ("acme.com", "", false), ("*.kelvin", "a.\u{212A}elvin", false), ("127.0.0.1", "127.0.0.1", true),
    ])
    func patternsMatchHosts(_ pattern: String, _ host: String, _ expected: Bool) throws {
        #expect(try HostPattern(pattern).matches(host) == expected)
    }

    @Test(
        arguments: [
            ("", .empty), ("*", .misplacedWildcard), ("*.", .emptyLabel), ("a.*.com", .misplacedWildcard),
            ("*acme.com", .misplacedWildcard), ("*.*.com", .misplacedWildcard), ("acme..com", .emptyLabel),
            (".acme.com", .emptyLabel), ("acme.com.", .emptyLabel), ("acme.com:80", .forbiddenCharacter(":")),
            ("acme.com/x", .forbiddenCharacter("/")), ("a b", .forbiddenCharacter(" ")),
        ] as [(String, HostPattern.ParseError)]
    )
    func invalidPatternsAreRefused(_ text: String, _ error: HostPattern.ParseError) {
        #expect(throws: error) { try HostPattern(text) }
    }

    @Test func patternsHaveALengthLimit() throws {
        let longest = "*." + String(repeating: "a.", count: 125) + "a"
        #expect(try HostPattern(longest).matches("x" + longest.dropFirst()))
        #expect(throws: HostPattern.ParseError.tooLong(254)) { try HostPattern(longest + "b") }
    }

    @Test func hostsOfAnyLengthMatch() throws {
        let host = String(repeating: "a.", count: 32_000) + "acme.com"
        #expect(try HostPattern("*.acme.com").matches(host))
        #expect(HostPattern.matching(host).allSatisfy { $0.rawValue.utf8.count <= HostPattern.maximumLength })
    }
}
