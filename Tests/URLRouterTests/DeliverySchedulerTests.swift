import Dispatch
import Glibc
import Logging
import OpenURLBus
import Reactor
import SQLite
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// URLs that the router accepts now and delivers later.
@Suite(.timeLimit(.minutes(10))) struct DeliverySchedulerTests {
    private let handler: BusName = "com.example.app"
    private let owner: BusName = ":1.1"
    private let directory = TemporaryState()
    private let log = RecordedLog()

    private var queued: OpenOptions {
        var options = OpenOptions()
        options.isQueued = true
        return options
    }

    private func router(
        on bus: FakeHandlers,
        _ handlers: [Handler]? = nil,
        limits: RouterLimits = .init(),
        stored: DeliveryStoreLimits = .init()
    ) throws -> URLRouter {
        let store = DeliveryStore(path: directory.queue, limits: stored, on: directory.loop, log: log.logger)
        let handlers = try handlers ?? [.test("com.example.app")]
        return URLRouter(handlers, on: bus, limits: limits, deliveries: store, log: log.logger)
    }

    @Test func acceptedURLIsDeliveredAndForgotten() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let result = try await router.open("app:1", queued, caller: ":1.9")
        #expect(result.way == .queued)
        #expect(result.handler == "com.example.app")
        let id = try #require(result.id)
        await bus.wait(for: .opened("app:1", at: owner))
        #expect(bus.context(of: "app:1")?.requestID == id)
        // The sender may have left the bus, and another process may own its names.
        #expect(bus.context(of: "app:1")?.source.uniqueName == nil)
        #expect(bus.context(of: "app:1")?.source.uid == getuid())
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.state) == [.delivering])
        await bus.wait(for: .announcedQueued(id, .delivering))
        bus.answer("app:1")
        await bus.wait(for: .announcedQueued(id, .delivered))
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        #expect(await router.hasAnsweredAll)
    }

    /// A handler recognises repeats, and the router finds what to cancel, by the names of requests.
    @Test func confinedProgramNamesNoRequest() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers([handler: owner], processes: [":1.82": sandboxed.pid])
        let router = try router(on: bus)
        await router.startDeliveries()
        var options = OpenOptions()
        options.requestID = RequestID(rawValue: "job1")
        for (caller, isOwnName): (BusName, Bool) in [(":1.82", false), (ownConnection, true)] {
            for isQueued in [false, true] {
                let url = "app:\(caller)/\(isQueued)"
                options.isQueued = isQueued
                let open = Task { [options] in try await router.open(url, options, caller: caller) }
                await bus.wait(for: .opened(url, at: owner))
                let name = try #require(bus.context(of: url)?.requestID)
                #expect((name == "job1") == isOwnName)
                bus.answer(url)
                #expect(try await open.value.requestID == name)
            }
        }
        await router.stopDeliveries()
    }

    private func number(_ result: OpenResult) throws -> UInt64 {
        try #require(result.id.flatMap { UInt64($0) })
    }

    @Test func waitEndsWithTheOutcome() async throws {
        let bus = try FakeHandlers([handler: owner, ownConnection: ownConnection])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try number(try await router.open("app:1", queued, caller: ownConnection))
        let wait = Task { try await router.outcome(ofQueued: id, caller: ownConnection) }
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        let result = try await wait.value
        #expect(result.reply == ["k": "v"])
        #expect(result.id == "\(id)")
        #expect(result.requestID == "\(id)")
        // The reply is kept.
        #expect(try await router.outcome(ofQueued: id, caller: ownConnection) == result)
        // Nobody else's program learns of it.
        await #expect(throws: RemoteError.noSuchDelivery("\(id)")) {
            try await router.outcome(ofQueued: id, caller: ":1.9")
        }
        await #expect(throws: RemoteError.noSuchDelivery("1")) {
            try await router.outcome(ofQueued: 1, caller: ownConnection)
        }
        await #expect(throws: RemoteError.noSuchDelivery("seven")) {
            try await router.outcome(ofQueued: "seven", caller: ownConnection)
        }
        await router.stopDeliveries()
    }

    @Test func waitForADeadLetterIsItsError() async throws {
        let bus = try FakeHandlers([handler: owner, ownConnection: ownConnection])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try number(try await router.open("app:1", queued, caller: ownConnection))
        let wait = Task { try await router.outcome(ofQueued: id, caller: ownConnection) }
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .success(OpenAnswer(isHandled: false, reply: [:], trace: [])))
        let declined = OpenURLError(.declined, "com.example.app declined the URL")
        await #expect(throws: declined) { try await wait.value }
        await #expect(throws: declined) { try await router.outcome(ofQueued: id, caller: ownConnection) }
        await router.stopDeliveries()
    }

    @Test func waitEndsWithTheDropAndWithTheRouter() async throws {
        let bus = try FakeHandlers([handler: owner, ownConnection: ownConnection])
        let router = try router(on: bus)
        // Nothing is delivered before the router has its name.
        var waits: [Task<OpenResult, any Error>] = []
        var ids: [UInt64] = []
        for number in 1...3 {
            let result = try await router.open("app:\(number)", queued, caller: ownConnection)
            let id = try self.number(result)
            ids.append(id)
            waits.append(Task { try await router.outcome(ofQueued: id, caller: ownConnection) })
        }
        // Whether a wait has begun or not, a dropped URL has no other outcome.
        try await eventually(await router.waits) { $0 == 3 }
        try await router.dropQueued("\(ids[0])", caller: ownConnection)
        let dropped = OpenURLError(.cancelled, "the URL \(ids[0]) was removed from the queue")
        await #expect(throws: dropped) { try await waits[0].value }
        // The number of a dropped URL is unknown afterwards.
        await #expect(throws: RemoteError.noSuchDelivery("\(ids[0])")) {
            try await router.outcome(ofQueued: ids[0], caller: ownConnection)
        }
        await router.stopDeliveries()
        let ending = OpenURLError(.timedOut, "the router is exiting; the URL stays in the queue")
        await #expect(throws: ending) { try await waits[1].value }
        await #expect(throws: ending) { try await waits[2].value }
    }

    @Test func waitEndsWithItsCaller() async throws {
        let bus = try FakeHandlers([handler: owner, ownConnection: ownConnection])
        let router = try router(on: bus)
        let id = try number(try await router.open("app:1", queued, caller: ownConnection))
        let wait = Task { try await router.outcome(ofQueued: id, caller: ownConnection) }
        try await eventually(await router.waits) { $0 == 1 }
        bus.setOwner(of: ownConnection, to: nil)
        await #expect(throws: OpenURLError(.cancelled, "the caller has left the bus")) { try await wait.value }
        #expect(await router.waits == 0)
        await router.stopDeliveries()
    }

    @Test func waitsOfAProgramAreLimited() async throws {
        let waiters = OutcomeWaiters(limit: 2)
        try await waiters.waiting(for: 1, "program") { waiter in
            let full = await #expect(throws: OutcomeWaiters.Full.self) {
                try await waiters.waiting(for: 2, "program") { _ in }
            }
            let reason = "1 calls of program are already waiting for replies"
            #expect(full?.error == OpenURLError(.limitsExceeded, "\(reason)"))
            waiters.end(1, .success(.taken))
            // The second outcome comes too late.
            waiters.end(1, .failure(OpenURLError(.cancelled, "")))
            let result = try await waiter.value()
            #expect(result == .taken)
        }
        try await waiters.waiting(for: 2, "program") { _ in }
    }

    @Test func attemptThatTheEndOfTheBusCutsShortDoesNotCount() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        _ = try await router.open("app:1", queued, caller: ":1.9")
        await bus.wait(for: .opened("app:1", at: owner))
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.attempts) == [1])
        bus.end()
        bus.answer("app:1", .failure(.disconnected))
        await router.abandonDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.attempts) == [0])
        #expect(log.lines == [])
    }

    /// A handler may take longer than the router has for its end. By then, the store may belong to the next router.
    @Test(arguments: [true, false])
    func attemptThatEndsAfterTheDeliveriesWereGivenUpIsNotRecorded(_ isDelivered: Bool) async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        _ = try await router.open("app:1", queued, caller: ":1.9")
        await bus.wait(for: .opened("app:1", at: owner))
        for _ in 1...2 { await router.abandonDeliveries() }
        bus.answer("app:1", isDelivered ? .success(.yes) : .failure(.fromBus(.noReply)))
        await router.wait { $0.deliveries?.waiting.isIdle == true }
        let entry = try #require(try await router.queuedURLs(caller: ownConnection).first)
        #expect(entry.state == .waiting && entry.attempts == 0 && entry.error == nil, "\(entry)")
    }

    /// The process may exit after the last call.
    @Test func laterCallWaitsUntilAllDeliveriesAreGivenUp() async throws {
        let names = (1...4).map { BusName("com.example.app\($0)")! }
        let owners = (1...4).map { BusName(":1.\($0)")! }
        let bus = try FakeHandlers(Dictionary(uniqueKeysWithValues: zip(names, owners)))
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let handlers = try names.map { try Handler.test($0.rawValue) }
        let router = URLRouter(handlers, on: bus, deliveries: store, log: log.logger)
        await router.startDeliveries()
        for (number, owner) in zip(1..., owners) {
            _ = try await router.open("app\(number):1", queued, caller: ":1.9")
            await bus.wait(for: .opened("app\(number):1", at: owner))
        }
        let first = await router.beginToAbandon()
        await router.abandonDeliveries()
        #expect(try await store.list(after: 0, limit: 4).map(\.attempts) == [0, 0, 0, 0])
        await first.value
        for number in 1...4 { bus.answer("app\(number):1") }
        await router.wait { $0.deliveries?.waiting.isIdle == true }
    }

    /// The next router waits only for the queue.
    @Test func queueIsGivenUpWhileTheSmallFilesAreHeldUp() async throws {
        let bus = try FakeHandlers([handler: owner])
        let files = try EventLoop()
        defer { files.stop() }
        let disk = DispatchSemaphore(value: 0)
        defer { disk.signal() }
        let store = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        let tasks = TaskStore(path: "\(directory.path)/tasks", on: files, log: log.logger)
        let handlers = [try Handler.test("com.example.app")]
        let router = URLRouter(handlers, on: bus, deliveries: store, tasks: tasks, log: log.logger)
        await router.startDeliveries()
        let next = DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
        #expect(try await next.waiting() == nil)
        files.execute { disk.wait() }
        let abandoning = await router.beginToAbandon()
        try await eventually(await next.waiting()) { $0 == [] }
        disk.signal()
        await abandoning.value
    }

    /// A full disk, for example, keeps the success from being stored until the router ends.
    @Test(arguments: [true, false]) func deliveredURLIsNotGivenBack(_ isBusGone: Bool) async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: ":1.9").id)
        await bus.wait(for: .opened("app:1", at: owner))
        let file = try Database(path: directory.queue, .existing)
        try file.execute("CREATE TRIGGER full BEFORE DELETE ON deliveries BEGIN SELECT RAISE(FAIL, 'full'); END")
        bus.answer("app:1")
        await router.wait { _ in log.lines.contains { $0.contains("queued URL \(id)") } }
        try file.execute("DROP TRIGGER full")
        if isBusGone {
            bus.end()
            await router.abandonDeliveries()
        } else {
            await router.stopDeliveries()
        }
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func urlsAreStoredInTheOrderOfTheirArrival() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        bus.hold(":1.8")
        let first = Task { try await router.open("app:1", queued, caller: ":1.8") }
        await bus.wait(for: .askedWhoIs(":1.8"))
        // The router knows this caller before the first.
        let second = Task { try await router.open("app:2", queued, caller: ":1.9") }
        await bus.wait(for: .askedWhoIs(":1.9"))
        let refused = Task {
            var options = queued
            options.handler = "com.example.none"
            return await failure { () throws(OpenURLError) in try await router.open("app:x", options, caller: ":1.9") }
        }
        #expect(await refused.value?.code == .noHandler)
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        bus.release(":1.8")
        _ = try await (first.value, second.value)
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.url) == ["app:1", "app:2"])
        #expect(await router.hasAnsweredAll)
    }

    /// The sender of the first URL may not send to the handler. Its place is free again.
    /// They share an account of the queue, but none of them owns a URL.
    @Test func callersThatCannotBeToldApartSeeNoQueuedURL() async throws {
        let bus = try FakeHandlers([:])
        let router = try router(on: bus, [try .test("com.example.app")])
        let id = try #require(try await router.open("app:1", queued, caller: ":1.9").id)
        #expect(try await router.queuedURLs(caller: ":1.8") == [])
        await #expect(throws: RemoteError.self) { try await router.dropQueued(id, caller: ":1.8") }
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.id) == [id])
    }

    @Test func refusedURLDoesNotHoldUpOthers() async throws {
        let bus = try FakeHandlers([handler: owner])
        let closed = try Handler.test("com.example.closed") { $0.allowedSources = [try SourcePattern("com.other.*")] }
        let router = try router(on: bus, [try .test("com.example.app"), closed])
        bus.hold(":1.8")
        let first = Task {
            await failure { () throws(OpenURLError) in try await router.open("closed:1", queued, caller: ":1.8") }
        }
        await bus.wait(for: .askedWhoIs(":1.8"))
        let second = Task { try await router.open("app:2", queued, caller: ":1.9") }
        await bus.wait(for: .askedWhoIs(":1.9"))
        bus.release(":1.8")
        #expect(await first.value == OpenURLError.noReachableHandler)
        #expect(try await second.value.way == .queued)
    }

    @Test func deliveryWaitsUntilTheRouterOwnsItsName() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        _ = try await router.open("app:1", queued, caller: nil)
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.state) == [.waiting])
        #expect(bus.opened == [])
        await router.startDeliveries()
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
    }

    @Test func nextRouterDeliversURLsOfThePreviousRouter() async throws {
        let bus = try FakeHandlers([handler: owner])
        let first = try router(on: bus)
        var ids: [String] = []
        for url in ["app:1", "app:2", "app:3"] {
            ids += [try await first.open(url, queued, caller: nil).id].compactMap { $0 }
        }
        let next = try router(on: bus)
        await next.startDeliveries()
        for url in ["app:1", "app:2", "app:3"] {
            await bus.wait(for: .opened(url, at: owner))
            bus.answer(url)
        }
        await bus.wait(for: .announcedQueued(try #require(ids.last), .delivered))
        await next.stopDeliveries()
        #expect(try await next.queuedURLs(caller: ownConnection) == [])
    }

    @Test func refusedURLIsADeadLetterUntilItsRetry() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .failure(.named(OpenURLError.Code.declined.errorName, "not today")))
        await bus.wait(for: .announcedQueued(id, .dead))
        #expect(log.lines.contains { $0.hasSuffix("was not delivered: com.example.app declined the URL: not today") })
        let entry = try #require(try await router.queuedURLs(caller: ownConnection).first)
        #expect(entry.state == .dead)
        #expect(entry.error == RemoteError("org.openurl.Error.Declined", "com.example.app declined the URL: not today"))
        try await router.retryQueued(id, caller: ownConnection)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func failedDeliveryIsRetried() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .failure(.fromBus(.noReply)))
        await bus.wait(for: .announcedQueued(id, .waiting))
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func droppedURLIsNotDelivered() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        try await router.dropQueued(id, caller: ownConnection)
        for text in [id, "0", "x", ""] {
            await #expect(throws: RemoteError(.invalidArguments, "there is no URL '\(text)' in the queue")) {
                try await router.dropQueued(text, caller: ownConnection)
            }
            await #expect(throws: RemoteError(.invalidArguments, "there is no URL '\(text)' in the queue")) {
                try await router.retryQueued(text, caller: ownConnection)
            }
        }
        _ = try await router.open("app:2", queued, caller: nil)
        await router.startDeliveries()
        await bus.wait(for: .opened("app:2", at: owner))
        bus.answer("app:2")
        await router.stopDeliveries()
        #expect(bus.opened == [])
    }

    @Test func deliveriesToOneHandlerRunOneAtATimeAndOthersContinue() async throws {
        let bus = try FakeHandlers([handler: owner, "com.example.other": ":1.2"])
        let router = try router(on: bus, [.test("com.example.app"), .test("com.example.other")])
        await router.startDeliveries()
        for url in ["app:1", "app:2", "other:1"] { _ = try await router.open(url, queued, caller: nil) }
        await bus.wait(for: .opened("app:1", at: owner))
        await bus.wait(for: .opened("other:1", at: ":1.2"))
        #expect(bus.opened == [])
        // A URL that crashes the handler affects no other URL.
        bus.answer("app:1", .failure(.fromBus(.noReply)))
        await bus.wait(for: .opened("app:2", at: owner))
        bus.answer("app:2")
        bus.answer("other:1")
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func timedOutDeliveryIsNotRetried() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .failure(.timedOut))
        await bus.wait(for: .announcedQueued(id, .dead))
        await router.stopDeliveries()
    }

    @Test func urlDroppedDuringItsDeliveryStaysDropped() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        await bus.wait(for: .opened("app:1", at: owner))
        try await router.dropQueued(id, caller: ownConnection)
        bus.answer("app:1", .failure(.fromBus(.noReply)))
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
        #expect(bus.count(of: .announcedQueued(id, .waiting)) == 0)
    }

    @Test func endingRouterStartsNoDelivery() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        _ = try await router.open("app:1", queued, caller: nil)
        await router.stopDeliveries()
        await router.startDeliveries()
        await router.stopDeliveries()
        #expect(bus.opened == [])
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.state) == [.waiting])
    }

    /// `stopDeliveries` must not miss the end of the last delivery between its check and its wait. Each round makes the
    /// two meet at another moment.
    @Test func stopReturnsWhenTheLastDeliveryEnds() async throws {
        for round in 0..<200 {
            let bus = try FakeHandlers([handler: owner])
            let router = try router(on: bus)
            await router.startDeliveries()
            _ = try await router.open("app:1", queued, caller: nil)
            await bus.wait(for: .opened("app:1", at: owner))
            bus.answer("app:1")
            for _ in 0..<round % 40 { await bus.loop.run {} }
            await router.stopDeliveries()
            #expect(try await router.queuedURLs(caller: ownConnection) == [])
        }
    }

    @Test func repeatedRetryDeliversOnce() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .failure(.named(OpenURLError.Code.declined.errorName, "no")))
        await bus.wait(for: .announcedQueued(id, .dead))
        async let first: Void = router.retryQueued(id, caller: ownConnection)
        async let second: Void = router.retryQueued(id, caller: ownConnection)
        _ = try await (first, second)
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .failure(.named(OpenURLError.Code.declined.errorName, "no")))
        await bus.wait(for: .announcedQueued(id, .dead))
        await router.stopDeliveries()
        #expect(bus.opened == [])
    }

    // MARK: Refusals

    @Test func immediateErrorsAreReportedAtOnce() async throws {
        let bus = try FakeHandlers([handler: owner])
        var stored = DeliveryStoreLimits()
        stored.deliveries = 2
        let router = try router(on: bus, stored: stored)
        func failure(_ url: String) async -> OpenURLError.Code? {
            do throws(OpenURLError) {
                _ = try await router.open(url, queued, caller: nil)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await failure("nobody:x") == .noHandler)
        #expect(await failure("no url") == .malformedURL)
        #expect(await failure("app:1") == nil)
        #expect(await failure("app:2") == .limitsExceeded)
        await router.startDeliveries()
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
        // After `stopDeliveries` the next router may already have read the queue, so this router accepts no more URLs.
        #expect(await failure("app:3") == .notQueued)
    }

    @Test func queueWithoutAStoreAcceptsNothing() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        await #expect(throws: OpenURLError.self) { try await router.open("app:1", queued, caller: nil) }
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    @Test func fallbackWithAHandlerIsAccepted() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        var options = queued
        options.fallback = ["app:instead"]
        #expect(try await router.open("nobody:x", options, caller: nil).way == .queued)
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.url) == ["app:instead"])
    }

    @Test func fallbackIsChosenBeforeTheURLIsStored() async throws {
        let other: BusName = "com.example.other"
        let bus = try FakeHandlers([handler: owner, other: ":1.2"])
        let router = try router(on: bus, [.test("com.example.app"), .test(other.rawValue)])
        var options = queued
        options.fallback = ["other:instead"]
        let id = try #require(try await router.open("app:x", options, caller: nil).id)
        let rest = Registry(handlers: [try .test(other.rawValue)])
        _ = await router.use(RegistrySnapshot(number: 1, registry: rest))
        await router.startDeliveries()
        await bus.wait(for: .announcedQueued(id, .waiting))
        #expect(bus.opened == [])
        await router.stopDeliveries()
    }

    @Test func urlIsTriedAtOnceWhenItsHandlerIsRegistered() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = try router(on: bus)
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        let registered = await router.registry
        _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: [])))
        await router.startDeliveries()
        await bus.wait(for: .announcedQueued(id, .waiting))
        _ = await router.use(RegistrySnapshot(number: 2, registry: registered))
        // The handler has not answered, so the attempt is still in progress.
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.state) == [.delivering])
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection) == [])
    }

    /// A program that installs its handler may write the manifest many times.
    @Test func changesOfARegistrationDoNotUseUpTheAttempts() async throws {
        let bus = try FakeHandlers([:])
        let router = try router(on: bus)
        await router.startDeliveries()
        let id = try #require(try await router.open("app:1", queued, caller: nil).id)
        await bus.wait(for: .announcedQueued(id, .waiting))
        let begin = ContinuousClock.now
        for number in 1...2 * RetryDelay.attempts {
            let changed = try Handler.test("com.example.app", precedence: number)
            let registry = Registry(handlers: [changed])
            _ = await router.use(RegistrySnapshot(number: number, registry: registry))
            await bus.wait(for: .announcedQueued(id, .waiting))
        }
        // The changes do not start the handler again and again without a pause either.
        #expect(begin.duration(to: .now) > .seconds(5))
        await router.stopDeliveries()
        #expect(try await router.queuedURLs(caller: ownConnection).map(\.state) == [.waiting])
    }
}

extension URLRouter {
    /// Begins to give up the deliveries. When this returns, the first one is on its way to the store.
    fileprivate func beginToAbandon() -> Task<Void, Never> { start { await self.abandonDeliveries() } }
}
