import RFC1808
import Testing

@Suite struct PublishedExamples {
    @Test(arguments: RFCExample.all)
    func resolutionFollowsRFC1808Section5(example: RFCExample) throws {
        let base = try GenericURL(example.base)
        #expect(try base.resolving(reference: example.relative).description == example.expected)
    }

    @Test func caseFilesHave39RFCExamplesAnd60NSURLCases() {
        #expect(RFCExample.all.count == 39)
        #expect(NSURLCase.all.count == 60)
    }

    /// The expected path is the path of `NSURL`: decoded, with the raw parameters appended and without a trailing
    /// slash.
    @Test(arguments: NSURLCase.all)
    func componentsAgreeWithNSURL(example: NSURLCase) throws {
        guard let expected = example.expected else {
            #expect(throws: GenericURL.ParseError.self) { try GenericURL(example.input) }
            return
        }
        var url = try GenericURL(example.input)
        if let base = example.base { url = try url.resolved(against: GenericURL(base)) }

        var path = try #require(try url.decoded(.path))
        if let parameters = url.parameters { path += ";" + parameters }
        if path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let parts = NSURLCase.Parts(
            scheme: url.scheme,
            user: try url.decoded(.user),
            password: url.password.map(String.init),
            host: try url.decoded(.host),
            port: url.port.map(Int.init),
            path: path,
            query: url.query.map(String.init),
            fragment: url.fragment.map(String.init),
            absoluteString: url.description
        )
        #expect(parts == expected)
    }
}
