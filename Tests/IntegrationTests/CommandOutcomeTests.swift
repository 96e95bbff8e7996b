import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The output and the exit status of `openurl`, with a real router and real handlers.
@Suite(.timeLimit(.minutes(10))) struct CommandOutcomeTests {
    @Test func openedURLIsASilentSuccess() async throws {
        let router = try await RouterProcess(["com.example.good": []])
        defer { router.stop() }
        for _ in 0..<2 {
            #expect(try await router.openurl("good:x") == CommandRun(status: 0, output: "", errors: ""))
        }
        #expect(try router.log(of: "com.example.good").filter { $0 == "open good:x" }.count == 2)
    }

    @Test func eachOutcomeHasAnExitStatusAndAMessage() async throws {
        let router = try await RouterProcess([
            "com.example.no": ["decline=not today"], "com.example.will": ["will=no"], "com.example.did": ["did=no"],
            "com.example.exits": ["exit=3"], "com.example.fragile": ["crash=bad"],
        ]) { directory in
            try RouterProcess.write(
                "com.example.missing",
                [],
                in: directory,
                extra: ["CFBundleExecutable": "/nonexistent/handler"]
            )
            try RouterProcess.write("com.example.nobody", [], in: directory, extra: ["OUAllowedSources": [String]()])
        }
        defer { router.stop() }
        let manifest = "\(router.bus.directory.path)/XDG_DATA_HOME/openurl/handlers/com.example.missing.plist"
        let long = "no:" + String(repeating: "x", count: 65_536)
        for (url, status, message) in [
            ("no:x", 1, "com.example.no declined the URL: not today"),
            ("will:x", 2, "willFinishLaunching of com.example.will refused the URL"),
            ("did:x", 2, "didFinishLaunching of com.example.did refused the URL"),
            (
                "unclaimed:x", 3,
                "no handler claims the scheme unclaimed; register one with 'openurl register PATH'"
            ),
            (
                "missing:x", 4,
                "com.example.missing cannot be started: /nonexistent/handler does not exist; "
                    + "put it there, or correct CFBundleExecutable in \(manifest)"
            ),
            ("exits:x", 4, "com.example.exits exited with status 3 before it was ready"),
            (
                "fragile://bad", 5,
                "com.example.fragile was ended by signal 9 (Killed) before it answered; it may have acted on the URL"
            ),
            ("nobody:x", 7, "com.example.nobody takes no URLs from this program"),
            (long, 8, nil),
            ("no:a b", 65, nil),
        ] as [(String, Int32, String?)] {
            let run = try await router.openurl(url)
            #expect(run.status == status, "\(url.prefix(40)): \(run.errors)")
            #expect(run.output == "")
            if let message { #expect(run.errors == "openurl: \(message)\n") }
            #expect(run.errors.hasPrefix("openurl: ") && run.errors.hasSuffix("\n"))
        }
        #expect(try await router.openurl("no:a b").errors.hasPrefix("openurl: at byte offset 4: "))
    }

    @Test func expiredTimeLimitIsNamedWithItsPhase() async throws {
        let router = try await RouterProcess(["com.example.hanging": ["hang=open"]]) { directory in
            for (id, phase) in [
                ("com.example.stuck", "willFinishLaunching"), ("com.example.late", "didFinishLaunching"),
            ] {
                try RouterProcess.write(id, ["hang=\(phase)"], in: directory, extra: ["OULaunchTimeout": 2])
            }
        }
        defer { router.stop() }
        for (arguments, message) in [
            (
                ["stuck:x"],
                "willFinishLaunching of com.example.stuck did not return within 2 seconds of the launch; "
                    + "its process was killed"
            ),
            (
                ["late:x"],
                "didFinishLaunching of com.example.late did not return within 2 seconds of the launch; "
                    + "its process was killed"
            ),
        ] {
            let run = try await router.openurl(arguments)
            #expect(run.status == 6)
            #expect(run.errors == "openurl: \(message)\n", "\(run.errors)")
        }
        let run = try await router.openurl("--timeout", "2s", "hanging:x")
        #expect(run.status == 6)
        let message = "open of com.example.hanging did not return within 2 seconds; it may have acted on the URL"
        #expect(run.errors == "openurl: \(message)\n")
    }

    @Test func missingBusOrRouterIsReported() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let noRouter = try await CommandRun(RouterProcess.command, ["good:x"], bus.environment, in: bus.directory)
        #expect(noRouter.status == 69)
        #expect(noRouter.errors.hasPrefix("openurl: the router is not running, and the bus cannot start it; start "))
        var environment = bus.environment
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
        let noBus = try await CommandRun(RouterProcess.command, ["good:x"], environment, in: bus.directory)
        #expect(noBus.status == 69)
        #expect(noBus.errors.hasPrefix("openurl: cannot reach the router, because there is no session bus: "))
        // An invalid command line needs neither a router nor a bus.
        for arguments in [["--nonsense", "good:x"], ["--timeout", "soon", "good:x"], ["open"]] {
            let usage = try await CommandRun(RouterProcess.command, arguments, environment, in: bus.directory)
            #expect(usage.status == 64)
            #expect(usage.errors.hasPrefix("openurl: "), "\(usage.errors)")
        }
    }

    @Test func optionalOutputIsReadable() async throws {
        let router = try await RouterProcess(["com.example.good": [], "com.example.no": ["decline=not today"]])
        defer { router.stop() }
        let verbose = try await router.openurl("--verbose", "good:x")
        #expect(verbose.status == 0)
        let lines = verbose.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("good:x: com.example.good (launched, request 1-") == true)
        #expect(lines.last?.hasPrefix("    reply {") == true)
        let steps = try lines.dropFirst().dropLast().map { line in
            let words = line.split(separator: " ").map(String.init)
            try #require(words.count == 3 && words[1] == "ms" && Double(words[0]) != nil, "\(line)")
            return words[2]
        }
        #expect(
            steps == [
                "processStarted", "ready", "willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive",
            ]
        )

        let run = try await router.openurl("--json", "--annotation", "k=v", "good:y", "no:x", "unclaimed:x")
        #expect(run.status == 1)
        #expect(run.errors == "")
        let objects = try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        try #require(objects.count == 3)
        #expect(objects[0]["url"] as? String == "good:y")
        #expect(objects[0]["handler"] as? String == "com.example.good")
        #expect(objects[0]["way"] as? String == "active")
        let reply = try #require(objects[0]["reply"] as? [String: Any])
        #expect(reply["annotation"] as? [String: String] == ["k": "v"])
        #expect(reply["pid"] is Int)
        let trace = try #require(objects[0]["trace"] as? [[String: Any]])
        #expect(trace.map { $0["phase"] as? String } == ["open"])
        #expect(trace.map { $0["answer"] as? Bool } == [true])
        #expect(objects[1]["error"] as? String == "org.openurl.Error.Declined")
        #expect(objects[1]["message"] as? String == "com.example.no declined the URL: not today")
        #expect(objects[1]["exit"] as? Int == 1)
        #expect(objects[2]["error"] as? String == "org.openurl.Error.NoHandler")
        #expect(objects[2]["exit"] as? Int == 3)
    }

    @Test func failedURLDoesNotStopTheRest() async throws {
        let router = try await RouterProcess(["com.example.good": [], "com.example.no": ["decline=not today"]])
        defer { router.stop() }
        let run = try await router.openurl("good:1", "unclaimed:x", "good:2", "no:x", "good:3")
        #expect(run.status == 3)
        #expect(run.output == "")
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("openurl: unclaimed:x: no handler claims the scheme unclaimed;") == true)
        #expect(lines.last == "openurl: no:x: com.example.no declined the URL: not today")
        let opened = try router.log(of: "com.example.good").filter { $0.hasPrefix("open") }
        #expect(opened == ["open good:1", "open good:2", "open good:3"])
    }

    @Test func simultaneousCommandsStartOneProcess() async throws {
        let router = try await RouterProcess(["com.example.both": ["startDelay=200"]])
        defer { router.stop() }
        async let first = router.openurl("both:1")
        async let second = router.openurl("both:2")
        #expect(try await [first.status, second.status] == [0, 0])
        let log = try router.log(of: "com.example.both")
        #expect(log.filter { $0.hasPrefix("start") }.count == 1)
        #expect(Set(log.filter { $0.hasPrefix("open") }) == ["open both:1", "open both:2"])
    }
}

