import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// `openurl output` with handlers that write, whose output the log masks.
@Suite(.timeLimit(.minutes(10))) struct HandlerOutputCommandTests {
    private static let command = "com.example.command"
    private static let script = "com.example.script"

    /// A router with a command that writes its URL, also while it runs without a journal.
    private func router(_ prepare: (URL) throws -> Void = { _ in }) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let script = #"echo "$1"; echo "greeting ${1##*=}" >&2; printf '\033[2Jend\n'"#
            try Self.write(Self.command, script, scheme: "command", in: directory)
            try prepare(directory)
        }
    }

    /// Writes the manifest of a command, which is a script of the shell.
    private static func write(
        _ id: String,
        _ script: String,
        scheme: String,
        in directory: URL,
        extra: [String: Any] = [:]
    ) throws {
        let keys: [String: Any] = [
            "CFBundleIdentifier": id, "OUCommand": ["sh", "-c", script, "sh", "%u"],
            "CFBundleURLTypes": [["CFBundleURLSchemes": [scheme]]],
        ]
        let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
        try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
        let list = keys.merging(extra) { $1 }
        try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
            .write(to: handlers.appending(path: "\(id).plist"))
    }

    @Test func outputIsWhole() async throws {
        let router = try await router()
        defer { router.stop() }
        #expect(try await router.openurl("output", Self.command) == CommandRun(status: 0, output: "", errors: ""))
        #expect(try await router.openurl("command:x?name=World").status == 0)
        let run = try await router.openurl("output", Self.command)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
        #expect(run.output == "command:x?name=World\ngreeting World\n\u{1B}[2Jend\n")
        #expect(try await router.openurl("output", "-n", "2", Self.command).output == "greeting World\n\u{1B}[2Jend\n")
    }

    @Test func statusHasTheLatestOutcomeAndTheLastLines() async throws {
        let router = try await router()
        defer { router.stop() }
        #expect(try await router.openurl("command:x?name=World").status == 0)
        let shown = try await eventually(try await router.openurl("status", Self.command)) {
            $0.output.contains("Outcome:")
        }
        let lines = shown.output.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("    Latest: command:x?… from ") }, "\(shown)")
        #expect(lines.contains { $0.hasPrefix("   Outcome: completed after ") }, "\(shown)")
        #expect(shown.output.hasSuffix("\n\ncommand:x?name=World\ngreeting World\n\\u{1B}[2Jend\n"), "\(shown)")
        let json = try await router.openurl("status", "--json", Self.command).output
        #expect(json.contains(#""latest":{"#) && json.contains(#","output":["command:x?name=World","#), "\(json)")
        // All handlers are still a table.
        #expect(try await router.openurl("status").output.contains("\(Self.command)\t"))
    }

    /// The command fails after it has taken its URL, so nobody else is told.
    @Test func laterFailureOfACommandIsShown() async throws {
        let id = "com.example.late"
        let router = try await RouterProcess { directory in
            let script = #"read line < "$HOME/go"; echo "no such note: $1"; exit 4"#
            try Self.write(id, script, scheme: "late", in: directory, extra: ["OUOpenTimeout": 0.001])
        }
        defer { router.stop() }
        let pipe = "\(router.bus.environment["HOME"] ?? "")/go"
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(try await router.openurl("late:x").status == 0)
        try #require(try await router.run("timeout", "60", "sh", "-c", "echo > '\(pipe)'").status == 0)
        let output = try await eventually(try await router.openurl("output", id)) { !$0.errors.isEmpty }
        let failure = "\(id) exited with status 4, "
        #expect(output.output == "no such note: late:x\n")
        #expect(output.errors.hasPrefix("openurl: the latest request failed: \(failure)"), "\(output.errors)")
        let shown = try await router.openurl("status", id).output
        let outcome = shown.split(separator: "\n").first { $0.hasPrefix("   Outcome: ") } ?? ""
        #expect(outcome.contains(failure) && outcome.contains("; it wrote: no such note: late:x; "), "\(shown)")
        #expect(try await router.openurl("log", "--failed").output.contains(failure))
    }

    /// The shell opens the URLs when it has read the lines before, and the last one ends the command, because nobody reads it.
    @Test func furtherOutputFollows() async throws {
        let router = try await router()
        defer { router.stop() }
        let program = RouterProcess.command.path
        #expect(try await router.openurl("command:x?name=first").status == 0)
        let line = """
            '\(program)' output -f -n 1 \(Self.command) | {
                read -r end
                '\(program)' command:x?name=second; read -r url; read -r greeting
                echo "$end|$url|$greeting"
                exec <&-
                '\(program)' command:x?name=third
            }
            """
        let run = try await router.run("timeout", "--signal=KILL", "120", "sh", "-c", line)
        #expect(run.status == 0, "\(run)")
        #expect(run.output == "\u{1B}[2Jend|command:x?name=second|greeting second\n", "\(run)")
    }

    /// A handler with a process writes into a file, too, where there is no journal.
    @Test func processWritesIntoAFileWithoutAJournal() async throws {
        let router = try await router { directory in
            try ScriptHandler.write(Self.script, "ready_handler", in: directory)
        }
        defer { router.stop() }
        #expect(try await router.openurl("script:x").status == 0)
        #expect(try await router.openurl("output", Self.script).output == "ready\n")
        let state = router.bus.environment["XDG_STATE_HOME"] ?? "\(router.bus.environment["HOME"] ?? "")/.local/state"
        #expect(FileManager.default.fileExists(atPath: "\(state)/openurl/output/\(Self.script).log"))
    }

    @Test func handlerThatWasStartedByHandWritesElsewhere() async throws {
        let id = "com.example.byhand"
        let router = try await RouterProcess([id: []])
        defer { router.stop() }
        _ = try await router.startByHand(id)
        let place = try await router.connection.call(LifecycleInterface.output, on: RouterService.object, id)
        #expect(place.isElsewhere)
    }

    /// The output may have secrets, which other handlers do not get.
    @Test func handlersDoNotLearnThePlace() async throws {
        let router = try await router { directory in
            try ScriptHandler.write(Self.script, "curious_handler", [Self.command], in: directory)
        }
        defer { router.stop() }
        let reply = try await router.open("script:x").reply
        #expect(reply["answer"] == .string("org.openurl.Error.NotAllowed"), "\(reply)")
    }
}
