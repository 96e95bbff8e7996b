import Logging
import OpenURLBus
import Reactor
import Testing

@testable import DBus
@testable import URLRouter

/// The requests from other hosts, in the queue's file.
@Suite(.timeLimit(.minutes(10))) struct ReceivedRequestsTests {
    private let directory = TemporaryState()
    private let log = RecordedLog()
    private let week = Int64(HostsInterface.memory / .milliseconds(1))

    private func store(_ change: (inout DeliveryStoreLimits) -> Void = { _ in }) -> DeliveryStore {
        var limits = DeliveryStoreLimits()
        change(&limits)
        return DeliveryStore(path: directory.queue, limits: limits, on: directory.loop, log: log.logger)
    }

    private func key(_ name: String, of host: String = "desktop", digest: Int64 = 1) -> RequestKey {
        RequestKey(origin: "the host \(host)", name: name, digest: digest)
    }

    private func delivery(_ url: String, from host: String = "desktop", lifetime: Duration? = nil) throws -> Delivery {
        var options = OpenOptions()
        options.isQueued = true
        options.lifetime = lifetime
        var context = OpenContext()
        let name = try #require(HostName(rawValue: host))
        context.source = OpenContext.Source(otherHost: name)
        return Delivery(url: url, handler: "com.example.app", options: options, context: context)
    }

    private func accept(
        _ name: String,
        at now: Int64 = 0,
        of host: String = "desktop",
        digest: Int64 = 1,
        in store: DeliveryStore
    ) async throws -> DeliveryStore.Accepted {
        try await store.accept(
            try delivery("app:\(name)", from: host),
            at: now,
            due: nil,
            keepingSoonest: nil,
            of: key(name, of: host, digest: digest)
        )
    }

    private var result: OpenResult {
        OpenResult(handler: "com.example.app", way: .active, reply: ["k": .string("v")], trace: [])
    }

    @Test func requestIsStoredOnceByAllRouters() async throws {
        let first = store()
        let accepted = try await accept("1", in: first)
        #expect(!accepted.isRepeated)
        let repeated = try await accept("1", in: first)
        #expect(repeated.isRepeated && repeated.id == accepted.id)
        // The next router reads the same file.
        let next = store()
        #expect(try await accept("1", in: next).isRepeated)
        #expect(try await next.waiting()?.map(\.id) == [accepted.id])
        // Another host has names of its own.
        #expect(try await !accept("1", of: "laptop", in: next).isRepeated)
    }

    @Test func requestsOfOneWriteAreStoredOnce() async throws {
        let store = store()
        let accepted = try await withThrowingTaskGroup(of: DeliveryStore.Accepted.self) { group in
            for _ in 0..<20 { group.addTask { try await accept("1", in: store) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(accepted.map(\.id)).count == 1)
        #expect(accepted.filter { !$0.isRepeated }.count == 1)
        #expect(try await store.waiting()?.count == 1)
    }

    @Test func outcomeIsRepeatedForSevenDays() async throws {
        let store = store()
        let accepted = try await accept("1", at: 5, in: store)
        #expect(try await store.received(key("1"))?.outcome == nil)
        #expect(try await store.received(key("1"))?.id == accepted.id)
        try await store.succeed(accepted.id, result, at: 10)
        guard case .success(let kept) = try await self.store().received(key("1"))?.outcome else {
            Issue.record("there is no outcome")
            return
        }
        #expect(kept == result)
        #expect(try await accept("1", at: 5 + week, in: store).isRepeated)
        #expect(try await !accept("1", at: 6 + week, in: store).isRepeated)
    }

    /// The host that sent it has the dead letter.
    @Test func failedRequestLeavesTheQueueAndKeepsItsError() async throws {
        let store = store()
        let accepted = try await accept("1", in: store)
        let error = OpenURLError(.declined, "no, thanks")
        #expect(try await store.fail(accepted.id, error, due: nil) == .gone)
        #expect(try await store.list(after: .min, limit: 10).isEmpty)
        guard case .failure(let kept) = try await store.received(key("1"))?.outcome else {
            Issue.record("there is no outcome")
            return
        }
        #expect(kept.code == .declined && kept.message == "no, thanks")
        #expect(try await accept("1", in: store).isRepeated)
    }

    @Test func attemptThatIsRepeatedLeavesNoOutcome() async throws {
        let store = store()
        let accepted = try await accept("1", in: store)
        #expect(try await store.fail(accepted.id, OpenURLError(.launchFailed, "x"), due: 7) == .waiting(due: 7))
        #expect(try await store.received(key("1"))?.outcome == nil)
    }

    @Test func droppedRequestHasAnOutcome() async throws {
        let store = store()
        let accepted = try await accept("1", in: store)
        #expect(try await store.drop(accepted.id))
        guard case .failure(let error) = try await store.received(key("1"))?.outcome else {
            Issue.record("there is no outcome")
            return
        }
        #expect(error.code == .cancelled)
    }

    @Test func anotherRequestWithTheSameNameIsRefused() async throws {
        let store = store()
        let accepted = try await accept("1", in: store)
        await #expect(throws: DeliveryStoreError.self) { try await accept("1", digest: 2, in: store) }
        #expect(try await store.received(key("1", digest: 2)) == nil)
        #expect(try await store.waiting()?.map(\.id) == [accepted.id])
    }

    @Test func hostGetsHalfOfTheMemoryThatIsLeft() async throws {
        let store = store { $0.received = 4 }
        for name in ["1", "2"] {
            let accepted = try await accept(name, in: store)
            try await store.succeed(accepted.id, result, at: 0)
        }
        await #expect(throws: DeliveryStoreError.self) { try await accept("3", in: store) }
        // What is remembered stays, and other hosts have room.
        #expect(try await accept("1", in: store).isRepeated)
        #expect(try await !accept("3", of: "laptop", in: store).isRepeated)
        // A week later, there is room again.
        #expect(try await !accept("3", at: week + 1, in: store).isRepeated)
    }

    @Test func outcomeWithoutRoomLosesItsReply() async throws {
        let store = store { $0.receivedBytes = 2048 }
        let accepted = try await accept("1", in: store)
        var large = result
        large.reply = ["k": .string(String(repeating: "v", count: 4096))]
        try await store.succeed(accepted.id, large, at: 0)
        guard case .success(let kept) = try await store.received(key("1"))?.outcome else {
            Issue.record("there is no outcome")
            return
        }
        #expect(kept.reply.isEmpty && kept.handler == large.handler)
    }

    @Test func retriedDeadLetterIsAnotherRequest() async throws {
        let store = store()
        var sent = try delivery("app:1", lifetime: .seconds(60))
        sent.expires = 61_000
        let id = try await store.accept(sent, at: 1000, due: nil, keepingSoonest: nil).id
        #expect(try await store.begin(id)?.delivery == sent)
        // It waits, so a retry is the same request.
        _ = try await store.retry(id, at: 2000)
        #expect(try await store.begin(id)?.delivery.round == 0)
        #expect(try await store.fail(id, OpenURLError(.declined, "no"), due: nil) == .dead)
        _ = try await store.retry(id, at: 3000)
        let again = try #require(try await store.begin(id)).delivery
        #expect(again.round == 1)
        #expect(again.expires == 63_000)
        #expect(again.problem == "no")
    }

    /// The other host remembers a request for a limited time.
    @Test func retriedRequestToAHostLivesNoLonger() async throws {
        let store = store()
        var options = try delivery("app:1", lifetime: .seconds(60)).options
        options.host = HostName(rawValue: "laptop")
        let sent = Delivery(url: "app:1", handler: "host:laptop", options: options, context: OpenContext())
        let id = try await store.accept(sent, at: 1000, due: nil, keepingSoonest: nil).id
        let first = try #require(try await store.begin(id)).delivery
        #expect(first.nonce.utf8.count == 16 && first.expires == 61_000)
        _ = try await store.retry(id, at: 2000)
        #expect(try await store.begin(id)?.delivery == first)
        #expect(try await store.fail(id, OpenURLError(.declined, "no"), due: nil) == .dead)
        _ = try await store.retry(id, at: 3000)
        #expect(try await store.begin(id)?.delivery.expires == 63_000)
        let other = try await store.accept(sent, at: 1000, due: nil, keepingSoonest: nil).id
        #expect(try #require(try await store.begin(other)).delivery.nonce != first.nonce)
    }

    @Test func expiredDeliveriesAreFound() async throws {
        let store = store()
        let lasting = try await store.accept(try delivery("app:1"), at: 0, due: nil, keepingSoonest: nil).id
        let short = try delivery("app:2", lifetime: .milliseconds(50))
        let id = try await store.accept(short, at: 1000, due: nil, keepingSoonest: nil).id
        #expect(try await store.expired(at: 1049).isEmpty)
        #expect(try await store.expired(at: 1050).map(\.id) == [id])
        #expect(id != lasting)
    }

    @Test func fileHasANameOfItsOwn() async throws {
        let store = store()
        #expect(try await store.identity().isEmpty)
        _ = try await accept("1", in: store)
        let name = try await store.identity()
        #expect(name.utf8.count > 8)
        #expect(try await self.store().identity() == name)
    }
}
