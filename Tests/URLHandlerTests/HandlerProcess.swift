import CLinux
import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import Synchronization
import TestSupport
import Testing

/// The test handler in a process of its own, and a stand-in for the router that started the handler.
final class HandlerProcess: Sendable {
    static let id: BusName = "com.example.app"

    let bus: PrivateBus
    /// The connection that owns the router's name.
    let router: Connection
    /// The process ID of the handler.
    let pid: pid_t
    /// The unique name of the handler's connection.
    let owner: BusName
    /// The owners of the handler's name, in order. The value is nil when the name has no owner.
    let owners: AsyncStream<BusName?>
    /// The shell that started the handler. The kernel treats the thread that starts a process as the parent, and the
    /// threads of a test come and go.
    private let parent: ChildProcess
    private let output: Pipe
    private let lifeline = Mutex<UnixFD?>(nil)

    /// Starts a bus and the handler on it, and returns when the handler owns its name.
    convenience init(_ behaviour: String...) async throws {
        try await self.init(on: try await PrivateBus(), behaviour)
    }

    init(on bus: PrivateBus, _ behaviour: [String], reach: String = "everyone") async throws {
        self.bus = bus
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        router = connection
        _ = try await connection.requestName(RouterService.name)
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        self.owners = owners
        _ = try await connection.watchName(Self.id) { _, new in continuation.yield(new) }

        parent = ChildProcess()
        parent.executableURL = URL(filePath: "/bin/sh")
        // The outer shell outlives the handler and reports its exit status. The inner shell becomes the handler.
        parent.arguments =
            [
                "-c", #"sh -c 'echo $$; exec "$0" "$@" 2>"$LOG.stderr"' "$0" "$@"; echo $?"#,
                Self.program.path,
                Self.id.rawValue, bus.directory.appending(path: "log").path,
            ] + behaviour
        parent.environment = bus.environment.merging([
            "OPENURL_LAUNCH": "1", "OPENURL_REACH": reach, "LOG": bus.directory.appending(path: "log").path,
        ]) { $1 }
        output = Pipe()
        parent.standardOutput = output
        try parent.run()
        pid = try await Self.number(output)
        var first: BusName?
        for await owner in owners {
            first = owner
            if first != nil { break }
        }
        guard let first else { throw CocoaError(.fileNoSuchFile) }
        owner = first
    }

    /// The path of the test handler, which is in the same directory as the test program.
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "testhandler")

    private static func number(_ output: Pipe) async throws -> Int32 {
        // Reading blocks, so it must not use a thread of the concurrency pool.
        let text = await withCheckedContinuation { line in
            Thread.detachNewThread {
                var text = ""
                while !text.hasSuffix("\n"), case let data = output.fileHandleForReading.readData(ofLength: 1),
                    !data.isEmpty
                {
                    text += String(decoding: data, as: UTF8.self)
                }
                line.resume(returning: text)
            }
        }
        guard let number = Int32(text.dropLast()) else { throw CocoaError(.fileReadUnknown) }
        return number
    }

    /// Returns the next owner of the handler's name.
    func nextOwner() async -> BusName? {
        for await owner in owners { return owner }
        return nil
    }

    /// Waits for the handler's end and returns its exit status.
    func status() async throws -> Int32 { try await Self.number(output) }

    /// Returns the handler's events so far.
    func log() throws -> [String] { try lines("log") }

    /// Returns the lines that the handler has written to standard error.
    func complaints() throws -> [String] { try lines("log.stderr") }

    private func lines(_ name: String) throws -> [String] {
        try String(contentsOf: bus.directory.appending(path: name), encoding: .utf8).split(separator: "\n")
            .map(String.init)
    }

    /// The handler, addressed by its name.
    var byName: RemoteObject {
        RemoteObject(Self.id, HandlerInterface.object(of: Self.id), startsService: false)
    }

    /// The handler, addressed by its unique name as the router does.
    var byConnection: RemoteObject { RemoteObject(owner, HandlerInterface.object(of: Self.id)) }

    func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input
    ) async throws(CallError) -> Output {
        try await router.call(method, on: byConnection, input)
    }

    func open(_ url: String, _ context: OpenContext = OpenContext()) async throws(CallError) -> OpenAnswer {
        try await call(HandlerInterface.open, DeliveredURL(url, context))
    }

    /// Asks the handler whether the router may stop the process.
    func suspend() async throws(CallError) -> Bool { try await call(HandlerInterface.suspend, makeLifeline()) }

    /// Makes a pipe and keeps the router's end of it.
    func makeLifeline() -> UnixFD {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        #expect(signal_process(pid, SIGCONT, ends[0]) == 0)
        // The handler's process must not inherit the router's end: it is not started by way of this pipe.
        let routerEnd = UnixFD(owning: ends[1])
        lifeline.withLock { $0 = routerEnd }
        return UnixFD(owning: ends[0])
    }

    /// Closes the router's end of the last pipe, as the kernel does when the router dies.
    func cutLifeline() {
        lifeline.withLock { $0 = nil }
    }

    func enterBackground() async throws(CallError) { _ = try await call(HandlerInterface.enterBackground, Empty()) }

    /// Ends the bus, which also ends the handler.
    func stop() {
        kill(pid, SIGCONT)
        bus.stop()
    }
}
