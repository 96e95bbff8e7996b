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
            "The `details` of `Completed` and of `Refused` (`org.openurl.Callback1`).",
            CallbackDetails.fields
        ),
        Section(
            "Request of the monitor",
            "One of the `entries` of `Entries`, and of those that `Log` returns (`org.openurl.Monitor1`).",
            MonitorEntry.fields
        ),
        Section(
            "Options of the monitor",
            "The `options` of `Subscribe` (`org.openurl.Monitor1`).",
            MonitorOptions.fields
        ),
        Section("Filter of the log", "The `filter` of `Log` (`org.openurl.Monitor1`).", MonitorFilter.fields),
        Section("Context", "The `context` of `Open` (`org.openurl.Handler1`).", OpenContext.fields),
        Section("Source", "The `source` in a context.", OpenContext.Source.fields),
    ]

    static let text = """
        # The keys of the contract

        Most methods of the D-Bus interfaces take or return dictionaries of the type `a{sv}`. The tables below list their keys.
        A key without a value is not written. A receiver ignores a key that it does not know. A receiver refuses a dictionary
        if a required key is missing, if a known key arrives twice, or if a value has another type than the table says. An integer
        may have any integer type that holds it. No text may have more than 256 combining marks in a row.

        A later version may use further words for `kind`, `transport` and the `state` of a handler. A receiver accepts these
        words.

        The command prints the same keys with `--json`, and `null` for a key without a value. The result of an open is an
        exception: its JSON leaves out a key without a value.

        The file is generated from the sources. After a change of the fields, run
        `OPENURL_WRITE_REFERENCE=1 swift test --disable-xctest --filter ReferenceTests`.

        ## Signals

        No signal is broadcast: a broadcast would tell each sandbox which handlers there are. `Subscribe` of `org.openurl.Router1`, at
        `/org/openurl/Router1`, sends the caller the first three signals from then on, and `Subscribe` of `org.openurl.Monitor1` sends
        `Entries`. A match rule is needed besides, as for every signal. A subscription ends with `Unsubscribe`, with the caller's connection,
        and with the router: subscribe again when `org.openurl.Router1` has a new owner. A handler and a program in a sandbox may not subscribe.

        | signal | arguments | receivers | meaning |
        |---|---|---|---|
        | `Changed` (`org.openurl.Registry1`) | `as` schemes | subscribers of `Router1` | The handlers of these schemes have changed. |
        | `StateChanged` (`org.openurl.Lifecycle1`) | `s` identifier, `s` state | subscribers of `Router1` | A handler is in another state. |
        | `StateChanged` (`org.openurl.Queue1`) | `s` number, `s` state | subscribers of `Router1` | A URL of the queue has reached a state. |
        | `Entries` (`org.openurl.Monitor1`) | `aa{sv}` entries | subscribers of `Monitor1` | Requests have begun, have reached a step, or have ended. |
        | `Progress` (`org.openurl.Request1`) | `d` fraction, `s` text | the caller of the request | The handler reports how far it is. |
        | `Completed` (`org.openurl.Callback1`) | `u` code, `s` URL, `a{sv}` details | the claimant | The wait for a callback has ended. |
        | `Refused` (`org.openurl.Callback1`) | `a{sv}` details | the claimant | A callback was refused; the claim stays. |

        """ + sections.map(\.text).joined(separator: "\n") + suspension

    static let suspension = """

        ## The suspension of a handler

        After the suspend delay in the background, the router stops the process of a handler that implements `EnterBackground` and
        `Suspend` of `org.openurl.Handler1`. A handler without these methods runs on.

        1. The router calls `Suspend` with a descriptor, the lifeline: the reading end of a pipe, whose only writing end the router
           has.
        2. A handler that has work to do keeps its bus name and answers `false`. The router asks again after the suspend delay.
        3. Any other handler keeps the descriptor open after the call, and leaves its flags, its owner and its signal as they are.
           The handler releases its bus name (`ReleaseName`), waits for the bus's answer, and then answers `true`. The router stops
           the process with `SIGSTOP`.
        4. For the next URL, or a call of the bus name, the router continues the process with `SIGCONT` and closes the writing end.
           The kernel does both when the router dies.
        5. At the end of the lifeline, the handler takes its bus name back (`RequestName`) and closes the descriptor. It has the time
           `OUTransitionTimeout`. A handler that does not get its name ends.

        The handler needs no signal handler. `SIGCONT` continues a process that has none, and the lifeline reaches its end at the same
        time. A handler that has closed the descriptor before its answer, or has changed the descriptor's state, is not stopped, and the
        router asks it no more. It takes its name back all the same, as in step 5 or when it gets `SIGCONT`.

        A call of the unique name of a stopped handler waits until the handler continues, and wakes a handler of the Swift library.

        [`examples/python/sleeper`](../examples/python/sleeper) and [`examples/c/sleeper.c`](../examples/c/sleeper.c) are handlers that
        do this.

        """
}
