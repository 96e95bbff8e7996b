import OpenURLBus
import Reactor
import Testing

@testable import DBus
@testable import URLRouter

/// The timers that outlive their router.
@Suite(.timeLimit(.minutes(5))) struct ReleasedRouterTests {
    @Test func limitOfACallbackPassesWithoutTheRouter() async throws {
        // A connection that owns itself is one that has not ended.
        let bus = try FakeHandlers([ownConnection: ownConnection])
        weak var released: URLRouter?
        do {
            let router = URLRouter([], on: bus)
            released = router
            var options = CallbackOptions()
            options.timeout = .milliseconds(200)
            _ = try await router.requestCallback("", "unclaimed", options, caller: ownConnection)
        }
        #expect(released == nil)
        // A timer that is set later comes later, so the one of the claim has fired by then.
        await withCheckedContinuation { continuation in
            bus.loop.execute { [loop = bus.loop] in
                _ = loop.schedule(at: .now + .milliseconds(201)) { continuation.resume() }
            }
        }
    }
}
