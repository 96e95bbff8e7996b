import Foundation
import RFC1808
import Testing

/// Equality, hashing, coding and descriptions of a URL as a Swift value.
@Suite struct Values {
    @Test func equalityComparesBytes() throws {
        let url = try GenericURL("Foo://H/%2f")
        #expect(url == (try GenericURL("Foo://H/%2f")))
        #expect(url != (try GenericURL("foo://h/%2F")))
        #expect(Set([url, try GenericURL("Foo://H/%2f"), try GenericURL("foo://h/%2F")]).count == 2)
    }

    @Test(arguments: [
        ("Foo://H/%2f", "fOO://h/%2F", true), ("foo://[ABCD::]/", "foo://[abcd::]/", true),
        ("foo://h/A", "foo://h/a", false),
        ("foo://U@h", "foo://u@h", false), ("foo://h:80", "foo://h", false), ("foo:/%41", "foo:/A", false),
        ("foo:A", "foo:a", false), ("foo:%aa%bb", "foo:%AA%BB", true), ("A", "a", false), ("foo://q", "foo://1", false),
        ("foo://q", "foo://a", false), ("foo://h%4A", "foo://H%4a", true), ("foo://h?Q", "foo://h?q", false),
        ("foo://[fe80::1%25EN0]", "foo://[fe80::1%25en0]", true),
    ])
    func equivalenceIgnoresTheCaseOfSchemeHostAndEscapes(a: String, b: String, expected: Bool) throws {
        let a = try GenericURL(a)
        let b = try GenericURL(b)
        #expect(a.isEquivalent(to: b) == expected)
        #expect(b.isEquivalent(to: a) == expected)
    }

    @Test func codingUsesAStringAndRefusesInvalidURLs() throws {
        let url = try GenericURL("foo:a?b")
        #expect(try JSONDecoder().decode([GenericURL].self, from: JSONEncoder().encode([url])) == [url])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([GenericURL].self, from: Data(#"["a b"]"#.utf8))
        }
    }

    @Test func codingAndConversionAcceptAnyLength() throws {
        let long = "foo:" + String(repeating: "a", count: GenericURL.defaultMaximumLength)
        let url = try GenericURL(long, maximumLength: .max)
        #expect(try JSONDecoder().decode([GenericURL].self, from: JSONEncoder().encode([url])) == [url])
        #expect(GenericURL(long)?.description == long)
        #expect(throws: GenericURL.ParseError.self) { try GenericURL(long) }
    }

    @Test func losslessConversionReturnsNilForInvalidText() {
        func convert<Value: LosslessStringConvertible>(_ text: String) -> Value? { Value(text) }
        let url: GenericURL? = convert("foo:a")
        let none: GenericURL? = convert("foo: a")
        #expect(url?.description == "foo:a")
        #expect(none == nil)
    }

    @Test(arguments: [
        ("foo://u:secret@h/p", "foo://u:***@h/p"), ("foo://u@h/secret", "foo://u@h/secret"),
        ("foo://u:@h", "foo://u:***@h"),
        ("foo://:secret@", "foo://:***@"), ("secret", "secret"), ("foo:token@h", "foo:token@h"),
    ])
    func debugDescriptionHidesThePassword(input: String, expected: String) throws {
        let url = try GenericURL(input)
        #expect(url.description == input)
        #expect(String(reflecting: url) == expected)
        var dumped = ""
        dump(url, to: &dumped)
        #expect(dumped.contains(expected))
        #expect(!dumped.contains("secret@"))
    }

    @Test func lowercasedSchemeIsForComparison() throws {
        #expect(try GenericURL("COM.Acme.X-1:a").lowercasedScheme == "com.acme.x-1")
        #expect(try GenericURL("COM.Acme.X-1:a").scheme == "COM.Acme.X-1")
        #expect(try GenericURL("a").lowercasedScheme == nil)
        #expect(try GenericURL("a").resourceSpecifier == "a")
    }

    @Test func readmeExampleWorks() throws {
        let url = try GenericURL("todolist://www.acme.com/lists?title=Quarterly%20Report#200806231300")
        #expect(try url.pathSegments.first?.decoded() == "lists")
        #expect(try url.queryItems.first(named: "title")?.value?.decoded() == "Quarterly Report")
        let appended = url.appending(queryItem: .init(name: "owner", value: "R&D"))
        #expect(appended.description.hasSuffix("?title=Quarterly%20Report&owner=R%26D#200806231300"))

        var builder = GenericURL.Builder()
        builder.scheme = "mailto"
        builder.opaquePart = "jane@example.com"
        builder.queryItems = [.init(name: "subject", value: "1 + 1")]
        #expect(try builder.build().description == "mailto:jane@example.com?subject=1%20%2B%201")
    }

    @Test func documentationExampleWorks() throws {
        let url = try GenericURL("todolist://www.acme.com/lists;draft?title=Quarterly%20Report#200806231300")
        #expect(url.lowercasedScheme == "todolist")
        #expect(url.host == "www.acme.com")
        #expect(url.path == "/lists")
        #expect(url.parameters == "draft")
        #expect(try url.queryItems.first(named: "title")?.value?.decoded() == "Quarterly Report")
        #expect(try url.resolving(reference: "archive?all").description == "todolist://www.acme.com/archive?all")
    }
}
