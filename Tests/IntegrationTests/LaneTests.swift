import DBus
import Foundation
import Glibc
import OpenURL
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The router's own socket, with real programs at both ends.
@Suite(.timeLimit(.minutes(10))) struct LaneTests {
    private static let app = "com.example.app"

    // MARK: The way of a call

    @Test func commandAndClientAndHandlerUseTheLane() async throws {
        let router = try await RouterProcess([Self.app: [], "com.example.sender": ["forward=app:forwarded"]])
        defer { router.stop() }
        _ = try await router.lane()
        _ = try await router.open("app:first")
        let watch = try await BusWatch(router)
        let command = try await router.openurl("--json", "app:command")
        #expect(command.output.contains(#""source-name":":lane."#), "\(command)")
        let forwarded = try await router.open("sender:x").reply["source-name"]?.string
        #expect(try #require(forwarded).hasPrefix(":lane."))
        // A caller on the bus has its name there, and the handler gets its URL over the lane all the same.
        let name = try await router.open("app:bus").reply["source-name"]?.string
        #expect(name == router.connection.uniqueName?.rawValue)
        #expect(try await watch.deliveries(router, ofHandler: Self.app) == [])
        #expect(try router.opened(by: Self.app) == ["app:first", "app:command", "app:forwarded", "app:bus"])
    }

    /// A command that sees no socket uses the bus. Every outcome is the same.
    @Test func outcomesOnTheLaneAreThoseOnTheBus() async throws {
        let handlers = [
            Self.app: [], "com.example.no": ["decline=not today"], "com.example.veto": ["will=no"],
            "com.example.thrower": ["throw=odd"], "com.example.fragile": ["crash=bad"],
            "com.example.leaver": ["exit=3"], "com.example.stall": ["stall=open"],
            "com.example.reporter": ["report=3"], "com.example.file": ["pipe=text"],
        ]
        let router = try await RouterProcess(handlers)
        defer { router.stop() }
        let urls = [
            "app:x", "no:x", "veto:x", "thrower:x", "fragile://bad", "leaver:x", "reporter:x", "file:x", "unclaimed:x",
            "app:a b",
        ]
        for arguments in urls.map({ [$0] }) + [["--timeout", "1s", "stall:x"], ["app:1", "no:2", "app:3"]] {
            let onBus = try await router.run(["env", "-u", "XDG_RUNTIME_DIR", RouterProcess.command.path] + arguments)
            try await router.endAll(handlers.keys)
            let onLane = try await router.openurl(arguments)
            try await router.endAll(handlers.keys)
            #expect(onLane.status == onBus.status, "\(arguments): \(onLane), \(onBus)")
            #expect(Self.withoutNumbers(onLane.output) == Self.withoutNumbers(onBus.output), "\(arguments)")
            #expect(Self.withoutNumbers(onLane.errors) == Self.withoutNumbers(onBus.errors), "\(arguments)")
        }
    }

    /// The text without the numbers of processes and the times in it.
    private static func withoutNumbers(_ text: String) -> String { text.replacing(/[0-9]+/, with: "N") }

    @Test func descriptorsOfAReplyCome() async throws {
        let router = try await RouterProcess([
            Self.app: [], "com.example.piper": ["pipe=from the handler"], "com.example.sender": ["forward=piper:x"],
        ])
        defer { router.stop() }
        let reply = try await router.open("sender:x").reply
        guard case .unixFD(let file)? = reply["pipe"] else {
            Issue.record("no descriptor came back: \(reply)")
            return
        }
        let text = FileHandle(fileDescriptor: file.rawValue).availableData
        #expect(String(decoding: text, as: UTF8.self) == "from the handler")
    }

    // MARK: Ends

    @Test func handlerThatEndsInOrderLosesNoURL() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        _ = try await router.open("app:0")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 1...4 {
                group.addTask {
                    for number in 1...25 { _ = try await router.open("app:\(part)/\(number)") }
                }
            }
            // A handler that is ended while it starts fails to launch, so it runs first.
            for number in 1...8 {
                _ = try await router.open("app:0/\(number)")
                try await router.lifecycle(LifecycleInterface.terminate, Self.app)
            }
            try await group.waitForAll()
        }
        let opened = try router.opened(by: Self.app)
        #expect(Set(opened).count == 109 && opened.count == 109)
        for part in 1...4 {
            let own = opened.filter { $0.hasPrefix("app:\(part)/") }
            #expect(own == (1...25).map { "app:\(part)/\($0)" })
        }
    }

    @Test func suspendedHandlerWakesAndGetsItsURL() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        _ = try await router.open("app:1")
        let watch = try await BusWatch(router)
        for number in 2...4 {
            try await router.lifecycle(LifecycleInterface.suspend, Self.app)
            #expect(try await router.openurl("app:\(number)").status == 0)
        }
        #expect(try router.opened(by: Self.app) == (1...4).map { "app:\($0)" })
        #expect(try await watch.deliveries(router, ofHandler: Self.app) == [])
    }

    @Test func killedRouterLeavesAnUnknownOutcomeAndTheNextOneHasTheHandlersOnItsLane() async throws {
        let handlers = [Self.app: [], "com.example.stall": ["stall=open"]]
        let router = try await RouterProcess(handlers, prepare: Self.writeService)
        defer { router.stop() }
        _ = try await router.open("app:1")
        let pid = try await router.status(of: Self.app).pid
        let command = try router.start(RouterProcess.command.path, "stall:held")
        try await eventually(router.opened(by: "com.example.stall")) { $0 == ["stall:held"] }
        try await router.kill()
        // The outcome is that of a router on the bus that has ended.
        #expect(await command.status() == 69)
        // The call starts the next router, and the same process of the handler gets the URL.
        #expect(try await router.openurl("app:2").status == 0)
        #expect(try await router.status(of: Self.app).pid == pid)
        let lane = try await router.lane()
        try await router.waitForSocket(lane, inState: " 00000000 0001 03 ")
        // The offer follows the connection, and the router uses an offer when the next URL has its answer.
        for number in 3...5 { #expect(try await router.openurl("app:\(number)").status == 0) }
        let watch = try await BusWatch(router)
        for number in 6...20 { #expect(try await router.openurl("app:\(number)").status == 0) }
        #expect(try await watch.deliveries(router, ofHandler: Self.app) == [])
        #expect(try router.opened(by: Self.app) == (1...20).map { "app:\($0)" })
    }

    @Test func endingRouterAnswersAndLaterCallsReachTheNextOne() async throws {
        let router = try await RouterProcess([Self.app: ["deaf"]], prepare: Self.writeService)
        defer { router.stop() }
        let commands = try (1...3).map { try router.start(RouterProcess.command.path, "app:\($0)") }
        try await eventually(router.opened(by: Self.app)) { !$0.isEmpty }
        #expect(Glibc.kill(router.pid, SIGTERM) == 0)
        let later = try await router.openurl("app:later")
        #expect(later.status == 0, "\(later)")
        for command in commands {
            let status = await command.status()
            #expect(status == 0)
        }
        // The router that ends may have taken the call over the bus.
        #expect(try await router.openurl("app:next").status == 0)
        #expect(try router.opened(by: Self.app).sorted() == ["app:1", "app:2", "app:3", "app:later", "app:next"])
        #expect(try await router.connection.credentials(of: RouterService.name).pid != UInt32(router.pid))
    }

    // MARK: The place of the socket

    @Test func busesWithOneDirectoryDoNotMeet() async throws {
        let first = try await RouterProcess([Self.app: []])
        defer { first.stop() }
        let directory = "XDG_RUNTIME_DIR=\(first.bus.directory.path)/XDG_RUNTIME_DIR"
        let second = try await RouterProcess(["com.example.other": []], wrapper: ["/usr/bin/env", directory])
        defer { second.stop() }
        try await eventually(first.lanes()) { $0.count == 2 }
        for (router, own, foreign) in [(first, "app:x", "other:x"), (second, "other:x", "app:x")] {
            let run = try await router.run(["env", directory, RouterProcess.command.path, "--json", own])
            #expect(run.status == 0 && run.output.contains(#""source-name":":lane."#), "\(run)")
            let other = try await router.run(["env", directory, RouterProcess.command.path, foreign])
            #expect(other.status == 3, "\(other)")
        }
    }

    enum Place: CaseIterable {
        case noDirectory, noWriting, file, openDirectory
    }

    @Test(arguments: Place.allCases) func busIsUsedWithoutAPlaceForTheSocket(_ place: Place) async throws {
        let router = try await RouterProcess(
            [Self.app: []],
            wrapper: place == .noDirectory
                ? ["/usr/bin/env", "-u", "XDG_RUNTIME_DIR"]
                : place == .noWriting ? ["/usr/bin/env", "XDG_RUNTIME_DIR=/proc"] : []
        )
        defer { router.stop() }
        let directory = router.bus.directory.appending(path: "XDG_RUNTIME_DIR/openurl")
        switch place {
        case .noDirectory, .noWriting: break
        case .file:
            let lane = try await router.lane()
            try await router.kill()
            #expect(unlink(lane.path) == 0)
            try Data("mine".utf8).write(to: lane)
            try await router.startNext()
            #expect(try Data(contentsOf: lane) == Data("mine".utf8))
        case .openDirectory:
            _ = try await router.lane()
            try await router.kill()
            #expect(chmod(directory.path, 0o777) == 0)
            try await router.startNext()
        }
        let run = try await router.openurl("--json", "app:x")
        #expect(run.status == 0 && run.output.contains(#""source-name":":1."#), "\(place): \(run)")
        #expect(try router.opened(by: Self.app) == ["app:x"])
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        let lines = log.split(separator: "\n").filter { $0.contains("programs can reach the router only over the bus") }
        #expect(lines.count == (place == .noDirectory ? 0 : 1), "\(log)")
    }

    @Test func staleSocketIsReplaced() async throws {
        let router = try await RouterProcess([Self.app: []], prepare: Self.writeService)
        defer { router.stop() }
        let lane = try await router.lane()
        try await router.kill()
        #expect(try router.lanes() == [lane])
        // The command does not take the refusal of the old socket for the end.
        #expect(try await router.openurl("app:1").status == 0)
        try await router.waitForSocket(lane, inState: " 00010000 0001 01 ")
        let run = try await router.openurl("--json", "app:2")
        #expect(run.output.contains(#""source-name":":lane."#), "\(run)")
        var status = stat()
        #expect(stat(lane.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    /// A program in the place of the router whose waiting line is full: the kernel would let the connection wait without end.
    @Test func commandLeavesASocketWithoutRoom() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await Self.running("full_socket", on: router) { line in
            #expect(line.starts(with: "full"))
            let run = try await router.run("timeout", "--signal=KILL", "60", RouterProcess.command.path, "app:x")
            #expect(run.status == 0, "\(run)")
            #expect(try router.opened(by: Self.app) == ["app:x"])
        }
    }

    /// Runs a program that does something to the router's socket, until the end of the body.
    ///
    /// - Parameter body: gets the program's first output.
    private static func running(
        _ program: String,
        on router: RouterProcess,
        _ body: (_ output: String) async throws -> Void
    ) async throws {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", try pythonProgram(program), try await router.lane().path]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try await body(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// One program gets half of the places on the lane.
    @Test func programThatHoldsItsShareLeavesTheLaneToOthers() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await Self.running("hold_connections", on: router) { line in
            let count = Int(line.dropLast()) ?? 0
            #expect((120...128).contains(count), "\(count)")
            let run = try await router.openurl("--json", "app:x")
            #expect(run.output.contains(#""source-name":":lane."#), "\(run)")
        }
    }

    /// The bus can start the next router.
    private static func writeService(_ directory: URL) throws {
        let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
        try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
        try Data("[D-BUS Service]\nName=org.openurl.Router1\nExec=\(RouterProcess.products.path)/openurld\n".utf8)
            .write(to: services.appending(path: "org.openurl.Router1.service"))
    }
}

/// The calls of handlers that pass the bus, as `dbus-monitor` shows them.
private struct BusWatch {
    private let file: URL

    init(_ router: RouterProcess) async throws {
        file = router.bus.directory.appending(path: "monitor-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "300", "dbus-monitor", "--session", "interface='org.openurl.Handler1'"]
        process.environment = router.bus.environment
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The monitor gets the question of the next marker only when it listens.
        try await eventually(Data(contentsOf: file)) { !$0.isEmpty }
    }

    /// Returns the calls of `Open` that the handler has got over the bus since the beginning.
    func deliveries(_ router: RouterProcess, ofHandler id: String) async throws -> [String] {
        let path = ObjectPath(for: try #require(BusName(id)))
        let marker = Method<Empty, Empty>("org.openurl.Handler1", "Marker")
        await #expect(throws: CallError.self) {
            try await router.connection.call(marker, on: RemoteObject(BusName(id), path), Empty())
        }
        try await eventually(String(contentsOf: file, encoding: .utf8)) { $0.contains("member=Marker") }
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { $0.contains("member=Open") }
    }
}

extension RouterProcess {
    /// The URLs that a handler has opened, in order.
    fileprivate func opened(by id: String) throws -> [String] {
        try log(of: id).filter { $0.hasPrefix("open ") }.map { String($0.dropFirst("open ".count)) }
    }

    /// The sockets in the router's directory.
    fileprivate func lanes() throws -> [URL] {
        let directory = bus.directory.appending(path: "XDG_RUNTIME_DIR/openurl")
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasPrefix("lane-") }
            .map { directory.appending(path: $0) }
    }

    /// The router's socket, when the socket is there. The router makes it when it has its name.
    fileprivate func lane() async throws -> URL {
        let directory = bus.directory.appending(path: "XDG_RUNTIME_DIR/openurl").path
        let lanes = try await eventually(FileManager.default.fileExists(atPath: directory) ? lanes() : []) {
            !$0.isEmpty
        }
        return lanes[0]
    }

    /// Waits until the kernel lists a socket as one that listens, or as one that has been accepted.
    fileprivate func waitForSocket(_ lane: URL, inState state: String) async throws {
        func sockets() throws -> [Substring] {
            // A file of the kernel has no size, and comes in pieces.
            let list = try #require(FileHandle(forReadingAtPath: "/proc/net/unix")).readDataToEndOfFile()
            return String(decoding: list, as: UTF8.self).split(separator: "\n").filter {
                $0.hasSuffix(" \(lane.path)")
            }
        }
        try await eventually(sockets()) { $0.contains { $0.contains(state) } }
    }

    /// Ends all processes of handlers, and lets the router start those again that have ended too often.
    fileprivate func endAll(_ ids: some Sequence<String>) async throws {
        for id in ids {
            if let pid = try await status(of: id).pid { Glibc.kill(CInt(pid), SIGKILL) }
            try await eventually(await status(of: id)) { $0.state == .known(.notRunning) }
            try await lifecycle(LifecycleInterface.reset, id)
        }
    }

    fileprivate func start(_ arguments: String...) throws -> RunningCommand {
        let process = ChildProcess()
        process.executableURL = URL(filePath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        process.environment = bus.environment
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let command = RunningCommand(process)
        try process.run()
        return command
    }
}

/// A command that runs.
private final class RunningCommand: Sendable {
    private let process: ChildProcess
    private let ends: AsyncStream<Int32>

    init(_ process: ChildProcess) {
        self.process = process
        let (ends, end) = AsyncStream.makeStream(of: Int32.self)
        self.ends = ends
        process.terminationHandler = {
            end.yield($0.terminationStatus)
            end.finish()
        }
    }

    func status() async -> Int32? {
        for await status in ends { return status }
        return nil
    }
}
