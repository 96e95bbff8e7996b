import OpenURLBus
import Testing

@testable import DBus

/// The answer of `Explain` as an `a{sv}`.
@Suite struct ExplanationTests {
    private static let candidates = [
        Explanation.Candidate(
            id: "com.example.app",
            kind: .known(.native),
            host: "*.example.com",
            wins: true,
            reason: "host"
        ),
        Explanation.Candidate(id: "app.desktop", kind: .known(.exec), host: nil, wins: false, reason: "kind"),
    ]

    private static var complete: Explanation {
        var explanation = Explanation(url: "app://u@a.example.com:8/p;q?r#")
        explanation.parts = [
            "scheme": "app", "user": "u", "host": "a.example.com", "port": "8", "path": "/p", "parameters": "q",
            "query": "r", "fragment": "",
        ]
        explanation.handler = "com.example.app"
        explanation.transport = .known(.native)
        explanation.state = .known(.active)
        explanation.urlName = "An app"
        explanation.typeName = "A kind of file"
        explanation.launchImage = "/handlers/App.app/Default.png"
        explanation.programProblem = "/opt/app does not exist"
        explanation.allowedSources = ["com.example.*", "com.other.app"]
        explanation.candidates = candidates
        explanation.error = ("org.openurl.Error.NotAllowed", "not from here")
        return explanation
    }

    @Test func roundTripKeepsTheExplanation() throws {
        #expect(try recoded(Self.complete) == Self.complete)
        let options: [String: Value] = try recoded(Self.complete)
        #expect(
            options == [
                "url": "app://u@a.example.com:8/p;q?r#",
                "parts": .options([
                    "scheme": "app", "user": "u", "host": "a.example.com", "port": "8", "path": "/p",
                    "parameters": "q", "query": "r", "fragment": "",
                ]),
                "handler": "com.example.app", "transport": "native", "state": "active",
                "url-name": "An app", "type-name": "A kind of file", "launch-image": "/handlers/App.app/Default.png",
                "program-problem": "/opt/app does not exist",
                "allowed-sources": .array(["com.example.*", "com.other.app"], of: "s"),
                "error": "org.openurl.Error.NotAllowed", "message": "not from here",
                "candidates": .array(
                    [
                        .options([
                            "id": "com.example.app", "kind": "native", "host": "*.example.com", "wins": true,
                            "reason": "host",
                        ]),
                        .options(["id": "app.desktop", "kind": "exec", "wins": false, "reason": "kind"]),
                    ],
                    of: "a{sv}"
                ),
            ]
        )
    }

    @Test func missingPartsAreOmitted() throws {
        let least = Explanation(url: "a:b")
        #expect(try recoded(least) == least)
        #expect(
            try recoded(least, as: [String: Value].self)
                == ["url": "a:b", "parts": .options([:]), "candidates": .array([], of: "a{sv}")]
        )
        #expect(try recoded([:] as [String: Value]) == Explanation(url: ""))
    }

    /// An empty list means that no source may send URLs to the handler. A missing list means that every source may.
    @Test func emptyListOfSourcesIsKept() throws {
        var explanation = Explanation(url: "a:b")
        explanation.allowedSources = []
        #expect(try recoded(explanation) == explanation)
        #expect(try recoded(explanation) != Explanation(url: "a:b"))
    }

    @Test func errorHasANameAndAMessage() throws {
        var explanation = Explanation(url: "a:b")
        #expect(explanation.error == nil)
        explanation.error = ("com.example.Error.A", "")
        let back: Explanation = try recoded(explanation)
        #expect(try #require(back.error) == ("com.example.Error.A", ""))
        explanation.error = nil
        #expect(explanation == Explanation(url: "a:b"))
        let nameless: Explanation = try recoded(["message": "why"] as [String: Value])
        #expect(nameless.error == nil)
        let wordless: Explanation = try recoded(["error": "com.example.Error.A"] as [String: Value])
        #expect(try #require(wordless.error) == ("com.example.Error.A", ""))
    }

    @Test func unknownKeysAreIgnored() throws {
        var options: [String: Value] = try recoded(Self.complete)
        options["from-the-future"] = .int64(1)
        options["URL"] = .byte(1)
        options["parts"] = .options(["path": "/p", "zone": .uint32(1), "Host": "h"])
        options["candidates"] = .array([.options(["id": "a", "rank": .uint32(1)])], of: "a{sv}")
        var expected = Self.complete
        expected.parts = ["path": "/p"]
        expected.candidates = [Explanation.Candidate(id: "a", kind: .absent, host: nil, wins: false, reason: "")]
        #expect(try recoded(options) == expected)
    }

    @Test(
        arguments: [
            ("url", "s"), ("parts", "a{sv}"), ("handler", "s"), ("transport", "s"), ("state", "s"),
            ("url-name", "s"), ("type-name", "s"), ("launch-image", "s"), ("reach", "s"), ("allowed-sources", "as"),
            ("program-problem", "s"), ("error", "s"), ("message", "s"), ("candidates", "aa{sv}"),
        ] as [(String, Signature)]
    )
    func knownKeyOfAnotherTypeIsAnError(key: String, signature: Signature) throws {
        try expectType(signature, of: key, in: [:], as: Explanation.self)
    }

    @Test(arguments: Explanation.partNames) func partsAreStrings(name: String) throws {
        for sample in samples where sample.signature != "s" {
            let found = try problem(["parts": .options([name: sample])], as: Explanation.self)
            #expect(found == "'\(name)' must be of type 's', not '\(sample.signature)'")
        }
    }

    @Test(
        arguments: [("id", "s"), ("kind", "s"), ("host", "s"), ("wins", "b"), ("reason", "s")] as [(String, Signature)]
    )
    func knownKeyOfACandidateHasOneType(key: String, signature: Signature) throws {
        for sample in samples where sample.signature != signature {
            let candidates = Value.array([.options([:]), .options([key: sample])], of: "a{sv}")
            let found = try problem(["candidates": candidates], as: Explanation.self)
            #expect(found == "'\(key)' must be of type '\(signature)', not '\(sample.signature)'")
        }
    }
}
