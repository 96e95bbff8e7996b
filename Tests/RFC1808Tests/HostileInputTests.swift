import RFC1808
import Testing

/// Input that is built to cost time or memory. Each test finishes in time that is linear in the length of its input.
@Suite(.timeLimit(.minutes(10))) struct HostileInput {
    private static let megabyte = 1 << 20

    @Test(arguments: ["/", "@", ";", "&"])
    func megabyteOfOneCharacterIsParsed(piece: String) throws {
        let text = String(repeating: piece, count: Self.megabyte)
        #expect(parses("foo:/" + text))
        #expect(parses("foo://" + text) == (piece != "@"))
    }

    @Test func megabyteOfAnAddressOrAPortIsParsed() {
        let zeros = String(repeating: "0", count: Self.megabyte)
        #expect(parses("foo://h:" + zeros))
        #expect(!parses("foo://[" + zeros + "]"))
        #expect(!parses("foo://[" + String(repeating: "1:", count: Self.megabyte / 2) + "]"))
        #expect(!parses("foo://[" + String(repeating: "::", count: Self.megabyte / 2) + "]"))
    }

    private func parses(_ string: String) -> Bool {
        (try? GenericURL(string, maximumLength: .max)) != nil
    }

    @Test(arguments: ["/", ";", "&", "=", "+", "%41", "a", "../", "./", "a/", "//", ":", "a;"])
    func manyPartsOfOneKindAreDecoded(piece: String) throws {
        let text = "/" + String(repeating: piece, count: 20_000 / piece.utf8.count)
        let query = try GenericURL("foo:/x?" + text, maximumLength: .max)
        #expect(try query.decoded(.query)?.isEmpty == false)
        #expect(query.queryItems.reduce(0) { sum, _ in sum + 1 } >= 1)
        let path = try GenericURL("foo://h" + text, maximumLength: .max)
        #expect(try path.decoded(.path)?.isEmpty == false)
        #expect(path.pathSegments.reduce(0) { $0 + $1.raw.utf8.count } <= text.utf8.count)
        for mode in GenericURL.ResolutionMode.allCases {
            let base = try GenericURL("foo://h" + text + "b", maximumLength: .max)
            #expect(try GenericURL("./c").resolved(against: base, mode: mode).description.hasSuffix("c"))
            #expect(path.resolved(against: base, mode: mode).host == "h")
        }
        #expect(path.isEquivalent(to: path))
    }

    @Test func manyParentSegmentsAreResolved() throws {
        let parents = String(repeating: "../", count: 200_000)
        let reference = try GenericURL(parents + "g", maximumLength: .max)
        let base = try GenericURL("http://h/a/b/c")
        #expect(reference.resolved(against: base).description.utf8.count == "http://h/".utf8.count + 3 * 199_998 + 1)
        #expect(reference.resolved(against: base, mode: .rfc3986).description == "http://h/g")

        let deep = try GenericURL("http://h/" + String(repeating: "a/", count: 200_000), maximumLength: .max)
        #expect(reference.resolved(against: deep).description == "http://h/g")
        #expect(reference.resolved(against: deep, mode: .rfc3986).description == "http://h/g")
    }

    @Test func escapedSeparatorDoesNotSeparate() throws {
        let url = try GenericURL("foo://a%40b%2Fc%3A1/x%2Fy%3Bz%3Fq%23f?a%26b%3Dc")
        #expect(url.user == nil)
        #expect(url.host == "a%40b%2Fc%3A1")
        #expect(url.parameters == nil)
        #expect(url.fragment == nil)
        #expect(try url.pathSegments.map { try $0.decoded() } == ["x/y;z?q#f"])
        #expect(try url.queryItems.map { try $0.name.decoded() } == ["a&b=c"])
    }
}
