import DBus
import Foundation
import Logging
import OpenURLBus
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// Handlers with a command (`OUCommand`), with real processes.
@Suite(.timeLimit(.minutes(10))) struct CommandHandlerTests {
    private let desktop: DesktopFixture
    private let id = "com.example.cmd"

    init() throws {
        desktop = try DesktopFixture()
    }

    /// A router with one handler, whose command is a script with the URL as its argument.
    private func router(
        _ body: String,
        settleTime: Duration = .seconds(3600),
        requests: RequestLog? = nil,
        log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ change: (inout HandlerManifest) throws -> Void = { _ in }
    ) throws -> URLRouter {
        try desktop.addScript("cmd.sh", body)
        let handler = try Handler.test(id, program: .path("/bin/sh")) { manifest in
            manifest.command = try HandlerCommand(["/bin/sh", "\(desktop.path)/cmd.sh", "%u"])
            try change(&manifest)
        }
        var limits = RouterLimits()
        limits.settleTime = settleTime
        limits.openTimeout = .seconds(3600)
        let bus = try FakeHandlers(["com.example.target": ":1.1"])
        return URLRouter(
            [handler],
            on: bus,
            environment: desktop.environment,
            limits: limits,
            requests: requests,
            log: log
        )
    }

    private static func failure(of router: URLRouter, _ url: String = "cmd:x") async -> OpenURLError? {
        do throws(OpenURLError) {
            _ = try await router.open(url)
            return nil
        } catch {
            return error
        }
    }

    @Test func exitStatusOfZeroIsAYes() async throws {
        let router = try router(#"printf '%s\n' "$#" "$@" "$CMD_TEST" > "$desktop/told""#) {
            $0.environment = ["CMD_TEST": "value"]
        }
        let result = try await router.open("cmd:$(touch%20x);'y'&z")
        #expect(result.handler == id)
        #expect(result.way == .completed)
        #expect(result.trace.map(\.name) == ["processStarted", "open"])
        #expect(try desktop.lines(of: "told") == ["1", "cmd:$(touch%20x);'y'&z", "value"])
    }

    @Test(arguments: [
        (
            "echo first >&2; echo 'no such note' >&2; exit 1",
            OpenURLError(.declined, "com.example.cmd declined the URL: no such note")
        ),
        ("exit 7", OpenURLError(.declined, "com.example.cmd exited with status 7 after it got the URL")),
        ("exit 127", OpenURLError(.launchFailed, "com.example.cmd exited with status 127: its command was not found")),
    ])
    func lastLineIsTheReasonOfANo(body: String, error: OpenURLError) async throws {
        #expect(await Self.failure(of: try router(body)) == error)
    }

    @Test func crashIsACrash() async throws {
        let error = await Self.failure(of: try router("kill -SEGV $$"))
        #expect(error?.code == .handlerCrashed)
        #expect(error?.message.contains("signal 11 (Segmentation fault)") == true)
    }

    @Test func runningCommandHasTheURLAfterTheTimeOfTheManifest() async throws {
        try desktop.addPipe("go")
        let body = #"read line < "$desktop/go"; exit 7"#
        let slow = try router(body, settleTime: .zero)
        #expect(try await slow.open("cmd:x").way == .launched)
        try desktop.write(to: "go")
        // The manifest's time limit is longer, so the exit decides.
        let patient = try router("exit 7", settleTime: .zero) { $0.openTimeout = .seconds(3600) }
        #expect(await Self.failure(of: patient)?.code == .declined)
    }

    @Test func cancelEndsTheWaitForACommand() async throws {
        for pipe in ["started", "go"] { try desktop.addPipe(pipe) }
        let router = try router(#"echo > "$desktop/started"; read line < "$desktop/go""#) {
            $0.openTimeout = .seconds(3600)
        }
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        let request = Task { [options] in try await router.openURL("cmd:x", options, caller: ownConnection) }
        try desktop.wait(for: "started")
        try await router.cancelRequest(at: "/org/openurl/Router1/request/1_77/t", caller: ownConnection)
        let message = "the request was cancelled; com.example.cmd has the URL and may still open it"
        await #expect(throws: OpenURLError(.cancelled, message)) { try await request.value }
        #expect(await router.startsNothing)
        // The command goes on.
        try desktop.write(to: "go")
    }

    /// Opens a URL with a command that takes it, then lets the command end, and returns the log's entry.
    private func entry(ofCommandThatEnds end: String, _ line: String) async throws -> MonitorEntry {
        try desktop.addPipe("go")
        let log = RecordedLog()
        let requests = RequestLog(path: "\(desktop.path)/log.sqlite", on: try EventLoop(), log: log.logger)
        let body = #"read line < "$desktop/go"; \#(end)"#
        let router = try router(body, settleTime: .zero, requests: requests, log: log.logger)
        #expect(try await router.open("cmd:x").way == .launched)
        try desktop.write(to: "go")
        try await eventually(log.lines) { $0.contains { $0.contains("com.example.cmd \(line)") } }
        await router.storeLog()
        let entries = try await requests.entries(MonitorFilter())
        #expect(entries.count == 1)
        return try #require(entries.first)
    }

    /// A command that fails after it has taken its URL has answered its sender already, so only the log says so.
    @Test(arguments: [
        (
            "echo 'no such note'; exit 4", "exited with status 4, ", OpenURLError.Code.declined,
            "; it wrote: no such note; 'openurl output com.example.cmd' shows its output"
        ),
        ("kill -SEGV $$", "was ended by signal 11 (Segmentation fault), ", .handlerCrashed, ""),
    ])
    func laterFailureIsLogged(end: String, exit: String, code: OpenURLError.Code, hint: String) async throws {
        let entry = try await entry(ofCommandThatEnds: end, exit)
        #expect(entry.way == .known(.launched))
        #expect(entry.error?.name == code.errorName)
        let message = entry.error?.message ?? ""
        #expect(message.hasPrefix("com.example.cmd \(exit)"), "\(message)")
        #expect(message.contains(" after it got the URL\(hint)"), "\(message)")
    }

    /// The person or the session ends a command that runs for long.
    @Test(arguments: [
        ("exit 0", "exited with status 0"), ("kill -TERM $$", "was ended by signal 15"),
        ("kill -HUP $$", "was ended by signal 1"), ("kill -KILL $$", "was ended by signal 9"),
    ])
    func laterEndIsNoFailure(end: String, exit: String) async throws {
        let entry = try await entry(ofCommandThatEnds: end, exit)
        #expect(entry.way == .known(.launched) && entry.error == nil, "\(entry)")
    }

    /// Two senders' commands write to the same file. No sender may read a line that is about the other's URL.
    @Test func lineOfAnotherRunIsNotTheReasonOfANo() async throws {
        for pipe in ["started", "go", "said", "end"] { try desktop.addPipe(pipe) }
        let router = try router(
            #"""
            case $1 in
            cmd:first)
                echo > "$desktop/started"; read line < "$desktop/go"; echo "the secret of $1"
                echo > "$desktop/said"; read line < "$desktop/end"; exit 1;;
            cmd:second) echo > "$desktop/go"; read line < "$desktop/said"; exit 1;;
            *) echo "the reason of $1"; exit 1;;
            esac
            """#
        )
        async let first = Self.failure(of: router, "cmd:first")
        try desktop.wait(for: "started")
        let reason = "com.example.cmd exited with status 1 after it got the URL"
        #expect(await Self.failure(of: router, "cmd:second") == OpenURLError(.declined, reason))
        try desktop.write(to: "end")
        // The first command has not been alone either, so its last line may be one of the second.
        #expect(await first == OpenURLError(.declined, reason))
        let own = "com.example.cmd declined the URL: the reason of cmd:third"
        #expect(await Self.failure(of: router, "cmd:third") == OpenURLError(.declined, own))
    }

    @Test func rulesOfHandlersApply() async throws {
        let listed = try router("exit 0") {
            $0.allowedSources = [try SourcePattern("com.example.friend")]
            $0.reach = .listed
        }
        #expect(await Self.failure(of: listed)?.code == .notAllowed)
    }

    @Test func commandHasNoLife() async throws {
        let router = try router("exit 0")
        let explanation = try await router.explain("cmd:x", OpenOptions(), caller: ownConnection)
        #expect(explanation.transport == .known(.exec))
        // The status says that no process runs, and nothing else can be asked for.
        #expect(await router.status() == [HandlerStatus(id: "com.example.cmd", state: .known(.notRunning))])
        await #expect(throws: OpenURLError.self) { try await router.reset(BundleIdentifier("com.example.cmd")) }
    }

    /// Without the manifest, nothing can be corrected in it.
    @Test(arguments: [
        (true, "/none does not exist; put it there, or correct OUCommand in /handlers/com.example.cmd.plist"),
        (
            false,
            "/none does not exist, and its manifest /handlers/com.example.cmd.plist is gone too; register it where it is now, "
                + "or run 'openurl unregister com.example.cmd'"
        ),
    ])
    func missingProgramNamesTheKey(hasManifest: Bool, end: String) async throws {
        if hasManifest { try Data().write(to: URL(filePath: "\(desktop.path)/cmd.plist")) }
        let handler = try Handler.test(
            id,
            program: .path("\(desktop.path)/none"),
            entry: "\(desktop.path)/cmd.plist"
        ) {
            $0.command = try HandlerCommand(["\(desktop.path)/none"])
        }
        let bus = try FakeHandlers(["com.example.target": ":1.1"])
        let router = URLRouter([handler], on: bus, environment: desktop.environment)
        let error = await Self.failure(of: router)
        #expect(error?.code == .launchFailed)
        #expect(error?.message.hasSuffix(end) == true, "\(error?.message ?? "")")
    }
}
