import RFC1808
import Testing

@Suite struct Building {
    private func build(_ parts: (inout GenericURL.Builder) -> Void) throws -> String {
        var builder = GenericURL.Builder()
        parts(&builder)
        return try builder.build().description
    }

    @Test func guideExampleIsBuilt() throws {
        let url = try build {
            $0.scheme = "todolist"
            $0.host = "www.acme.com"
            $0.queryItems = [.init(name: "Quarterly Report")]
            $0.fragment = "200806231300"
        }
        #expect(url == "todolist://www.acme.com?Quarterly%20Report#200806231300")
    }

    @Test func eachPartIsEscapedOnceByItsOwnSet() throws {
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
            $0.queryItems = [.init(name: all, value: all), .init(name: "b", value: ""), .init(name: "c")]
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
            ("a\n", nil), ("\0", nil), ("\u{7F}", nil), ("a\u{85}b", nil), ("fe80::1%a\n", nil),
            ("a\u{A0}", "foo://a%C2%A0"),
        ] as [(String, String?)]
    )
    func hostIsANameOrAnIPv6Address(host: String, expected: String?) throws {
        var builder = GenericURL.Builder()
        builder.scheme = "foo"
        builder.host = host
        if let expected {
            #expect(try builder.build().description == expected)
        } else {
            let error = try #require(throws: GenericURL.BuildError.self) { try builder.build() }
            #expect(error.name == "badHost")
            #expect(error.part == .host)
            #expect(error.description.hasPrefix("host: a host may not contain"))
        }
    }

    @Test func pathCannotBecomeAHostASchemeOrAnOpaquePart() throws {
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

    @Test func emptyPartsArePresent() throws {
        let url = try build {
            $0.scheme = "foo"
            $0.user = ""
            $0.password = ""
            $0.host = ""
            $0.pathSegments = [""]
            $0.parameters = ""
            $0.queryItems = [.init(name: "")]
            $0.fragment = ""
        }
        #expect(url == "foo://:@/;?#")
    }

    @Test func impossiblePartsAreRefused() {
        var errors: [GenericURL.BuildError] = []
        func expect(
            _ reason: GenericURL.BuildError.Reason,
            _ part: GenericURL.BuildError.Part?,
            _ parts: (inout GenericURL.Builder) -> Void
        ) {
            guard let error = #expect(throws: GenericURL.BuildError.self, performing: { try build(parts) }) else {
                return
            }
            #expect(error.reason == reason)
            #expect(error.part == part)
            #expect(error.description == (part.map { "\($0): " } ?? "") + error.message)
            errors.append(error)
        }
        expect(.empty, nil) { _ in }
        for scheme in ["", "1a", "a_b", "a:", "é", "a b"] {
            expect(.badScheme, .scheme) { $0.scheme = scheme }
        }
        expect(.badHost, .host) { $0.host = "a:1" }
        expect(.hostMissing, .user) { $0.user = "u" }
        expect(.hostMissing, .password) { $0.password = "p" }
        expect(.hostMissing, .port) { $0.port = 1 }
        expect(.userMissing, .password) {
            $0.host = "h"; $0.password = "p"
        }
        expect(.badRelativePath, .pathSegments) {
            $0.scheme = "foo"; $0.pathSegments = ["a"]; $0.isPathRelative = true
        }
        expect(.badRelativePath, .pathSegments) {
            $0.host = "h"; $0.pathSegments = ["a"]; $0.isPathRelative = true
        }
        expect(.badRelativePath, .pathSegments) {
            $0.pathSegments = [""]; $0.isPathRelative = true; $0.fragment = "f"
        }
        expect(.opaquePartMisplaced, .opaquePart) { $0.opaquePart = "x" }
        expect(.opaquePartMisplaced, .opaquePart) {
            $0.scheme = "a"; $0.opaquePart = "x"; $0.host = "h"
        }
        expect(.opaquePartMisplaced, .opaquePart) {
            $0.scheme = "a"; $0.opaquePart = "x"; $0.pathSegments = ["p"]
        }
        expect(.opaquePartMisplaced, .opaquePart) {
            $0.scheme = "a"; $0.opaquePart = "x"; $0.parameters = "p"
        }
        expect(.tooLong, nil) { $0.fragment = String(repeating: " ", count: 30_000) }
        #expect(Set(errors.map(\.reason)) == Set(GenericURL.BuildError.Reason.allCases))
        #expect(Set(errors.map(\.message)).count == GenericURL.BuildError.Reason.allCases.count)
    }

    @Test func lengthLimitCanBeChosen() throws {
        var builder = GenericURL.Builder()
        builder.fragment = "abc"
        #expect(try builder.build(maximumLength: 4).description == "#abc")
        #expect { try builder.build(maximumLength: 3) } throws: { ($0 as? GenericURL.BuildError)?.name == "tooLong" }
    }

    @Test(arguments: [
        "foo://u:p@h:1/a/b;c?d=e&f#g", "file:///etc", "foo:", "mailto:a@b?c#d", "a/b", "/a", "?", "#", ";", "//",
        "/.//a",
        "foo://[fe80::1%25en0]/", "a;b:c", "foo:?a+b&%26=%2c%FF",
    ])
    func decomposedURLIsRebuilt(string: String) throws {
        #expect(try GenericURL.Builder(GenericURL(string)).build().description == string)
    }

    @Test(arguments: [
        ("mailto:a%2Cb@x.org,c@d", "mailto:a,b@x.org,c@d"), ("foo:#access%26x=1&y=2", "foo:#access&x=1&y=2"),
        ("urn:a%2Fb", "urn:a/b"), ("foo://%68/%2f", "foo://h/%2F"),
    ])
    func otherPartsUseTheUsualEscapes(string: String, expected: String) throws {
        #expect(try GenericURL.Builder(GenericURL(string)).build().description == expected)
    }

    @Test func roundTripDiffersOnlyAsDocumented() throws {
        func again(_ parts: (inout GenericURL.Builder) -> Void) throws -> GenericURL.Builder {
            var builder = GenericURL.Builder()
            parts(&builder)
            return try GenericURL.Builder(builder.build())
        }
        let scheme = try again { $0.scheme = "foo" }
        #expect(scheme.opaquePart == "")
        #expect(
            try again {
                $0.scheme = "foo"; $0.opaquePart = ""
            } == scheme
        )
        #expect(
            try again {
                $0.scheme = "foo"; $0.parameters = "x"
            }.pathSegments == [""]
        )
        #expect(try again { $0.parameters = "x" }.pathSegments == [])
        #expect(
            try again {
                $0.scheme = "foo"; $0.pathSegments = ["", "evil"]
            }.pathSegments == [".", "", "evil"]
        )
        let relative = try again {
            $0.pathSegments = ["", "evil"]; $0.isPathRelative = true
        }
        #expect(relative.pathSegments == [".", "", "evil"])
        #expect(relative.isPathRelative)
        #expect(
            try !again {
                $0.fragment = "f"; $0.isPathRelative = true
            }.isPathRelative
        )
    }

    @Test func controlCharacterIsRefusedOnlyInAHost() throws {
        let url = try GenericURL(
            build {
                $0.scheme = "mailto"
                $0.opaquePart = "a@b.c"
                $0.queryItems = [.init(name: "body", value: "one\r\ntwo")]
                $0.fragment = "a\n"
            }
        )
        #expect(url.description == "mailto:a@b.c?body=one%0D%0Atwo#a%0A")
        #expect(throws: GenericURL.PercentDecodingError.self) { try url.decoded(.fragment) }
        #expect(url.decodedBytes(.fragment) == [0x61, 0x0A])
        let body = url.queryItems.first(named: "body")?.value?.decodedBytes() ?? []
        #expect(String(validating: body, as: UTF8.self) == "one\r\ntwo")
    }

    @Test(arguments: [("foo:/a", "foo:/a/b"), ("foo:/a/", "foo:/a/b"), ("foo:/", "foo:/b"), ("foo:/a//", "foo:/a//b")])
    func segmentIsAppendedAfterTheLastSegmentThatIsNotEmpty(string: String, expected: String) throws {
        var builder = try GenericURL.Builder(GenericURL(string))
        builder.appendSegment("b")
        #expect(try builder.build().description == expected)
        builder.appendSegment("c/d")
        #expect(try builder.build().description == expected + "/c%2Fd")
        var empty = GenericURL.Builder()
        empty.appendSegment("b")
        #expect(empty.pathSegments == ["b"])
    }

    @Test func decodedHostCanBeBuiltAgain() throws {
        let url = try GenericURL("foo://[fe80::1%25en0]/")
        #expect(
            try build {
                $0.scheme = "foo"; $0.host = try? url.decoded(.host); $0.pathSegments = [""]
            } == url.description
        )
        #expect(throws: GenericURL.BuildError.self) { try build { $0.host = url.host.map(String.init) } }
        let local = try GenericURL("file:///etc")
        #expect(local.host == nil)
        #expect(try GenericURL.Builder(local).host == "")
        #expect(try GenericURL.Builder(GenericURL("file:/etc")).host == nil)
    }

    @Test func descriptionHidesThePassword() throws {
        var builder = try GenericURL.Builder(GenericURL("foo://u:secret@h:1/a/b;c?d=e#f"))
        let text =
            #"Builder(scheme: "foo", user: "u", password: "***", host: "h", port: 1, pathSegments: ["a", "b"], "#
            + #"isPathRelative: false, parameters: "c", queryItems: [d=e], fragment: "f")"#
        #expect("\(builder)" == text)
        #expect(String(reflecting: builder) == text)
        var dumped = ""
        dump([builder], to: &dumped)
        #expect(dumped.contains("***"))
        #expect(dumped.contains("fragment"))
        #expect(!dumped.contains("secret"))
        builder = try GenericURL.Builder(GenericURL("mailto:a@b"))
        #expect("\(builder)" == #"Builder(scheme: "mailto", opaquePart: "a@b")"#)
    }

    @Test func partWithoutTextIsRefused() throws {
        let url = try GenericURL("foo:/a%00")
        #expect(throws: GenericURL.PercentDecodingError.self) { try GenericURL.Builder(url) }
    }
}
