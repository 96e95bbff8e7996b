import RFC1808
import Testing

@Suite struct Resolution {
    @Test(arguments: [
        ("todolist:/a/b", "..//evil/x", "todolist:/.//evil/x"), ("/a/b", "..//evil/x", "/.//evil/x"),
        ("a/b", "..///evil", "/.//evil"), ("http://h/a/b", "..//evil/x", "http://h//evil/x"),
        ("http://a", ";x", "http://a/;x"), ("http://a", "g", "http://a/g"), ("http://a", "../g", "http://a/../g"),
        ("http://a?q", ";x", "http://a/;x"), ("http://a", "?y", "http://a?y"), ("http://a", "#s", "http://a#s"),
        ("a/b", "../c:d", "./c:d"), ("x", "./c:d", "./c:d"), ("a/b", "../c;d:e", "c;d:e"), ("a/b", "..", "./"),
        ("a/b", "..?y", "./?y"), ("a", ".", "./"), ("a", "..", ".."), ("", "", ""),
    ])
    func resultParsesToItsOwnComponents(base: String, reference: String, expected: String) throws {
        guard !base.isEmpty else { return }
        let result = try GenericURL(base).resolving(reference: reference)
        #expect(result.description == expected)
        #expect(try GenericURL(expected).networkLocation == result.networkLocation)
    }

    @Test(arguments: [
        ("mailto:a@b", "#f", "mailto:a@b#f"), ("mailto:a@b?q", "?r", "mailto:a@b?r"), ("foo:a;p", ";x", "foo:a;x"),
        ("foo:a;p?q", "?y", "foo:a;p?y"), ("foo:a/b", "c", "foo:a/c"), ("foo:a/b", "/c", "foo:/c"),
        ("foo:a", "//h/c", "foo://h/c"), ("foo:a", "//", "foo:///a"), ("foo:a/b", "../c", "foo:c"),
        ("foo:/a", "mailto:x/../y", "mailto:x/../y"), ("#f", "//", "//"), ("?q", "#f", "?q#f"), ("a?q", "b", "b"),
    ])
    func baseMayBeOpaqueOrRelative(base: String, reference: String, expected: String) throws {
        #expect(try GenericURL(base).resolving(reference: reference).description == expected)
    }

    /// The examples of RFC 3986 section 5.4.
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func resolutionFollowsRFC3986Section54(reference: String, expected: String) throws {
        let base = try GenericURL("http://a/b/c/d;p?q")
        #expect(try base.resolving(reference: reference, mode: .rfc3986).description == expected)
    }

    @Test func componentsOfTheResultMatchItsText() throws {
        let result = try GenericURL("x://u:p@h:1/a/b;c?d#e").resolving(reference: "../f;g?h#i")
        #expect(result.user == "u")
        #expect(result.password == "p")
        #expect(result.host == "h")
        #expect(result.port == 1)
        #expect(result.path == "/f")
        #expect(result.parameters == "g")
        #expect(result.query == "h")
        #expect(result.fragment == "i")
    }

    @Test func refusedReferenceHasItsOwnOffset() throws {
        let base = try GenericURL("http://a/b")
        let error = try #require(throws: GenericURL.ParseError.self) { try base.resolving(reference: "c d") }
        #expect(error.offset == 1)
    }

    @Test func lengthLimitAppliesToTheReferenceAndTheResult() throws {
        let base = try GenericURL("http://a/b")
        #expect(try base.resolving(reference: "c", maximumLength: 10).description == "http://a/c")
        for (reference, limit) in [("c", 9), ("", 9), ("/ccccc", 5)] {
            let error = try #require(throws: GenericURL.ParseError.self) {
                try base.resolving(reference: reference, maximumLength: limit)
            }
            #expect(error.reason == .tooLong)
            #expect(error.offset == limit)
        }
        let long = String(repeating: "a", count: GenericURL.defaultMaximumLength - 1)
        let directory = try GenericURL("/" + long.dropLast() + "/", maximumLength: .max)
        #expect { try directory.resolving(reference: long) } throws: {
            ($0 as? GenericURL.ParseError)?.reason == .tooLong
        }
        let result = try GenericURL(long).resolved(against: directory)
        #expect(result.description.utf8.count == 2 * long.utf8.count + 1)
    }

    @Test(arguments: [
        ("?", "http://a/b/c/d;p?"), (";", "http://a/b/c/;"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"),
        ("g;x=1/../y", "http://a/b/c/y"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), ("///g", "http:///g"),
        ("http:g", "http:g"),
    ])
    func tableOfDecisionsHoldsForRFC3986(reference: String, expected: String) throws {
        let base = try GenericURL("http://a/b/c/d;p?q#f")
        #expect(try base.resolving(reference: reference, mode: .rfc3986).description == expected)
    }

    @Test(arguments: [
        ("todolist:/a/b", "..//evil/x", "todolist:/.//evil/x"), ("http://a", ";x", "http://a/;x"),
        ("x", "./c:d", "./c:d"),
    ])
    func casesBeyondTheTableHoldForRFC3986(base: String, reference: String, expected: String) throws {
        #expect(try GenericURL(base).resolving(reference: reference, mode: .rfc3986).description == expected)
    }

    @Test func emptyReferenceKeepsABaseOfOnlyAFragment() throws {
        #expect(try GenericURL("#f").resolving(reference: "", mode: .rfc3986).description == "#f")
    }
}
