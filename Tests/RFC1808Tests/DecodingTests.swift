import RFC1808
import Testing

@Suite struct Decoding {
    @Test func everyComponentIsDecodedOnce() throws {
        let url = try GenericURL("foo://%75%2541:%70@%68/%2525;%3B?a%2Bb+c#%E2%82%AC")
        #expect(try url.decoded(.user) == "u%41")
        #expect(try url.decoded(.password) == "p")
        #expect(try url.decoded(.host) == "h")
        #expect(try url.decoded(.path) == "/%25")
        #expect(try url.decoded(.parameters) == ";")
        #expect(try url.decoded(.query) == "a+b+c")
        #expect(try url.decoded(.fragment) == "€")
        #expect(try url.decoded(.opaquePart) == nil)
        #expect(try GenericURL("mailto:a%40b").decoded(.opaquePart) == "a@b")
        #expect(url.decodedBytes(.fragment) == [0xE2, 0x82, 0xAC])
        #expect(url.decodedBytes(.opaquePart) == nil)
    }

    @Test func absentComponentIsNilAndEmptyComponentIsEmpty() throws {
        #expect(try GenericURL("foo:/").decoded(.query) == nil)
        #expect(try GenericURL("foo:/?").decoded(.query) == "")
        #expect(try GenericURL("foo:/?").decodedBytes(.query) == [])
    }

