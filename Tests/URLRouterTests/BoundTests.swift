import OpenURLBus
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The limits of texts and values that other programs make the router hold.
@Suite(.timeLimit(.minutes(10))) struct BoundTests {
    private static let id: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"

    private func identifier() throws -> BundleIdentifier { try BundleIdentifier("com.example.app") }

    private func running(_ change: (inout RouterLimits) -> Void = { _ in }) async throws -> (URLRouter, FakeHandlers) {
        let bus = try FakeHandlers([Self.id: Self.owner])
        var limits = RouterLimits()
        // The time of a busy machine.
        limits.reliefPeriod = .seconds(600)
        change(&limits)
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        await router.adoptRunning()
        return (router, bus)
    }

    /// The code of the error; nil after a success.
    private func code(_ body: () async throws(OpenURLError) -> Void) async -> OpenURLError.Code? {
        do throws(OpenURLError) {
            try await body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func nameOfABackgroundTaskIsLimited() async throws {
        let (router, _) = try await running()
        func begin(_ count: Int) async throws(OpenURLError) {
            _ = try await router.beginBackgroundTask(String(repeating: "x", count: count), caller: Self.owner)
        }
        try await begin(256)
        #expect(await code { () throws(OpenURLError) in try await begin(257) } == .limitsExceeded)
    }

    @Test func openBackgroundTasksAreLimited() async throws {
        let (router, _) = try await running { $0.tasksPerHandler = 2 }
        func begin() async throws(OpenURLError) { _ = try await router.beginBackgroundTask("x", caller: Self.owner) }
        for _ in 0..<2 { try await begin() }
        #expect(await code { () throws(OpenURLError) in try await begin() } == .limitsExceeded)
    }

    @Test func notificationsAreLimited() async throws {
        let (router, _) = try await running()
        let id = try identifier()
        func notify(_ kind: Int, _ value: Value) async -> OpenURLError.Code? {
            let kind = String(repeating: "k", count: kind)
            return await code { () throws(OpenURLError) in try await router.notify(id, kind, value) }
        }
        #expect(await notify(128, "v") == nil)
        #expect(await notify(129, "v") == .limitsExceeded)
        #expect(await notify(1, .string(String(repeating: "v", count: 60_000))) == nil)
        #expect(await notify(1, .string(String(repeating: "v", count: 65_536))) == .limitsExceeded)
    }

    @Test func errorOfAHandlerIsCut() async throws {
        let (router, bus) = try await running()
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x", .failure(.named("com.example.Error", String(repeating: "ä", count: 100_000))))
        do {
            _ = try await request.value
            Issue.record("opened")
        } catch {
            let words = String(repeating: "ä", count: 2046) + "…"
            #expect((error as? OpenURLError)?.message == "com.example.app declined the URL: \(words)")
        }
    }

    @Test func textIsCutAtAWholeScalar() {
        #expect("abc".prefix(bytes: 3) == "abc")
        #expect("abc".prefix(bytes: 2) == "ab")
        #expect("aä".prefix(bytes: 2) == "a")
        #expect("🙂".prefix(bytes: 3) == "")
        // The combining mark alone is more than the limit.
        #expect("e\u{301}x".prefix(bytes: 2).utf8.count <= 2)
    }

    @Test func memoryIsRelievedOnceInAWhile() async throws {
        let (router, bus) = try await running()
        await router.relieveMemory()
        await bus.wait(for: .warnedOfMemory(Self.id))
        for _ in 0..<10 { await router.relieveMemory() }
        await router.loop.run {}
        #expect(bus.count(of: .warnedOfMemory(Self.id)) == 0)
    }

    @Test func queriesOfAProgramAreLimited() async throws {
        let bus = try FakeHandlers([:])
        var limits = RouterLimits()
        limits.queries = 4
        let router = URLRouter([], on: bus, limits: limits)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let opening = Task { for await _ in gate {} }
        var started = starts.makeAsyncIterator()
        var queries: [Task<Void, any Error>] = []
        for _ in 0..<2 {
            queries.append(
                Task {
                    try await router.querying(":1.91") {
                        start.yield()
                        await opening.value
                    }
                }
            )
            await started.next()
        }
        await #expect(throws: OpenURLError.self) { try await router.querying(":1.91") {} }
        open.finish()
        for query in queries { try await query.value }
        try await router.querying(":1.91") {}
    }
}
