import Foundation
import TestSupport
import Testing

/// Ctrl-C and the progress bar of the command, in a pseudo terminal.
@Suite(.timeLimit(.minutes(5))) struct InterruptTests {
    /// Runs the command on a terminal. For each pair of a text and keys, waits for the text and types the keys. Prints the output,
    /// and the exit status or the signal in the last line.
    private static func script() throws -> String { try pythonProgram("type_at_terminal") }

    private func onTerminal(_ router: RouterProcess, _ steps: String, _ arguments: String...) async throws -> String {
        let command = [RouterProcess.command.path] + arguments
        return try await router.run(
            ["timeout", "--signal=KILL", "60", "python3", "-c", Self.script(), steps] + command
        ).output
    }

    @Test func firstInterruptCancelsAndWaitsForTheOutcome() async throws {
        let router = try await RouterProcess(["com.example.app": ["report=4", "patient=app:first"]])
        defer { router.stop() }
        // The bar shows that the handler has the URL.
        let output = try await onTerminal(router, "part 4=^C", "app:first", "app:never")
        #expect(output.hasSuffix("\nexit 11"), "\(output)")
        #expect(output.contains("cancelling"))
        #expect(output.contains("openurl: app:first: com.example.app stopped its work on the URL"), "\(output)")
        #expect(output.contains("openurl: app:never: the request was cancelled"), "\(output)")
        let log = try router.log(of: "com.example.app")
        #expect(log.contains("cancelled app:first"))
        #expect(!log.contains("open app:never"))
    }

    @Test func secondInterruptGivesUp() async throws {
        let router = try await RouterProcess(["com.example.app": ["report=4", "stall-url=app:first"]])
        defer { router.stop() }
        let output = try await onTerminal(router, "part 4=^C;cancelling=^C", "app:first")
        #expect(output.hasSuffix("\nsignal 2"), "\(output)")
    }

    @Test func interruptAtTheQuestionOpensNothing() async throws {
        let router = try await RouterProcess(["com.example.app": []])
        defer { router.stop() }
        #expect(try await router.openurl("policy", "ask", "app").status == 0)
        let output = try await onTerminal(router, "open it?=^C", "app:first")
        #expect(output.hasSuffix("\nexit 11"), "\(output)")
        #expect(try router.log(of: "com.example.app").isEmpty)
    }

    @Test func barDisappearsBeforeTheOutcome() async throws {
        let router = try await RouterProcess(["com.example.app": ["report=4"]])
        defer { router.stop() }
        let output = try await onTerminal(router, "", "app:first")
        let bar = try #require(output.range(of: "\r[####################] 100 %  part 4\u{1B}[K"))
        #expect(output[bar.upperBound...].contains("\r\u{1B}[K"), "\(output.debugDescription)")
        #expect(output.hasSuffix("\nexit 0"))
    }

    @Test func interruptEndsTheMonitor() async throws {
        let router = try await RouterProcess(["com.example.app": []])
        defer { router.stop() }
        // The names of the columns say that the monitor watches.
        let idle = try await onTerminal(router, "OUTCOME=^C", "monitor")
        #expect(idle.hasSuffix("\nexit 0"), "\(idle)")
        let opening = Task { while !Task.isCancelled { _ = try await router.open("app:x?token") } }
        let output = try await onTerminal(router, "app:x=^C", "monitor")
        opening.cancel()
        _ = await opening.result
        #expect(output.hasSuffix("\nexit 0"), "\(output)")
        #expect(output.contains("app:x?…"))
        #expect(!output.contains("token"))
    }

    @Test func pipeGetsNoBar() async throws {
        let router = try await RouterProcess(["com.example.app": ["report=4"]])
        defer { router.stop() }
        #expect(try await router.openurl("app:first") == CommandRun(status: 0, output: "", errors: ""))
    }

    /// A shell starts a program in the background with the signal ignored.
    @Test func ignoredInterruptStaysIgnored() async throws {
        let router = try await RouterProcess(["com.example.app": ["report=4", "patient=app:first"]])
        defer { router.stop() }
        let line = """
            trap '' INT; '\(RouterProcess.command.path)' --timeout 5s app:first & child=$!
            until grep -q 'open app:first' "$HOME/com.example.app.log" 2>/dev/null; do
                [ $((looks += 1)) -lt 60000 ] || exit 3
            done
            grep SigIgn /proc/$child/status; kill -INT $child; wait $child; echo $?
            """
        let output = try await router.run("timeout", "--signal=KILL", "60", "sh", "-c", line).output
        let lines = output.split(separator: "\n")
        let ignored = try #require(lines.first?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) })
        #expect(ignored & 1 << (UInt64(SIGINT) - 1) != 0, "\(output)")
        #expect(lines.last == "6", "\(output)")
    }
}