    @Test(arguments: [
        ("foo:?a%00", "controlCharacter", 6), ("foo:?%0A", "controlCharacter", 5), ("foo:?x%1F", "controlCharacter", 6),
        ("foo:?%7F", "controlCharacter", 5), ("foo:?a%C2%80b", "controlCharacter", 6),
        ("foo:?%C2%9F", "controlCharacter", 5),
        ("foo:?%FF", "invalidUTF8", 5), ("foo:?a%C0%80", "invalidUTF8", 6), ("foo:?%E2%82", "invalidUTF8", 5),
        ("foo:?%41%ED%A0%80", "invalidUTF8", 8), ("foo:?%F4%90%80%80", "invalidUTF8", 5),
        ("foo:?%C3x", "invalidUTF8", 5),
    ])
    func invalidTextThrowsAndBytesAreAvailable(input: String, name: String, offset: Int) throws {
        let url = try GenericURL(input)
        let error = try #require(throws: GenericURL.PercentDecodingError.self) { try url.decoded(.query) }
        #expect(error.name == name)
        #expect(error.offset == offset)
        #expect(
            error.description.hasPrefix("at byte offset \(offset): the decoded text") == (name == "controlCharacter")
        )
        #expect(url.decodedBytes(.query)?.isEmpty == false)
        #expect(throws: error) { try url.queryItems.map { try $0.name.decoded() } }
        #expect(url.queryItems.map { $0.name.decodedBytes() } == [url.decodedBytes(.query)])
    }

    @Test func firstCharactersThatAreNotControlsAreText() throws {
        #expect(try GenericURL("foo:?%20%C2%A0%7E").decoded(.query) == " \u{A0}~")
    }

    @Test(arguments: ["%2F", "%5C", "%3F", "%23", "%40", "%3A", "%5B", "%5D"])
    func hostMustNotDecodeToASeparator(escape: String) throws {
        let url = try GenericURL("http://good\(escape)evil/")
        let error = try #require(throws: GenericURL.PercentDecodingError.self) { try url.decoded(.host) }
        #expect(error.reason == .separatorInHost)
        #expect(error.offset == 11)
        #expect(error.description == "at byte offset 11: the decoded host would contain a separator")
        #expect(url.decodedBytes(.host)?.count == 9)
    }

    @Test func ipv6HostHasNoBracketsAndADecodedZone() throws {
        #expect(try GenericURL("http://[::1]:80/").decoded(.host) == "::1")
        #expect(try GenericURL("http://[fe80::1%25en%2D0]/").decoded(.host) == "fe80::1%en-0")
        #expect(try GenericURL("http://[::1]:80/").decodedBytes(.host) == Array("::1".utf8))
        #expect(throws: GenericURL.PercentDecodingError.self) {
            try GenericURL("http://[fe80::1%25a%2Fb]/").decoded(.host)
        }
    }

    @Test(arguments: [
        ("foo:/a/b", ["a", "b"]), ("a/b", ["a", "b"]), ("foo:/a/", ["a", ""]), ("foo:/", [""]), ("foo://h", []),
        ("foo:opaque/x", []), ("foo:/%2F/%2e", ["/", "."]), ("/a//b;c/d", ["a", "", "b"]), ("foo:////", ["", ""]),
    ])
    func pathSegmentsAreSplitThenDecoded(input: String, segments: [String]) throws {
        let url = try GenericURL(input)
        #expect(try url.pathSegments.map { try $0.decoded() } == segments)
    }

    @Test func queryItemsAreSplitThenDecoded() throws {
        let url = try GenericURL("foo:/?a=1&b&c=&=d&&a%3Db%26=e=f%20g")
        let items = Array(url.queryItems)
        #expect(try items.map { try $0.name.decoded() } == ["a", "b", "c", "", "", "a=b&"])
        #expect(try items.map { try $0.value?.decoded() } == ["1", nil, "", "d", nil, "e=f g"])
        #expect(items.last?.value?.raw == "e=f%20g")
        #expect(items.last?.value?.description == "e=f%20g")
    }

    @Test func segmentsAndItemsCanBeCountedAndIndexed() throws {
        let url = try GenericURL("foo:/a//b/?c&d=e&")
        let segments = url.pathSegments
        #expect(segments.count == 4)
        #expect(segments.first?.raw == "a")
        #expect(segments[segments.index(segments.startIndex, offsetBy: 2)].raw == "b")
        #expect(segments.startIndex < segments.index(after: segments.startIndex))
        #expect(segments.index(segments.startIndex, offsetBy: 4) == segments.endIndex)
        #expect(segments.endIndex > segments.startIndex)
        #expect(!(segments.endIndex < segments.endIndex))
        #expect(url.queryItems.count == 3)
        #expect(url.queryItems.dropFirst().first?.value?.raw == "e")
        #expect(try GenericURL("foo:").pathSegments.isEmpty)
    }

    @Test(arguments: ["foo:/a//b/", "foo:/", "a", "foo:", "/a/b", "//h"])
    func segmentsCanBeTraversedBackwards(input: String) throws {
        let segments = try GenericURL(input).pathSegments
        #expect(segments.reversed().map(\.raw) == segments.map(\.raw).reversed())
        #expect(segments.last?.raw == Array(segments).last?.raw)
        #expect(Array(segments.indices.reversed()) == Array(segments.indices).reversed())
    }

    @Test(arguments: ["foo:?a=b&&c", "foo:?", "foo:?&", "foo:", "foo:?a"])
    func itemsCanBeTraversedBackwards(input: String) throws {
        let items = try GenericURL(input).queryItems
        #expect(Array(items.reversed()) == Array(items).reversed())
        #expect(items.last == Array(items).last)
        #expect(items.endIndex >= items.startIndex)
    }

    @Test func segmentsAndItemsHaveTheirOriginalText() throws {
        let url = try GenericURL("foo:/a%2F/?b=%26&c")
        #expect(url.pathSegments.description == #"["a%2F", ""]"#)
        #expect(url.queryItems.description == #"["b=%26", "c"]"#)
        #expect(url.queryItems.first?.description == "b=%26")
        #expect(url.queryItems.last?.description == "c")
    }

    @Test func itemFromTextIsEscapedOnce() throws {
        let item = GenericURL.QueryItem(name: "a=&+%41", value: "b=&+ é")
        #expect(item.description == "a%3D%26%2B%2541=b=%26%2B%20%C3%A9")
        #expect(try item.name.decoded() == "a=&+%41")
        #expect(try item.value?.decoded() == "b=&+ é")
        #expect(GenericURL.QueryItem(name: "").description == "")
        #expect(GenericURL.QueryItem(name: "", value: "").description == "=")
        let error = try #require(throws: GenericURL.PercentDecodingError.self) {
            try GenericURL.QueryItem(name: "a\0").name.decoded()
        }
        #expect(error.offset == 1)
        #expect(error.message == "the decoded text would contain a control character")
    }

    @Test func textWithSeparatorsIsDecodedInAPath() throws {
        let segments = try GenericURL("foo:/%2E%2E/a%2Fb/%E2%80%AE").pathSegments
        #expect(try segments.map { try $0.decoded() } == ["..", "a/b", "\u{202E}"])
    }

    @Test func missingQueryHasNoItemsAndEmptyQueryHasOne() throws {
        #expect(try Array(GenericURL("foo:/").queryItems).isEmpty)
        let items = try Array(GenericURL("foo:/?").queryItems)
        #expect(items.count == 1)
        #expect(items.first?.name.raw == "")
        #expect(items.first?.value == nil)
    }

    @Test func itemIsFoundByItsDecodedName() throws {
        let url = try GenericURL("foo:/?x=1&t%69tle=a%20b&title=c&%FF=d")
        #expect(try url.queryItems.first(named: "title")?.value?.decoded() == "a b")
        #expect(url.queryItems.first(named: "Title") == nil)
    }
}
