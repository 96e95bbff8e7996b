import RFC1808
import Relay
import Testing

@Suite struct RelayRequestTests {
    private static let alphabet = Array((0x21...0x7E).map { UInt8($0) })

    private func request(_ line: String) throws(RelayRequest.ParseError) -> RelayRequest? {
        try RelayRequest(Array(line.utf8))
    }

    @Test func requestsAreRead() throws {
        let open = try #require(try request("openurl/1 open https://example.com/?a=1\n"))
        #expect(open.verb == .open && open.url.description == "https://example.com/?a=1")
        #expect(try request("openurl/1 callback https://a.example/\n")?.verb == .callback)
        #expect(try request("openurl/1 can-open mailto:\n")?.verb == .canOpen)
    }

    @Test(arguments: [
        "\n", "openurl/1 open \n", "openurl/1 open  https://a/\n", " openurl/1 open https://a/\n",
        "openurl/2 open https://a/\n", "openurl/1 Open https://a/\n", "openurl/1 list https://a/\n",
        "openurl/1 open no-scheme\n", "openurl/1 open https://a/ b\n", "openurl/1 open https://a/\r\n",
        "openurl/1 open https://a/\u{1B}[2J\n", "openurl/1 open https://\u{E4}.example/\n",
        "openurl/1 open https://a/\0\n",
        "GET / HTTP/1.1\n", "openurl/1\topen\thttps://a/\n", "openurl/1 open https://a/%zz\n",
    ])
    func otherLinesAreRefused(_ line: String) {
        #expect(throws: RelayRequest.ParseError.malformed) { try request(line) }
    }

    @Test func nothingMayFollow() {
        for rest in ["\n", "x", "openurl/1 open https://b/\n"] {
            #expect(throws: RelayRequest.ParseError.notAlone) { try request("openurl/1 open https://a/\n" + rest) }
        }
    }

    @Test func linesHaveALimit() throws {
        let room = RelayRequest.urlLimit - "https://a/".utf8.count
        let path = String(repeating: "x", count: room)
        #expect(try request("openurl/1 open https://a/\(path)\n") != nil)
        #expect(throws: RelayRequest.ParseError.malformed) { try request("openurl/1 open https://a/\(path)x\n") }
        let endless = [UInt8](repeating: 0x78, count: RelayRequest.lineLimit)
        #expect(try RelayRequest(endless) == nil)
        #expect(throws: RelayRequest.ParseError.tooLong) { try RelayRequest(endless + [0x78]) }
    }

    /// A line is a request or not, no matter in how many pieces it arrives.
    @Test func everyBeginningIsIncomplete() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let letters = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                "abcdefghij0123456789-._~/".randomElement(using: &generator).map(String.init) ?? ""
            }
            let verb = try #require(RelayRequest.Verb.allCases.randomElement(using: &generator))
            let line = "openurl/1 \(verb.rawValue) https://example.com/\(letters.joined())\n"
            let bytes = Array(line.utf8)
            for count in bytes.indices { #expect(try RelayRequest(Array(bytes[..<count])) == nil) }
            let found = try #require(try RelayRequest(bytes), "\(line)")
            #expect(found.verb == verb && line == "openurl/1 \(found.verb.rawValue) \(found.url)\n")
            let other = UInt8.random(in: 0...255, using: &generator)
            #expect(throws: RelayRequest.ParseError.notAlone) { try RelayRequest(bytes + [other]) }
        }
    }

    /// What is taken has the form of a request, whatever arrives.
    @Test func randomBytesAreNoRequests() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var bytes = Array("openurl/1 open https://a/\n".utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = .random(in: 0...255, using: &generator)
            }
            guard let found = try? RelayRequest(bytes) else { continue }
            #expect(Array("openurl/1 \(found.verb.rawValue) \(found.url)\n".utf8) == bytes)
            #expect(found.url.scheme != nil && bytes.dropLast().allSatisfy { (0x20...0x7E).contains($0) })
        }
    }
}
