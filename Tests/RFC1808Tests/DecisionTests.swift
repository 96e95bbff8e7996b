import RFC1808
import Testing

/// One test for each decision in a case that the RFCs leave open or that implementations disagree on.
@Suite struct Decisions {
    @Test func d1NetworkLocationEndsAtASlashAQuestionMarkOrANumberSign() throws {
        let guide = try GenericURL("todolist://www.acme.com?Quarterly%20Report#200806231300")
        #expect(guide.networkLocation == "www.acme.com")
        #expect(guide.path == "")
        #expect(guide.query == "Quarterly%20Report")
        #expect(guide.fragment == "200806231300")

        let hole = try GenericURL("http://good?@evil/")
        #expect(hole.host == "good")
        #expect(hole.user == nil)
        #expect(hole.query == "@evil/")
        #expect(try GenericURL("http://good#@evil/").host == "good")
    }

    @Test func d1NetworkLocationDoesNotEndAtASemicolon() throws {
        let url = try GenericURL("http://a;b/c;d")
        #expect(url.host == "a;b")
        #expect(url.path == "/c")
        #expect(url.parameters == "d")
    }

    @Test func d2AbsentComponentIsNotEmpty() throws {
        let bare = try GenericURL("foo:/a")
        #expect(bare.networkLocation == nil)
        #expect(bare.parameters == nil)
        #expect(bare.query == nil)
        #expect(bare.fragment == nil)
        let empty = try GenericURL("foo:///a;?#")
        #expect(empty.networkLocation == "")
        #expect(empty.parameters == "")
        #expect(empty.query == "")
        #expect(empty.fragment == "")
        let location = try GenericURL("ftp://:@:/")
        #expect(location.user == "")
        #expect(location.password == "")
        #expect(location.host == "")
        #expect(location.port == nil)
        #expect(try GenericURL("ftp://@h").password == nil)
        #expect(bare != (try GenericURL("foo:/a?")))
    }

    @Test(arguments: [
        ("?", "http://a/b;p?"), (";", "http://a/b;"), ("#", "http://a/b;p?q#"), ("?#", "http://a/b;p?#"),
    ])
    func d2EmptyComponentReplacesTheBases(reference: String, expected: String) throws {
        let base = try GenericURL("http://a/b;p?q#f")
        #expect(try base.resolving(reference: reference).description == expected)
    }

    @Test(arguments: [
        ("../../../g", "http://a/../g", "http://a/g"),
        ("/./g/../h", "http://a/./g/../h", "http://a/h"),
        ("http://z/a/../b", "http://z/a/../b", "http://z/b"),
        ("//z/a/../b", "http://z/a/../b", "http://z/b"),
        ("g;x=1/../y", "http://a/b/c/g;x=1/../y", "http://a/b/c/y"),
        (";x", "http://a/b/c/d;x", "http://a/b/c/;x"),
        ("///g", "http://a/g", "http:///g"),
        ("http:g/../h", "http:g/../h", "http:g/../h"),
    ])
    func d3ResolutionFollowsRFC1808OrRFC3986(
        reference: String,
        rfc1808: String,
        rfc3986: String
    ) throws {
        let base = try GenericURL("http://a/b/c/d;p?q#f")
        let url = try GenericURL(reference)
        #expect(url.resolved(against: base).description == rfc1808)
        #expect(url.resolved(against: base, mode: .rfc1808).description == rfc1808)
        #expect(url.resolved(against: base, mode: .rfc3986).description == rfc3986)
    }

    @Test func d4EmptyReferenceResolvesToTheBaseButIsNotAURL() throws {
        let base = try GenericURL("http://a/b/c/d;p?q#f")
        #expect(try base.resolving(reference: "") == base)
        #expect(try base.resolving(reference: "", mode: .rfc3986).description == "http://a/b/c/d;p?q")
        #expect { try GenericURL("") } throws: { ($0 as? GenericURL.ParseError)?.reason == .emptyInput }
    }

    @Test(arguments: ["1a:b", "+a:b", "-a:b", ".a:b", ":b", "1:2", "a_b:c", "a%41:b", "~:x"])
    func d5SchemeStartsWithALetter(input: String) {
        #expect { try GenericURL(input) } throws: { ($0 as? GenericURL.ParseError)?.reason == .badScheme }
    }

    @Test func d5SchemeMayContainLettersDigitsPlusDotAndHyphen() throws {
        #expect(try GenericURL("A+1-b.c:/").scheme == "A+1-b.c")
        #expect(try GenericURL("A+1-b.c:/").lowercasedScheme == "a+1-b.c")
    }

    @Test func d6TildeIsAllowedExceptInAScheme() throws {
        let url = try GenericURL("foo://~:~@~/~;~?~#~")
        #expect(url.user == "~")
        #expect(url.host == "~")
        #expect(url.fragment == "~")
    }

    @Test(arguments: [
        "/a[1]", "/a]", "foo:[", "/?a[]=1", "/#[", "/;[", "foo://a[::1]", "foo://[::1]:1@h", "foo://[@h", "foo://u[@h",
        "[a",
    ])
    func d6BracketsOnlyEncloseAnIPv6Host(input: String) {
        #expect(throws: GenericURL.ParseError.self) { try GenericURL(input) }
    }

    @Test(arguments: [
        ("mailto:a@b.c?subject=x#f", "a@b.c", "a@b.c?subject=x#f"), ("tel:+49;ext=1", "+49;ext=1", "+49;ext=1"),
        ("foo:", "", ""), ("foo:?q", "", "?q"), ("foo:a//b/../c", "a//b/../c", "a//b/../c"), ("foo:a:b", "a:b", "a:b"),
    ])
    func d7URLWithoutASlashAfterItsSchemeIsOpaque(input: String, part: String, specifier: String) throws {
        let url = try GenericURL(input)
        #expect(url.isOpaque)
        #expect(url.opaquePart.map(String.init) == part)
        #expect(url.resourceSpecifier == specifier)
        #expect(url.path == "")
        #expect(url.parameters == nil)
        #expect(url.query == (input.hasPrefix("mailto") ? "subject=x" : input == "foo:?q" ? "q" : nil))
        #expect(url.fragment == (input.hasPrefix("mailto") ? "f" : nil))
    }

    @Test(arguments: ["foo:/", "foo://h", "a/b", "?q", "#f"])
    func d7OtherURLsAreNotOpaque(input: String) throws {
        let url = try GenericURL(input)
        #expect(!url.isOpaque)
        #expect(url.opaquePart == nil)
    }

    @Test func d8EmptyNetworkLocationInheritsTheBases() throws {
        let reference = try GenericURL("///g")
        #expect(try reference.resolved(against: GenericURL("http://u:p@h:1/b")).description == "http://u:p@h:1/g")
        #expect(try reference.resolved(against: GenericURL("file:/b")).description == "file:///g")
    }

    @Test func d9ParametersStartAtTheFirstSemicolonOfThePath() throws {
        let url = try GenericURL("http://h/a/b;c/d;e?f;g")
        #expect(url.path == "/a/b")
        #expect(url.parameters == "c/d;e")
        #expect(url.parameterString == "c/d;e")
        #expect(url.query == "f;g")
        #expect(try GenericURL(";x:y").parameters == "x:y")
    }
}
