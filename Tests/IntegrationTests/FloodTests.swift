import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// One program that asks for as much as it can, and another program that wants its turn.
@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    /// Opens a URL from a program of its own, and returns its exit status and what it wrote.
    private func busctl(_ url: String, _ router: RouterProcess) throws -> (status: Int32, output: String) {
        let caller = ChildProcess()
        caller.executableURL = URL(filePath: "/usr/bin/busctl")
        caller.arguments = [
            "--address=\(router.bus.address)", "--timeout=60", "call", "org.openurl.Router1", "/org/openurl/Router1",
            "org.openurl.Router1", "OpenURL", "sa{sv}", url, "0",
        ]
        let output = Pipe()
        caller.standardOutput = output
        caller.standardError = output
        try caller.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        caller.waitUntilExit()
        return (caller.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }

    @Test(.timeLimit(.minutes(10))) func threeConnectionsOfOneProgramKeepNoOtherProgramOut() async throws {
        let router = try await RouterProcess(["com.example.stuck": ["stall=open"], "com.example.quick": []])
        defer { router.stop() }
        var options = OpenOptions()
        options.annotation = .string(String(repeating: "x", count: 800_000))
        // The flood stays in flight, however long the rest takes.
        options.timeout = .seconds(600)
        var flooders: [Connection] = []
        for _ in 0..<3 {
            flooders.append(try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop()))
        }
        // Each of the connections could hold half of all arguments before.
        for number in 0..<60 {
            for flooder in flooders {
                try await flooder.send(
                    RouterInterface.openURL,
                    on: RouterService.object,
                    SentURL("stuck:\(number)", options)
                )
                await flooder.waitForRoom()
            }
        }
        // The answer of the bus comes after everything that it has taken.
        for flooder in flooders { _ = try await flooder.names() }
        let first = try busctl("quick:1", router)
        #expect(first.status == 0, "\(first.output)")
        // The flood itself gets no more.
        let refusal = await #expect(throws: CallError.self) {
            try await flooders[0].call(
                RouterInterface.openURL,
                on: RouterService.object,
                SentURL("stuck:more", options),
                timeout: .seconds(60)
            )
        }
        if case .remote(let error) = refusal {
            #expect(error.name.rawValue.hasSuffix("LimitsExceeded"), "\(error)")
        } else {
            Issue.record("\(String(describing: refusal))")
        }
        // The connections leave, and what they have asked for is still to be done.
        for flooder in flooders { await flooder.close() }
        let second = try busctl("quick:2", router)
        #expect(second.status == 0, "\(second.output)")
        let log = try router.log(of: "com.example.quick")
        #expect(log.filter { $0.hasPrefix("open") } == ["open quick:1", "open quick:2"])
    }

    @Test(.timeLimit(.minutes(10))) func descriptorsOfRequestsAreLimitedAndGivenBack() async throws {
        let router = try await RouterProcess(["com.example.stuck": ["stall=open"], "com.example.quick": []])
        defer { router.stop() }
        _ = try await router.open("quick:0")
        let before = try Usage(of: router.pid).descriptors
        let method = Method<Arguments<String, [String: Value]>, Empty>(RouterInterface.name, "OpenURL")
        let descriptor = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        for _ in 0..<4 {
            let flooder = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
            let held = Value.array(Array(repeating: .unixFD(descriptor), count: 14), of: "h")
            for number in 0..<10 {
                try await flooder.send(
                    method,
                    on: RouterService.object,
                    Arguments("stuck:\(number)", ["annotation": held])
                )
            }
            _ = try await flooder.names()
            await flooder.close()
        }
        // Descriptors that a handler is to get wait with their request. One program gets at most half of the 256 that
        // requests may hold. The handler of the flood has a process and a few descriptors of the router.
        let most = before + 128 + 16
        var after = Int.max
        for number in 0..<50 where after > most {
            let opened = try busctl("quick:\(number)", router)
            #expect(opened.status == 0, "\(opened.output)")
            after = try Usage(of: router.pid).descriptors
        }
        #expect(after <= most)
        // The requests end with the handler, and everything is given back. The process may take a while to start.
        try await eventually(router.log(of: "com.example.stuck")) { $0.contains { $0.hasPrefix("start ") } }
        let start = try router.log(of: "com.example.stuck").first { $0.hasPrefix("start ") }
        kill(try #require(start.flatMap { pid_t($0.dropFirst(6)) }), SIGKILL)
        for number in 50..<100 where after > before + 16 {
            let opened = try busctl("quick:\(number)", router)
            #expect(opened.status == 0, "\(opened.output)")
            after = try Usage(of: router.pid).descriptors
        }
        #expect(after <= before + 16)
    }
}
