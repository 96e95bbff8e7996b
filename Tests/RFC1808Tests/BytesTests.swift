import RFC1808
import Testing

/// The bytes of the components.
@Suite struct ComponentBytes {
    @Test func bytesAreThoseOfTheComponents() throws {
        let url = try GenericURL("http://u:secret@www.acme.com:80/a;b?c#d")
        #expect(url.bytes.scheme == "http")
        #expect(url.bytes.networkLocation == "u:secret@www.acme.com:80")
        #expect(url.bytes.user == "u")
        #expect(url.bytes.password == "secret")
        #expect(url.bytes.host == "www.acme.com")
        #expect(url.bytes.path == "/a")
        #expect(url.bytes.parameters == "b")
        #expect(url.bytes.query == "c")
        #expect(url.bytes.fragment == "d")
        #expect(url.bytes.opaquePart == nil)
        #expect(try GenericURL("tel:+49").bytes.opaquePart == "+49")
        #expect(try GenericURL("tel:+49").bytes.path == "")
    }

    @Test func bytesAreAbsentAndEmptyWhereTheTextIs() {
        var random = RandomURLs("bytes")
        var accepted = 0
        for _ in 0..<RandomURLs.count {
            let string = random.url()
            guard let url = try? GenericURL(string) else { continue }
            accepted += 1
            let bytes = url.bytes
            let pairs: [(GenericURL.Bytes?, Substring?)] = [
                (bytes.scheme, url.scheme.map { $0[...] }), (bytes.networkLocation, url.networkLocation),
                (bytes.user, url.user), (bytes.password, url.password), (bytes.host, url.host),
                (bytes.path, url.path), (bytes.parameters, url.parameters), (bytes.query, url.query),
                (bytes.fragment, url.fragment), (bytes.opaquePart, url.opaquePart),
            ]
            for (bytes, text) in pairs {
                guard bytes.map(Array.init) == text.map({ Array($0.utf8) }), bytes.map({ Substring($0) }) == text,
                    bytes?.count == text?.utf8.count
                else {
                    Issue.record("\(string): \(bytes?.description ?? "nil") is not \(text ?? "nil")")
                    return
                }
            }
        }
        #expect(accepted > RandomURLs.count / 4)
    }

    @Test func indicesAreOffsetsInTheURL() throws {
        let url = try GenericURL("foo://host/path")
        let host = try #require(url.bytes.host)
        #expect(host.indices == 6..<10)
        #expect(host[6] == UInt8(ascii: "h"))
        #expect(host[7...] == "ost")
        #expect(host.dropFirst(4).isEmpty)
        #expect(host.firstIndex(of: UInt8(ascii: "t")) == 9)
        #expect(Substring(host).startIndex == url.description.utf8.index(url.description.startIndex, offsetBy: 6))
    }

    @Test func equalityAndHashingCompareTheBytesAlone() throws {
        let a = try GenericURL("foo://same/x").bytes.host
        let b = try GenericURL("http://u@same").bytes.host
        #expect(a == b)
        #expect(Set([a, b, "same"]).count == 1)
        #expect(a != "Same")
        #expect(a != "sam")
        #expect(a != "samé")
        switch try GenericURL("HTTP:a").bytes.scheme {
        case "http": Issue.record("a literal ignores the case")
        case "HTTP": break
        default: Issue.record("a literal does not match")
        }
    }

    @Test func spansAndBuffersHoldTheBytes() throws {
        let query = try #require(try GenericURL("foo:/a?title=b").bytes.query)
        #expect(query.withSpan { $0.count } == 7)
        #expect(query.withSpan { $0[0] } == UInt8(ascii: "t"))
        #expect(query.withContiguousStorageIfAvailable(Array.init) == Array("title=b".utf8))
        #expect(String(query) == "title=b")
        #expect("\(query)" == "title=b")

        struct Wrong: Error {}
        #expect(throws: Wrong.self) {
            try query.withSpan { (_: Span<UInt8>) throws(Wrong) in throw Wrong() }
        }
    }

    @Test func bytesOutliveTheURL() throws {
        func host(of name: String) throws -> GenericURL.Bytes? {
            try GenericURL("foo://" + name + "/" + String(repeating: "a", count: 50)).bytes.host
        }
        #expect(try host(of: "first") == "first")
        let hosts = try (0..<100).map { try host(of: "host\($0)") }
        #expect(hosts.enumerated().allSatisfy { $1.map { String($0) } == "host\($0)" })
    }

    @Test func descriptionsShowNoOtherComponent() throws {
        let url = try GenericURL("foo://u:secret@h/p")
        var text = ""
        dump(url.bytes, to: &text)
        dump(url.bytes.host, to: &text)
        print(url.bytes, url.bytes.host as Any, to: &text)
        #expect(text.contains("foo://u:***@h/p"))
        #expect(!text.contains("secret"))
    }
}
