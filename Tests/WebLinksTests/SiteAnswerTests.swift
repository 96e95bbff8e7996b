import Testing

@testable import WebLinks

/// The text in which `openurl-proofs` answers.
struct SiteAnswerTests {
    private static let app = "com.example.notes"
    private static let host = "example.com"

    private static func read(_ text: String, about apps: Set<String> = [app, "com.example.other"]) throws -> SiteAnswer?
    {
        SiteAnswer(bytes: Array(text.utf8), from: try WebHost(host), about: apps)
    }

    private static let good = """
        openurl-proofs 1
        host example.com
        file
        app com.example.notes
        system
        - /notes/admin/*
        + /notes/*
        app com.example.other
        + /other
        end

        """

    @Test func answerComesBack() throws {
        let answer = try #require(try Self.read(Self.good))
        #expect(answer.text == Self.good)
        guard case .file(let apps) = answer.outcome else {
            Issue.record("\(answer.outcome)")
            return
        }
        #expect(apps[Self.app]?.isForAdministratorsOnly == true)
        #expect(apps[Self.app]?.rules.lines == ["- /notes/admin/*", "+ /notes/*"])
        #expect(apps["com.example.other"]?.isForAdministratorsOnly == false)
    }

    @Test(arguments: [
        SiteAnswer.Outcome.file([:]), .noFile("404"), .unreachable("no address"),
        .file(["com.example.notes": SiteAnswer.App(.all)]),
    ])
    func outcomeComesBack(_ outcome: SiteAnswer.Outcome) throws {
        let answer = SiteAnswer(try WebHost(Self.host), outcome)
        #expect(try Self.read(answer.text) == answer)
    }

    @Test func reasonIsPrintable() throws {
        let answer = SiteAnswer(
            try WebHost(Self.host),
            .noFile("a\nend\n\u{1B}[31m" + String(repeating: "x", count: 300))
        )
        #expect(try Self.read(answer.text) == answer)
        #expect(try Self.read(SiteAnswer(try WebHost(Self.host), .noFile("")).text) != nil)
    }

    /// Every change of a single byte, and every beginning, is refused or means something that the program could have said.
    @Test func damagedAnswersAreRefusedOrComplete() throws {
        let bytes = Array(Self.good.utf8)
        let host = try WebHost(Self.host)
        for count in bytes.indices {
            #expect(SiteAnswer(bytes: Array(bytes.prefix(count)), from: host, about: [Self.app]) == nil)
        }
        for index in bytes.indices {
            for byte in [UInt8(ascii: "\n"), 0, 0xFF, UInt8(ascii: " "), UInt8(ascii: "/"), UInt8(ascii: "*")] {
                var damaged = bytes
                damaged[index] = byte
                let answer = SiteAnswer(bytes: damaged, from: host, about: [Self.app, "com.example.other"])
                #expect(answer.map { Array($0.text.utf8) == damaged } ?? true)
            }
        }
    }

    @Test(arguments: [
        "", "garbage", "openurl-proofs 2\nhost example.com\nfile\nend\n",
        "openurl-proofs 1\nhost evil.example\nfile\nend\n",
        "openurl-proofs 1\nhost example.com\nend\n", "openurl-proofs 1\nhost example.com\nfile\nend",
        "openurl-proofs 1\nhost example.com\nfile\nend\n\n", "openurl-proofs 1\nhost example.com\nfile\nend\nmore\n",
        "openurl-proofs 1\r\nhost example.com\r\nfile\r\nend\r\n", "openurl-proofs 1\nhost example.com\nnone \nend\n",
        "openurl-proofs 1\nhost example.com\nfile\napp com.evil.app\n+ /*\nend\n",
        "openurl-proofs 1\nhost example.com\nfile\napp com.example.notes\n+ /*\napp com.example.notes\n+ /*\nend\n",
        "openurl-proofs 1\nhost example.com\nfile\n+ /*\nend\n",
        "openurl-proofs 1\nhost example.com\nfile\napp com.example.notes\n/*\nend\n",
        "openurl-proofs 1\nhost example.com\nfile\napp com.example.notes\n+ /*\nsystem\nend\n",
        "openurl-proofs 1\nhost example.com\nnone a\nfile\nend\n",
        "warning\nopenurl-proofs 1\nhost example.com\nfile\nend\n",
        String(repeating: "a", count: SiteAnswer.maximumSize + 1),
    ])
    func textIsNoAnswer(_ text: String) throws { #expect(try Self.read(text) == nil) }
}
