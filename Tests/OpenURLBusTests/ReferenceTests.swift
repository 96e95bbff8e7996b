import DBus
import Foundation
import OpenURLBus
import Testing

/// `Documentation/Reference.md` says what the lists of fields say.
@Suite struct ReferenceTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Documentation/Reference.md").standardized

    /// The variable that makes the test write the file.
    private static let variable = "OPENURL_WRITE_REFERENCE"

    @Test func theReferenceIsUpToDate() throws {
        if ProcessInfo.processInfo.environment[Self.variable] != nil {
            try Data(Reference.text.utf8).write(to: Self.file)
        }
        let committed = try String(contentsOf: Self.file, encoding: .utf8)
        let command = "\(Self.variable)=1 swift test --disable-xctest --filter ReferenceTests"
        #expect(
            committed == Reference.text,
            "Documentation/Reference.md is out of date; regenerate it with: \(command)"
        )
    }

    @Test func everyKeyIsInItsListOnce() {
        for section in Reference.sections {
            #expect(Set(section.rows.map(\.key)).count == section.rows.count, "\(section.title)")
        }
    }

    @Test func everyMeaningIsASentence() {
        for section in Reference.sections {
            for row in section.rows { #expect(row.meaning.hasSuffix("."), "\(section.title): \(row.key)") }
        }
    }
}

/// The text of `Documentation/Reference.md`.
private enum Reference {
    struct Row {
        let key: String
        let type: String
        let isRequired: Bool
        let meaning: String

        init<Root>(_ field: Field<Root>) {
            key = field.key
            type = field.type.rawValue
            isRequired = field.isRequired
            let words = field.words.map { "`\($0)`" }.joined(separator: ", ")
            meaning = words.isEmpty ? field.meaning : "\(field.meaning) One of \(words)."
        }
    }

    struct Section {
        let title: String
        let summary: String
        let rows: [Row]

        init<Root>(_ title: String, _ summary: String, _ list: FieldList<Root>) {
            self.title = title
            self.summary = summary
            rows = list.all.map { Row($0) }
        }

        var text: String {
            let lines = rows.map { "| `\($0.key)` | `\($0.type)` | \($0.isRequired ? "yes" : "") | \($0.meaning) |" }
            return "## \(title)\n\n\(summary)\n\n"
                + "| key | type | required | meaning |\n|---|---|---|---|\n"
                + lines.joined(separator: "\n") + "\n"
        }
    }

    static let sections = [
        Section(
            "Options",
            "The `options` of `OpenURL`, `Call`, `OpenURLs` and `Explain` (`org.openurl.Router1`).",
            OpenOptions.fields
        ),
        Section(
            "Result",
            "The `result` of `OpenURL` and of `Call`, and each of the `results` of `OpenURLs`.",
            OpenResult.fields
        ),
        Section(
            "Error of one URL",
            "One of the `results` of `OpenURLs`, for a URL that was not opened. `OpenURL` answers with a D-Bus error instead.",
            ErrorFields.fields
        ),
        Section(
            "Step of a trace",
            "One element of `trace`: a structure `(stb)`. The members have names in JSON only.",
            TracePhase.fields
        ),
        Section("Explanation", "The `explanation` that `Explain` returns.", Explanation.fields),
        Section("Parts of a URL", "The `parts` of an explanation.", Explanation.Parts.fields),
        Section("Candidate", "One of the `candidates` of an explanation.", Explanation.Candidate.fields),
        Section(
            "Handler",
            "The `handler` that `Register` returns, and each of the `handlers` of `ListHandlers` (`org.openurl.Registry1`).",
            HandlerEntry.fields
        ),
        Section(
            "Finding",
            "One of the `findings` that `Check` returns (`org.openurl.Registry1`).",
            ManifestFinding.fields
        ),
        Section(
            "Status of a handler",
            "One of the `handlers` that `List` returns (`org.openurl.Lifecycle1`).",
            HandlerStatus.fields
        ),
        Section("Queued URL", "One of the `urls` that `List` returns (`org.openurl.Queue1`).", QueuedURL.fields),
        Section("Rule", "One of the `rules` that `Rules` returns (`org.openurl.Policy1`).", PolicyRule.fields),
        Section(
            "Remembered answer",
            "One of the `answers` that `Answers` returns (`org.openurl.Policy1`).",
            PolicyAnswer.fields
        ),
        Section("Question", "The `question` that `Question` returns (`org.openurl.Policy1`).", PolicyQuestion.fields),
        Section(
            "Options of a callback",
            "The `options` of `Request` (`org.openurl.Callbacks1`).",
            CallbackOptions.fields
        ),
        Section(
            "Details of a callback",
            "The `details` of `Completed` (`org.openurl.Callback1`).",
            CallbackDetails.fields
        ),
        Section("Context", "The `context` of `Open` (`org.openurl.Handler1`).", OpenContext.fields),
        Section("Source", "The `source` in a context.", OpenContext.Source.fields),
    ]

    static let text = """
        # The keys of the contract

        Most methods of the D-Bus interfaces take or return dictionaries of the type `a{sv}`. The tables below list their keys.
        A key without a value is not written. A receiver ignores a key that it does not know. A receiver refuses a dictionary
        if a required key is missing, or if a value has another type than the table says. An integer may have any integer type
        that holds it.

        A later version may use further words for `kind`, `transport` and the `state` of a handler. A receiver accepts these
        words.

        The command prints the same keys with `--json`, and `null` for a key without a value. The result of an open is an
        exception: its JSON leaves out a key without a value.

        The file is generated from the sources. After a change of the fields, run
        `OPENURL_WRITE_REFERENCE=1 swift test --disable-xctest --filter ReferenceTests`.


        """ + sections.map(\.text).joined(separator: "\n")
}
