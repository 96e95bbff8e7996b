import DBus
import Foundation
import OpenURLBus
import Testing

/// `Documentation/Reference.md` says what the methods and the lists of fields say.
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

    /// `InterfaceFileTests` compares the installed descriptions with the processes. The bridge's interface has none.
    @Test func everyMethodAndPropertyIsListed() throws {
        let directory = Self.file.deletingLastPathComponent().appending(path: "../Packaging/interfaces").standardized
        var described: [String: Set<String>] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: file, encoding: .utf8)
            let members = text.matches(of: /<(?:method|property) name="(\w+)"/).map { String($0.1) }
            described[file.deletingPathExtension().lastPathComponent] = Set(members)
        }
        var listed: [String: Set<String>] = [:]
        for interface in MethodReference.interfaces where interface.name != BridgeInterface.name {
            listed[interface.name.rawValue] = Set(interface.members.map(\.name))
        }
        #expect(described == listed)
    }

    @Test func everyMeaningIsASentence() {
        for interface in MethodReference.interfaces {
            for member in interface.members {
                #expect(member.meaning.hasSuffix("."), "\(interface.name): \(member.name)")
            }
        }
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
        Section(
            "Place of output",
            "The `place` that `Output` returns (`org.openurl.Lifecycle1`). If there is neither a file nor a journal, the output is lost.",
            OutputPlace.fields
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
        Section(
            "Reason to wake a handler",
            "The `context` of `Wake` (`org.openurl.Handler1`).",
            WakeContext.fields
        ),
        Section(
            "Answer of a handler that was woken",
            "The `answer` of `Wake` (`org.openurl.Handler1`), which may be left out.",
            WakeAnswer.fields
        ),
        Section("Push", "The `push` in the reason to wake a handler, and in a context.", RemoteNotification.fields),
        Section(
            "Registration for pushes",
            "The `registration` that `Register` returns, and each of those that `List` returns (`org.openurl.Push1`).",
            PushRegistration.fields
        ),
        Section(
            "Options of a registration",
            "The `options` of `Register` (`org.openurl.Push1`).",
            PushOptions.fields
        ),
        Section(
            "Local notification",
            "The `notification` of `Schedule`, each of those that `List` returns (`org.openurl.Notifications1`), and the one in the reason to wake a handler, in a context, and in the `platform_data` of `Activate`.",
            LocalNotification.fields
        ),
        Section(
            "Options of a task",
            "The `options` of `Schedule` (`org.openurl.Tasks1`).",
            TaskOptions.fields
        ),
        Section("Task", "One of the `tasks` that `List` returns (`org.openurl.Tasks1`).", ScheduledTask.fields),
        Section(
            "Options of a notification",
            "The `options` of `NotifyWithOptions` (`org.openurl.Lifecycle1`).",
            NotificationOptions.fields
        ),
        Section("Other host", "One of the `hosts` that `List` returns (`org.openurl.Hosts1`).", HostEntry.fields),
        Section(
            "Request of another host",
            "The `request` of `Receive` (`org.openurl.Hosts1`) and of `Send` (`org.openurl.Bridge1`).",
            HostRequest.fields
        ),
    ]

    static let text = """
        # The D-Bus contract

        Most methods of the D-Bus interfaces take or return dictionaries of the type `a{sv}`. After the
        [methods](#methods-and-properties) and the [signals](#signals), this page lists the keys of each dictionary. Leave out
        keys that have no value, and ignore keys that you do not know. A dictionary is refused if a required key is missing, if
        a known key arrives twice, or if a value has a type other than the table says. You may use any integer type that holds
        an integer. No string may have more than 30 combining marks in a row.

        Later versions may use further words for `kind`, `reason`, `transport` and the `state` of a handler, so accept words that
        you do not know.

        With `--json`, the command prints the same keys, and `null` for those without a value. Only the result of an open and
        the requests of `openurl log`, `openurl monitor` and `openurl status` leave them out.

        This file is generated from the sources. When the methods or the fields have changed, run
        `OPENURL_WRITE_REFERENCE=1 swift test --disable-xctest --filter ReferenceTests`.

        ## Methods and properties

        The router's object is `/org/openurl/Router1` of `org.openurl.Router1`. A handler's object has the path of its bundle
        identifier, such as `/com/acme/todolist`. The bridge's object is `/org/openurl/Bridge1` of `org.openurl.Bridge1`. [The
        rights](Rights.md) say which programs may call a method, and the files in `share/dbus-1/interfaces` describe the
        interfaces to code generators, except for the bridge's. The router and handlers also implement
        `org.freedesktop.Application`, which the Desktop Entry Specification describes.

        \(MethodReference.text)
        ## Signals

        No signal is broadcast, because each sandbox would learn from it which handlers there are. To get the first five signals,
        call `Subscribe` of `org.openurl.Router1` at `/org/openurl/Router1`; for `Entries`, call `Subscribe` of
        `org.openurl.Monitor1`. You also need a match rule, as for every signal. A subscription ends with `Unsubscribe`, with the
        caller's connection, and with the router: subscribe again when `org.openurl.Router1` has a new owner. Handlers and programs
        in a sandbox may not subscribe.

        | signal | arguments | receivers | meaning |
        |---|---|---|---|
        | `Changed` (`org.openurl.Registry1`) | `as` schemes | subscribers of `Router1` | The handlers of these schemes have changed. |
        | `StateChanged` (`org.openurl.Lifecycle1`) | `s` identifier, `s` state | subscribers of `Router1` | A handler is in another state. |
        | `LaunchBegan` (`org.openurl.Lifecycle1`) | `s` identifier, `s` scheme, `s` path of the image | subscribers of `Router1` | A handler is launched, and a desktop can show its launch image. |
        | `LaunchEnded` (`org.openurl.Lifecycle1`) | `s` identifier | subscribers of `Router1` | The launch that `LaunchBegan` has reported is over. |
        | `StateChanged` (`org.openurl.Queue1`) | `s` number, `s` state | subscribers of `Router1` | A URL of the queue has reached a state. |
        | `Entries` (`org.openurl.Monitor1`) | `aa{sv}` entries | subscribers of `Monitor1` | Requests have begun, have reached a step, or have ended. |
        | `Progress` (`org.openurl.Request1`) | `d` fraction, `s` text | the caller of the request | The handler reports how far it is. |
        | `Started` (`org.openurl.Request1`) | – | the relay that made the request | An application has been started with the URL. |
        | `Completed` (`org.openurl.Callback1`) | `u` code, `s` URL, `a{sv}` details | the claimant | The wait for a callback has ended: 0 if it has arrived, 1 after `Close`, 2 in any other case. |
        | `Refused` (`org.openurl.Callback1`) | `a{sv}` details | the claimant | A callback was refused; the claim stays. |


        """ + sections.map(\.text).joined(separator: "\n") + suspension

    static let suspension = """

        ## The suspension of a handler

        When a handler has been in the background for the suspend delay, the router stops its process, if the handler implements
        `EnterBackground` and `Suspend` of `org.openurl.Handler1`. Without these methods, it keeps running.

        1. The router calls `Suspend` with a descriptor, the lifeline: the read end of a pipe, whose only write end the router
           has.
        2. If the handler has work to do, it keeps its bus name and answers `false`. The router asks again after the suspend delay.
        3. Otherwise the handler keeps the descriptor open after the call, and leaves its flags, its owner and its signal as they
           are. It releases its bus name (`ReleaseName`), waits for the bus's answer, and then answers `true`. The router stops the
           process with `SIGSTOP`.
        4. For the next URL, or a call to the bus name, the router continues the process with `SIGCONT` and closes the write end.
           When the router dies, the kernel does both.
        5. At the end of the lifeline, the handler takes its bus name back (`RequestName`) and closes the descriptor. It has
           `OUTransitionTimeout` for this. If it does not get its name, it ends.

        You need no signal handler: `SIGCONT` continues a process that has none, and the lifeline reaches its end at the same time.
        If a handler has closed the descriptor before its answer, has changed the descriptor's state, or answers with anything
        other than a boolean, it is not stopped, and the router no longer asks it. It takes its name back all the same, as in step
        5 or when it gets `SIGCONT`.

        If a program calls the unique name of a stopped handler, the call waits until the handler continues. In the Swift library,
        such a call also wakes the handler.

        [`examples/python/sleeper`](../examples/python/sleeper) and [`examples/c/sleeper.c`](../examples/c/sleeper.c) do all of this.

        """
}
