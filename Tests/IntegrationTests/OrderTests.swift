import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// The order of URLs: no URL is lost, no URL overtakes another, and each handler has one process.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    @Test func urlsOfAHundredCallersThatLeaveAreDeliveredInOrderToOneProcess() async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write("com.example.slow", ["gate"], in: directory, extra: ["OULaunchTimeout": 120])
        }
        defer { router.stop() }
        for number in 0..<100 {
            let caller = ChildProcess()
            caller.executableURL = URL(filePath: "/usr/bin/env")
            caller.arguments = [
                "busctl", "--address=\(router.bus.address)", "--expect-reply=no", "call", "org.openurl.Router1",
                "/org/openurl/Router1", "org.openurl.Router1", "OpenURL", "sa{sv}", "slow:\(number)", "0",
            ]
            try caller.run()
            caller.waitUntilExit()
            try #require(caller.terminationStatus == 0)
        }
        let gate = router.openGate(of: "com.example.slow")
        defer { withExtendedLifetime(gate) {} }
        // The answer to this last URL arrives after the handler has handled all earlier URLs.
        _ = try await router.open("slow:100")
        let log = try router.log(of: "com.example.slow")
        #expect(log.filter { $0.hasPrefix("start") }.count == 1)
        #expect(log.filter { $0.hasPrefix("open") } == (0...100).map { "open slow:\($0)" })
    }

    @Test func aThousandSequentialOpensKeepTheirOrderAndLeakNothing() async throws {
        // The log opens its files some time after the first entry.
        let router = try await RouterProcess(["com.example.row": []], wrapper: ["/usr/bin/env", "OPENURL_LOG=off"])
        defer { router.stop() }
        for number in 0..<200 { _ = try await router.open("row:warm\(number)") }
        let before = try Usage(of: router.pid)
        for number in 0..<1000 { #expect(try await router.open("row:\(number)").way == .active) }
        let after = try Usage(of: router.pid)
        let opened = try router.log(of: "com.example.row").filter { $0.hasPrefix("open") }.suffix(1000)
        #expect(Array(opened) == (0..<1000).map { "open row:\($0)" })
        #expect(after.descriptors == before.descriptors)
        #expect(after.residentBytes <= before.residentBytes + (1 << 20))
    }

    @Test func aThousandSimultaneousOpensStartOneProcessAndKeepTheirOrder() async throws {
        let router = try await RouterProcess(["com.example.burst": []])
        defer { router.stop() }
        // Calls without an answer are sent in order. Separate tasks would not keep the order.
        for number in 0..<999 {
            try await router.connection.send(
                RouterInterface.openURL,
                on: RouterService.object,
                SentURL("burst:\(number)")
            )
        }
        _ = try await router.open("burst:999")
        let log = try router.log(of: "com.example.burst")
        #expect(log.filter { $0.hasPrefix("start") }.count == 1)
        let opened = log.filter { $0.hasPrefix("open") }
        #expect(opened == (0..<1000).map { "open burst:\($0)" })
    }

    @Test func queuedURLsOfACallerThatDoesNotWaitKeepTheirOrder() async throws {
        let router = try await RouterProcess(["com.example.later": []])
        defer { router.stop() }
        var queued = OpenOptions()
        queued.isQueued = true
        let changes = try await router.queueChanges()
        // The router does not know a new connection, and has to ask the bus for the sender of the first URLs.
        let caller = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        for number in 0..<499 {
            try await caller.send(
                RouterInterface.openURL,
                on: RouterService.object,
                SentURL("later:\(number)", queued)
            )
        }
        let last = try await caller.call(
            RouterInterface.openURL,
            on: RouterService.object,
            SentURL("later:499", queued)
        )
        try await changes.wait(for: "delivered", of: last.id ?? "")
        let opened = try router.log(of: "com.example.later").filter { $0.hasPrefix("open") }
        #expect(opened == (0..<500).map { "open later:\($0)" })
    }

    @Test func urlsThatArriveDuringTheLaunchGoBehindWaitingOnes() async throws {
        let router = try await RouterProcess(["com.example.ready": ["startDelay=100"]])
        defer { router.stop() }
        var sent = 0
        // The test sends without a pause until the handler has answered a URL, so some URLs arrive while the handler
        // becomes ready. On a busy machine that takes long, and 2,048 URLs of one program may wait for a handler.
        let first = Task { try await router.open("ready:first") }
        while try router.log(of: "com.example.ready").count < 4, sent < 2000 {
            for _ in 0..<50 {
                try await router.connection.send(
                    RouterInterface.openURL,
                    on: RouterService.object,
                    SentURL("ready:\(sent)")
                )
                sent += 1
            }
            _ = try await router.connection.call(RouterInterface.canOpenURL, on: RouterService.object, "ready:x")
        }
        _ = try await first.value
        _ = try await router.open("ready:last")
        let opened = try router.log(of: "com.example.ready").filter { $0.hasPrefix("open ready:") }.dropLast()
            .filter { $0 != "open ready:first" }
        #expect(Array(opened) == (0..<sent).map { "open ready:\($0)" })
    }

    @Test func urlsForAnEndingHandlerGoToANewProcess() async throws {
        let router = try await RouterProcess(["com.example.phoenix": []])
        defer { router.stop() }
        var pids: Set<Int32> = []
        for number in 0..<20 {
            let result = try await router.open("phoenix:\(number)")
            guard case .int32(let pid) = result.reply["pid"] else { continue }
            pids.insert(pid)
            // The next URL may arrive before or after the handler has ended.
            kill(pid, SIGTERM)
        }
        let log = try router.log(of: "com.example.phoenix")
        #expect(log.filter { $0.hasPrefix("open") } == (0..<20).map { "open phoenix:\($0)" })
        #expect(pids.count > 1)
        #expect(log.filter { $0 == "willTerminate" }.count >= pids.count - 1)
    }

    @Test func handlerOfAnotherStarterIsUsed() async throws {
        let router = try await RouterProcess(["com.example.own": []])
        defer { router.stop() }
        let handler = ChildProcess()
        handler.executableURL = RouterProcess.products.appending(path: "testhandler")
        handler.arguments = ["com.example.own", router.bus.directory.appending(path: "com.example.own.log").path]
        handler.environment = router.bus.environment
        handler.standardOutput = FileHandle.nullDevice
        handler.standardError = FileHandle.nullDevice
        try await RouterProcess.waitForOwner(of: "com.example.own", on: router.connection) { try handler.run() }
        let result = try await router.open("own:x")
        #expect(result.reply["pid"] == .int32(handler.processIdentifier))
        #expect(result.way == .active)
        let log = try router.log(of: "com.example.own")
        #expect(log.filter { $0.hasPrefix("start") }.count == 1)
        #expect(log.last == "open own:x")
    }

    @Test func routerAnswersPendingRequestsBeforeItEnds() async throws {
        let router = try await RouterProcess(["com.example.last": ["startDelay=500"]])
        defer { router.stop() }
        let (opened, started) = AsyncStream<BusName?>.makeStream()
        let watch = try await router.connection.watchName(RouterService.name) { _, new in started.yield(new) }
        let (answers, answered) = AsyncStream<Result<OpenResult, any Error>>.makeStream()
        // The handler takes its name after the router has the URL and before the URL has an answer.
        try await RouterProcess.waitForOwner(of: "com.example.last", on: router.connection) {
            Task {
                do {
                    answered.yield(.success(try await router.open("last:x")))
                } catch {
                    answered.yield(.failure(error))
                }
            }
        }
        #expect(await router.terminate() == 0)
        for await answer in answers {
            #expect(try answer.get().way == .launched)
            break
        }
        for await owner in opened where owner == nil { break }
        try await router.connection.unwatchName(watch)
    }
}

/// The resources that a process uses.
struct Usage {
    let descriptors: Int
    let residentBytes: Int

    init(of pid: Int32) throws {
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
        let statm = try String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8).split(separator: " ")
        residentBytes = try #require(Int(statm[1])) * sysconf(Int32(_SC_PAGESIZE))
    }
}
