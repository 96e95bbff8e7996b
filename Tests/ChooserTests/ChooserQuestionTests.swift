import RFC1808
import Testing

@testable import Chooser

/// The router's question, as a key file.
@Suite struct ChooserQuestionTests {
    private static let candidate = "ID=com.example.browser.desktop\nName=Browser\n"

    private func question(
        link: String = "URL=https://example.com/\n",
        candidates: String = "[Candidate 1]\n\(candidate)"
    )
        throws(InvalidQuestion) -> Question
    {
        try Question(Array("[Link]\n\(link)\(candidates)".utf8))
    }

    private func reason(_ body: () throws(InvalidQuestion) -> Question) -> String? {
        do throws(InvalidQuestion) {
            _ = try body()
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func allKeysAreRead() throws {
        let question = try question(
            link: """
                URL=https://example.com/a
                Host=example.com
                Source=Mail \\\\ News
                SourceID=com.example.mail
                Token=token
                Locale=de_DE.UTF-8
                Later=ignored

                """,
            candidates: """
                [Candidate 1]
                ID=com.example.browser.desktop
                Name=Browser
                Icon=web-browser
                Profile=x1
                ProfileName=Work
                Private=true
                [Candidate 2]
                ID=com.example.other.desktop
                Name=Andere
                [Later]

                """
        )
        #expect(question.url.description == "https://example.com/a")
        #expect(question.host == "example.com")
        #expect(question.source == "Mail \\ News")
        #expect(question.hasSourceID)
        #expect(question.token == "token")
        #expect(question.locale == "de_DE.UTF-8")
        #expect(
            question.candidates == [
                Question.Candidate(
                    id: "com.example.browser.desktop",
                    name: "Browser",
                    icon: "web-browser",
                    profileName: "Work",
                    offersPrivateWindow: true
                ),
                Question.Candidate(
                    id: "com.example.other.desktop",
                    name: "Andere",
                    icon: "",
                    profileName: "",
                    offersPrivateWindow: false
                ),
            ]
        )
        #expect(question.candidates.map(\.shownName) == ["Browser – Work", "Andere"])
    }

    @Test func onlyTheURLAndOneCandidateAreNeeded() throws {
        let question = try question()
        #expect(question.host.isEmpty && question.source.isEmpty && question.token.isEmpty && question.locale.isEmpty)
        #expect(!question.hasSourceID)
        #expect(question.candidates.count == 1)
    }

    @Test func whatIsMissingIsNamed() {
        #expect(reason { () throws(InvalidQuestion) in try Question([]) } == "has no URL in [Link]")
        #expect(reason { () throws(InvalidQuestion) in try question(link: "") } == "has no URL in [Link]")
        #expect(reason { () throws(InvalidQuestion) in try question(link: "URL=\n") } == "has no URL in [Link]")
        #expect(reason { () throws(InvalidQuestion) in try question(candidates: "") } == "has no candidate")
        // The numbers begin at 1.
        let second = "[Candidate 2]\n\(Self.candidate)"
        #expect(reason { () throws(InvalidQuestion) in try question(candidates: second) } == "has no candidate")
        let nameless = "[Candidate 1]\nID=a.desktop\n"
        #expect(
            reason { () throws(InvalidQuestion) in try question(candidates: nameless) }
                == "has no Name in [Candidate 1]"
        )
        let anonymous = "[Candidate 1]\nName=A\n"
        #expect(
            reason { () throws(InvalidQuestion) in try question(candidates: anonymous) } == "has no ID in [Candidate 1]"
        )
    }

    @Test(arguments: [
        "https://example.com/\u{202E}fdp.exe", "https://ex\u{430}mple.com/", "https://example.com/\u{7F}",
        "https://exa mple.com/",
    ])
    func aURLThatIsNotPrintableASCIIIsRefused(url: String) throws {
        let reason = try #require(reason { () throws(InvalidQuestion) in try question(link: "URL=\(url)\n") })
        #expect(reason.hasPrefix("has an invalid URL: "))
        #expect(!reason.unicodeScalars.contains { [.control, .format].contains($0.properties.generalCategory) })
    }

    @Test func damagedFilesAreRefused() throws {
        for text in ["no group\n", "[Link\nURL=a:b\n", "URL=a:b\n[Link]\n"] {
            let reason = try #require(reason { () throws(InvalidQuestion) in try Question(Array(text.utf8)) })
            #expect(reason.hasPrefix("is not a key file: ") && !reason.contains("\n"), "\(reason)")
        }
        #expect(
            reason { () throws(InvalidQuestion) in try question(link: "URL=a:b\nHost=a\0b\n") } == "contains U+0000"
        )
        let yes = "[Candidate 1]\n\(Self.candidate)Private=yes\n"
        let boolean = try #require(reason { () throws(InvalidQuestion) in try question(candidates: yes) })
        #expect(boolean.hasPrefix("has an invalid Private in [Candidate 1]: "))
        let bytes = Array("[Link]\nURL=a:b\nSource=".utf8) + [0xFF] + Array("\n[Candidate 1]\n\(Self.candidate)".utf8)
        let encoding = try #require(reason { () throws(InvalidQuestion) in try Question(bytes) })
        #expect(encoding.hasPrefix("has an invalid Source in [Link]: "))
        for (key, value) in [("Locale", "../de"), ("Host", "ex\u{430}mple.com"), ("Host", "a b")] {
            let link = "URL=a:b\n\(key)=\(value)\n"
            #expect(
                reason { () throws(InvalidQuestion) in try question(link: link) } == "has an invalid \(key) in [Link]"
            )
        }
    }

    @Test func theSizeAndTheNumberOfCandidatesAreLimited() throws {
        func candidates(_ count: Int) -> String { (1...count).map { "[Candidate \($0)]\n\(Self.candidate)" }.joined() }
        #expect(try question(candidates: candidates(100)).candidates.count == 100)
        #expect(
            reason { () throws(InvalidQuestion) in try question(candidates: candidates(101)) }
                == "has more than 100 candidates"
        )
        let comment = [UInt8](repeating: UInt8(ascii: "#"), count: Question.maximumSize + 1)
        #expect(
            reason { () throws(InvalidQuestion) in try Question(comment) }
                == "has more than \(Question.maximumSize) bytes"
        )
    }

    @Test func aPrivateWindowIsOnlyForCandidatesThatOfferOne() throws {
        let question = try question(
            candidates: "[Candidate 1]\n\(Self.candidate)Private=true\n[Candidate 2]\n\(Self.candidate)"
        )
        #expect(
            question.choice(of: 1, remember: .site, privately: true)
                == Choice(candidate: 1, remember: .site, isPrivate: true)
        )
        #expect(question.choice(of: 2, remember: .no, privately: true) == nil)
        #expect(
            question.choice(of: 2, remember: .no, privately: false)
                == Choice(candidate: 2, remember: .no, isPrivate: false)
        )
        #expect(question.choice(of: 0, remember: .no, privately: false) == nil)
        #expect(question.choice(of: 3, remember: .no, privately: false) == nil)
    }

    @Test func theChoiceIsAKeyFile() {
        let choice = Choice(candidate: 12, remember: .sender, isPrivate: true, token: "a b\\c\nPrivate=false")
        #expect(
            choice.keyFile == """
                [Choice]
                Candidate=12
                Remember=sender
                Private=true
                Token=a b\\\\c\\nPrivate=false

                """
        )
    }
}
