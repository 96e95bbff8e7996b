import RFC1808
import Testing

/// Replacing one component of a URL keeps all other bytes.
@Suite struct Editing {
    @Test(
        arguments: [
            ("foo://u:p@h:1/a;b?c#d", .user, "v", "foo://v:p@h:1/a;b?c#d"),
            ("foo://h:1/a", .user, "u", "foo://u@h:1/a"), ("foo://u@h", .user, nil, "foo://h"),
            ("foo://u@h", .user, "", "foo://@h"),
            ("foo://u:p@h", .password, nil, "foo://u@h"), ("foo://u@h", .password, "a:b", "foo://u:a:b@h"),
            ("foo://u:@h", .password, "p", "foo://u:p@h"), ("foo://h", .password, nil, "foo://h"),
            ("foo://u:p@h:1/a", .host, "[::1%25e]", "foo://u:p@[::1%25e]:1/a"), ("foo://h/a", .host, nil, "foo:///a"),
            ("file:///etc", .host, "h", "file://h/etc"), ("file:/etc", .host, "h", "file://h/etc"),
            ("/etc", .host, "h", "//h/etc"), ("?q", .host, "h", "//h?q"), ("foo:/a", .host, nil, "foo:/a"),
            ("foo://h:1/a;b?c#d", .path, "/x/..", "foo://h:1/x/..;b?c#d"), ("foo://h/a", .path, nil, "foo://h"),
            ("foo://h/a", .path, "", "foo://h"), ("a?q", .path, "b/c:d", "b/c:d?q"), ("foo:a", .path, nil, "foo:a"),
            ("/a?q", .parameters, "x;y/z", "/a;x;y/z?q"), ("/a;b?q", .parameters, nil, "/a?q"),
            ("/a;b", .parameters, "", "/a;"),
            ("mailto:a%2Cb@x.org,c@d", .query, "q=a+b", "mailto:a%2Cb@x.org,c@d?q=a+b"),
            ("foo:/a?b#c", .query, nil, "foo:/a#c"),
            ("foo:/a#access%26x=1&y=2", .query, "?", "foo:/a??#access%26x=1&y=2"),
            ("foo:/a?%ff", .fragment, "%fE", "foo:/a?%ff#%fE"), ("foo:/a#b", .fragment, nil, "foo:/a"),
            ("urn:a%2Fb?c", .opaquePart, "d;e", "urn:d;e?c"), ("urn:a", .opaquePart, "", "urn:"),
            ("foo:/a", .opaquePart, nil, "foo:/a"),
        ] as [(String, GenericURL.Component, String?, String)]
    )
    func componentIsReplaced(url: String, component: GenericURL.Component, raw: String?, expected: String) throws {
        #expect(try GenericURL(url).replacing(component, with: raw).description == expected)
    }

