import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// Handlers that outlive their router, with real processes: identity and output.
@Suite(.timeLimit(.minutes(10))) struct RouterRestartTests {
    private static let script = "com.example.script"
    private static let guarded = "com.example.guarded"

    /// A handler in Python that opens a URL of another handler for each of its URLs, and answers with the source that the
    /// other handler saw.
    private static func forwarding() throws -> String { try pythonProgram("forwarding_handler") }

    /// Starts a router with the handler in Python, and with a handler that takes URLs from that handler only.
    private func router() async throws -> RouterProcess {
        try await RouterProcess { directory in
            let program = directory.appending(path: "script.py")
            try Data(Self.forwarding().utf8).write(to: program)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
            let keys: [String: Any] = ["CFBundleExecutable": program.path, "OUArguments": [String]()]
            try RouterProcess.write(Self.script, [], in: directory, extra: keys)
            try RouterProcess.write(Self.guarded, [], in: directory, extra: ["OUAllowedSources": [Self.script]])
            // The bus can start the next router.
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let router = RouterProcess.products.appending(path: "openurld").path
            try Data("[D-BUS Service]\nName=org.openurl.Router1\nExec=\(router)\n".utf8)
                .write(to: services.appending(path: "org.openurl.Router1.service"))
        }
    }

    /// Returns whether a process runs. A process that has ended may stay until the process that inherited it asks for it.
    private func isRunning(_ pid: UInt32) throws -> Bool {
        guard FileManager.default.fileExists(atPath: "/proc/\(pid)/stat") else { return false }
        let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return try #require(stat.split(separator: ")").last).split(separator: " ").first != "Z"
    }

    // MARK: Identity

    @Test func scriptKeepsItsIdentityWhenTheRouterRestarts() async throws {
        let router = try await router()
        defer { router.stop() }
        #expect(try await router.open("script:1").reply["source"] == .string(Self.script))
        let pid = try #require(try await router.status(of: Self.script).pid)
        try await router.restart()
        let result = try await router.open("script:2")
        #expect(result.way == .background)
        #expect(result.reply["source"] == .string(Self.script))
        #expect(try await router.status(of: Self.script).pid == pid)
        // The test is not the handler.
        #expect(try await router.failure("guarded:x").code == .notAllowed)
        try await router.lifecycle(LifecycleInterface.terminate, Self.script)
        #expect(try !isRunning(pid))
        let record = router.bus.directory.appending(path: "XDG_RUNTIME_DIR/openurl/processes/\(Self.script)")
        #expect(!FileManager.default.fileExists(atPath: record.path))
    }

    @Test func handlerWhoseURLStartsTheNextRouterIsItsSource() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("script:1")
        try await router.kill()
        // The call of the handler arrives together with the router's name.
        let object = RemoteObject(BusName(Self.script)!, ObjectPath(for: BusName(Self.script)!))
        let input = DeliveredURL("script:2", OpenContext())
        let answer = try await router.connection.call(HandlerInterface.open, on: object, input, timeout: .seconds(60))
        #expect(answer.reply["source"] == .string(Self.script))
    }

    @Test func handlerKeepsItsIdentityWhenItsProgramIsReplaced() async throws {
        let id = "com.example.forwarder"
        let router = try await RouterProcess { directory in
            let program = directory.appending(path: "program")
            try FileManager.default.copyItem(at: RouterProcess.products.appending(path: "testhandler"), to: program)
            let keys: [String: Any] = ["CFBundleExecutable": program.path, "OUKeepOldProgram": true]
            try RouterProcess.write(id, ["forward=guarded:x"], in: directory, extra: keys)
            try RouterProcess.write(Self.guarded, [], in: directory, extra: ["OUAllowedSources": [id]])
        }
        defer { router.stop() }
        #expect(try await router.open("forwarder:1").reply["source-application"] == .string(id))
        let pid = try #require(try await router.status(of: id).pid)
        let program = router.bus.directory.appending(path: "program")
        let built = router.bus.directory.appending(path: "built")
        try FileManager.default.copyItem(at: program, to: built)
        #expect(rename(built.path, program.path) == 0)
        try await router.restart()
        #expect(try await router.open("forwarder:2").reply["source-application"] == .string(id))
        #expect(try await router.status(of: id).pid == pid)
        try await router.lifecycle(LifecycleInterface.terminate, id)
        #expect(try !isRunning(pid))
    }

    // MARK: Output

    @Test func handlerStillWritesItsOutputWhenTheRouterRestarts() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("script:1")
        try await router.waitForLog("opens script:1")
        try await router.restart()
        // The write of a line must not fail: Python would raise BrokenPipeError.
        #expect(try await router.open("script:2").way == .background)
        try await router.waitForLog("opens script:2")
        let file = router.bus.directory.appending(path: "XDG_STATE_HOME/openurl/output/\(Self.script).log")
        #expect(try String(contentsOf: file, encoding: .utf8) == "opens script:1\nopens script:2\n")
    }
}

extension RouterProcess {
    /// Returns when the router's log holds a text.
    func waitForLog(_ text: String) async throws {
        let log = bus.directory.appending(path: "openurld.log")
        let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let loop = connection.loop
        try await loop.run { () throws in
            try PathWatch(on: loop) { continuation.yield() }.paths = [log.path]
        }
        continuation.yield()
        for await _ in changes where try String(contentsOf: log, encoding: .utf8).contains(text) { return }
    }

    /// Kills the router, and returns when its name has no owner.
    func kill() async throws {
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        let watch = try await connection.watchName(RouterService.name) { _, new in continuation.yield(new) }
        #expect(Glibc.kill(currentPID, SIGKILL) == 0)
        for await owner in owners where owner == nil { break }
        try await connection.unwatchName(watch)
    }

    /// Kills the router, and starts the next one.
    func restart() async throws {
        try await kill()
        try await startNext()
    }

    /// Starts a router when none runs.
    func startNext() async throws {
        let next = ChildProcess()
        next.executableURL = Self.products.appending(path: "openurld")
        next.environment = environment
        let log = try FileHandle(forWritingTo: bus.directory.appending(path: "openurld.log"))
        try log.seekToEnd()
        next.standardError = log
        next.standardOutput = FileHandle.nullDevice
        try await Self.waitForOwner(of: RouterService.name, on: connection) { try next.run() }
        try log.close()
        setCurrentPID(next.processIdentifier)
    }
}
