import RFC1808
import Testing

@Suite struct Building {
    private func build(_ parts: (inout GenericURL.Builder) -> Void) throws -> String {
        var builder = GenericURL.Builder()
        parts(&builder)
        return try builder.build().description
    }

    @Test func `The guide's example`() throws {
        let url = try build {
            $0.scheme = "todolist"
            $0.host = "www.acme.com"
            $0.queryItems = [.init("Quarterly Report")]
            $0.fragment = "200806231300"
        }
        #expect(url == "todolist://www.acme.com?Quarterly%20Report#200806231300")
    }

    @Test func `Each part is escaped by its own set, once`() throws {
        let all = "%41 /?#[]@:;&=+\"<>\\é\n~"
        let rest = "%22%3C%3E%5C%C3%A9%0A~"
        let url = try build {
            $0.scheme = "x-a"
            $0.user = all
            $0.password = all
            $0.host = "h%&=;é"
            $0.port = 80
            $0.pathSegments = [all, ""]
            $0.parameters = all
            $0.queryItems = [.init(all, all), .init("b", ""), .init("c")]
            $0.fragment = all
        }
        let name = "%2541%20%2F%3F%23%5B%5D%40%3A;&=+" + rest
        let segment = "%2541%20%2F%3F%23%5B%5D@:%3B&=+" + rest
        let parameters = "%2541%20/%3F%23%5B%5D@:;&=+" + rest
        let key = "%2541%20/?%23%5B%5D@:;%26%3D%2B" + rest
        let value = "%2541%20/?%23%5B%5D@:;%26=%2B" + rest
        let fragment = "%2541%20/?%23%5B%5D@:;&=+" + rest
        #expect(
            url == "x-a://\(name):\(name)@h%25&=;%C3%A9:80/\(segment)/;\(parameters)?\(key)=\(value)&b=&c#\(fragment)"
        )
    }

    @Test(
        arguments: [
            ("::1", "foo://[::1]"), ("fe80::1%en/0", nil), ("fe80::1%e n", "foo://[fe80::1%25e%20n]"), ("", "foo://"),
            ("a:b", nil), ("[::1]", nil), ("a/b", nil), ("a@b", nil), ("a\\b", nil), ("1.2.3.4", "foo://1.2.3.4"),
        ] as [(String, String?)]
    )
    func `A host is a name or an IPv6 address`(host: String, expected: String?) throws {
        var builder = GenericURL.Builder()
        builder.scheme = "foo"
        builder.host = host
        if let expected {
            #expect(try builder.build().description == expected)
        } else {
            #expect(throws: GenericURL.BuildError.badHost) { try builder.build() }
        }
    }

    @Test func `No path can become a host, a scheme or an opaque part`() throws {
        #expect(
            try build {
                $0.scheme = "foo"; $0.pathSegments = ["", "evil"]
            } == "foo:/.//evil"
        )
        #expect(try build { $0.pathSegments = ["", "evil"] } == "/.//evil")
        #expect(
            try build {
                $0.pathSegments = ["", "evil"]; $0.isPathRelative = true
            } == ".//evil"
        )
        #expect(
            try build {
                $0.pathSegments = ["a:b", "c:d"]; $0.isPathRelative = true
            } == "a%3Ab/c:d"
        )
        #expect(
            try build {
                $0.scheme = "foo"; $0.pathSegments = ["a"]; $0.isPathRelative = true
            } == "foo:/a"
        )
        #expect(
            try build {
                $0.host = "h"; $0.pathSegments = ["a"]; $0.isPathRelative = true
            } == "//h/a"
        )
        #expect(
            try build {
                $0.scheme = "foo"; $0.host = ""; $0.pathSegments = ["", "a"]
            } == "foo:////a"
        )
        #expect(
            try build {
                $0.scheme = "foo"; $0.host = "h"; $0.parameters = "x"
            } == "foo://h/;x"
        )
        #expect(
            try build {
                $0.scheme = "foo"; $0.parameters = "x"
            } == "foo:/;x"
        )
        #expect(try build { $0.parameters = "x" } == ";x")
        #expect(
            try build {
                $0.scheme = "foo"; $0.opaquePart = "//evil"
            } == "foo:%2F/evil"
        )
        #expect(
            try build {
                $0.scheme = "mailto"; $0.opaquePart = "a@b.c"
            } == "mailto:a@b.c"
        )
    }

    @Test func `What is empty is present`() throws {
        let url = try build {
            $0.scheme = "foo"
            $0.user = ""
            $0.password = ""
            $0.host = ""
            $0.pathSegments = [""]
            $0.parameters = ""
            $0.queryItems = [.init("")]
            $0.fragment = ""
        }
        #expect(url == "foo://:@/;?#")
    }

    @Test func `What cannot be is refused`() {
        func expect(_ error: GenericURL.BuildError, _ parts: (inout GenericURL.Builder) -> Void) {
            #expect(throws: error) { try build(parts) }
        }
        expect(.empty) { _ in }
        for scheme in ["", "1a", "a_b", "a:", "é", "a b"] {
            expect(.badScheme) { $0.scheme = scheme }
        }
        expect(.hostMissing) { $0.user = "u" }
        expect(.hostMissing) { $0.port = 1 }
        expect(.userMissing) {
            $0.host = "h"; $0.password = "p"
        }
        expect(.opaquePartMisplaced) { $0.opaquePart = "x" }
        expect(.opaquePartMisplaced) {
            $0.scheme = "a"; $0.opaquePart = "x"; $0.host = "h"
        }
        expect(.opaquePartMisplaced) {
            $0.scheme = "a"; $0.opaquePart = "x"; $0.pathSegments = ["p"]
        }
        expect(.opaquePartMisplaced) {
            $0.scheme = "a"; $0.opaquePart = "x"; $0.parameters = "p"
        }
        expect(.tooLong) { $0.fragment = String(repeating: " ", count: 30_000) }
        #expect(Set(GenericURL.BuildError.allCases.map(\.description)).count == GenericURL.BuildError.allCases.count)
    }

    @Test func `A limit of one's own`() throws {
        var builder = GenericURL.Builder()
        builder.fragment = "abc"
        #expect(try builder.build(maximumLength: 4).description == "#abc")
        #expect(throws: GenericURL.BuildError.tooLong) { try builder.build(maximumLength: 3) }
    }

    @Test(arguments: [
        "foo://u:p@h:1/a/b;c?d=e&f#g", "file:///etc", "foo:", "mailto:a@b?c#d", "a/b", "/a", "?", "#", ";", "//",
        "/.//a",
        "foo://[fe80::1%25en0]/", "a;b:c",
    ])
    func `A URL taken apart is put together again`(string: String) throws {
        #expect(try GenericURL.Builder(GenericURL(string)).build().description == string)
    }

    @Test func `A part without text cannot be taken over`() throws {
        let url = try GenericURL("foo:/a%00")
        #expect(throws: GenericURL.PercentDecodingError.self) { try GenericURL.Builder(url) }
    }
}