    @Test(
        arguments: [
            ("foo:/a", .user, "u"), ("file:///etc", .user, "u"), ("foo://u:p@h", .user, nil),
            ("http://u@/", .user, nil),
            ("foo:a", .user, "u"), ("foo://h", .password, "p"), ("foo:/a", .password, "p"), ("foo:a", .password, ""),
            ("foo://u@h", .host, nil), ("foo://h/a", .host, ""), ("foo:a", .host, "h"), ("a", .host, "h"),
            (";a", .host, "h"), ("foo://h", .path, "a"), ("foo:/a", .path, "a"), ("foo:/a", .path, "//a"),
            ("foo:/a", .path, nil), ("foo:a", .path, "/a"), ("a", .path, "b:c"), ("a", .path, "//b"),
            ("foo://h", .parameters, "a"), ("foo://h:1", .parameters, "a"), ("foo:a", .parameters, "b"),
            ("foo:/a", .opaquePart, "a"), ("foo:a", .opaquePart, nil), ("foo:a", .opaquePart, "/a"),
        ] as [(String, GenericURL.Component, String?)]
    )
    func textThatChangesAnotherComponentIsRefused(
        url: String,
        component: GenericURL.Component,
        raw: String?
    ) throws {
        let error = try #require(throws: GenericURL.ParseError.self) {
            try GenericURL(url).replacing(component, with: raw)
        }
        #expect(error.name == "misplacedComponent")
        #expect(error.offset == 0)
        #expect(error.byte == raw?.utf8.first)
    }

    @Test(
        arguments: [
            (.user, "a:b", "forbiddenByte", 1), (.user, "a@", "forbiddenByte", 1),
            (.password, "a/b", "forbiddenByte", 1),
            (.password, "%4", "badEscape", 0), (.host, "a:1", "badHost", 1), (.host, "a/", "forbiddenByte", 1),
            (.host, "[::1]:1", "textAfterBracket", 5), (.host, "[1]", "badIPv6Address", 2),
            (.host, "[", "badIPv6Address", 1),
            (.path, "/a?b", "forbiddenByte", 2), (.path, "/a;b", "forbiddenByte", 2),
            (.path, "/a b", "forbiddenByte", 2),
            (.parameters, "a?", "forbiddenByte", 1), (.query, "a#b", "forbiddenByte", 1),
            (.query, "é", "forbiddenByte", 0),
            (.fragment, "a#b", "forbiddenByte", 1), (.fragment, "[", "forbiddenByte", 0),
            (.opaquePart, "?", "forbiddenByte", 0),
        ] as [(GenericURL.Component, String, String, Int)]
    )
    func invalidCharacterIsRefused(
        component: GenericURL.Component,
        raw: String,
        name: String,
        offset: Int
    ) throws {
        let url = try GenericURL(component == .opaquePart ? "foo:a" : "foo://u:p@h/a;b?c#d")
        let error = try #require(throws: GenericURL.ParseError.self) { try url.replacing(component, with: raw) }
        #expect(error.name == name)
        #expect(error.offset == offset)
        #expect(error.byte == Array(raw.utf8).dropFirst(offset).first)
    }

    @Test func errorMessageSuggestsACorrection() throws {
        let url = try GenericURL("foo:/a")
        let path = try #require(throws: GenericURL.ParseError.self) { try url.replacing(.path, with: "/a?") }
        #expect(path.message == "'?' separates components and is not allowed in this one; write it as %3F")
        let query = try #require(throws: GenericURL.ParseError.self) { try url.replacing(.query, with: "#") }
        #expect(query.message == "a '#' may only start the fragment; write it as %23")
    }

    @Test(
        arguments: [("?a", .query), ("#a", .fragment), (";a", .parameters), ("a", .path)]
            as [(String, GenericURL.Component)]
    )
    func emptyResultIsRefused(url: String, component: GenericURL.Component) throws {
        #expect { try GenericURL(url).replacing(component, with: nil) } throws: {
            ($0 as? GenericURL.ParseError)?.reason == .emptyInput
        }
    }

    @Test(
        arguments: [
            ("foo:/a", "b", "c", "foo:/a?b=c"), ("foo:/a#f", "b", nil, "foo:/a?b#f"),
            ("foo:/a?#f", "b", "c", "foo:/a?b=c#f"),
            ("http://h/a%2Cb?q=a+b#f", "title", "R&D", "http://h/a%2Cb?q=a+b&title=R%26D#f"),
            ("mailto:a%2Cb@x.org,c@d", "subject", "1+1=2", "mailto:a%2Cb@x.org,c@d?subject=1%2B1=2"),
            ("foo:?%ff", "a=b", "", "foo:?%ff&a%3Db="), ("a", "", nil, "a?"), ("?a", "", nil, "?a&"),
        ] as [(String, String, String?, String)]
    )
    func itemIsAppendedToTheQuery(url: String, name: String, value: String?, expected: String) throws {
        let result = try GenericURL(url).appending(queryItem: .init(name: name, value: value))
        #expect(result.description == expected)
        #expect(try result.query == GenericURL(expected).query)
        #expect(try result.fragment == GenericURL(expected).fragment)
    }

    @Test func itemOfAnotherURLKeepsItsEscapes() throws {
        let item = try #require(try GenericURL("foo:?a=%2c+").queryItems.first)
        #expect(try GenericURL("bar:?b").appending(queryItem: item).description == "bar:?b&a=%2c+")
    }

    @Test func parsingLimitDoesNotApplyToEditing() throws {
        let url = try GenericURL("foo:" + String(repeating: "a", count: GenericURL.defaultMaximumLength - 4))
        #expect(try url.replacing(.query, with: "q").query == "q")
        #expect(url.appending(queryItem: .init(name: "q")).query == "q")
    }
}