/// The output and the exit status of one run of a command.
struct CommandRun: Sendable, Hashable {
    let status: Int32
    let output: String
    let errors: String
}

extension CommandRun {
    /// Runs a program without blocking a thread of the concurrency pool.
    init(
        _ executable: URL,
        _ arguments: [String],
        _ environment: [String: String],
        in directory: URL
    ) async throws {
        // The output goes to files instead of pipes. A file needs no reader while the program runs, and processes that
        // the program starts cannot hold the run open.
        let files = [directory.appending(path: UUID().uuidString), directory.appending(path: UUID().uuidString)]
        for file in files { try Data().write(to: file) }
        let process = ChildProcess()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let handles = try files.map { try FileHandle(forWritingTo: $0) }
        process.standardOutput = handles[0]
        process.standardError = handles[1]
        let status = try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                ended.resume(throwing: error)
            }
        }
        // The process keeps the handles.
        for handle in handles { try handle.close() }
        self.init(
            status: status,
            output: String(decoding: try Data(contentsOf: files[0]), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self)
        )
    }
}

extension RouterProcess {
    static let command = products.appending(path: "openurl")

    /// Runs `openurl` on the router's bus.
    func openurl(_ arguments: String...) async throws -> CommandRun {
        try await openurl(arguments)
    }

    /// Runs `openurl` on the router's bus.
    func openurl(_ arguments: [String]) async throws -> CommandRun {
        try await CommandRun(Self.command, arguments, bus.environment, in: bus.directory)
    }

    /// Runs a program from the `PATH`.
    func run(_ arguments: String...) async throws -> CommandRun {
        try await run(arguments)
    }

    /// Runs a program from the `PATH`.
    func run(_ arguments: [String]) async throws -> CommandRun {
        try await CommandRun(URL(filePath: "/usr/bin/env"), arguments, bus.environment, in: bus.directory)
    }
}
