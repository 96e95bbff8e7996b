import OpenURLBus
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// Calls and callbacks whose schemes the desktop does not send to the router yet.
@Suite(.timeLimit(.minutes(10))) struct CallPublicationTests {
    private let bus: FakeHandlers
    private let router: URLRouter

    init() throws {
        bus = try FakeHandlers(["com.example.app": ":1.1", ownConnection: ownConnection])
        router = URLRouter([try .test("com.example.app")], on: bus)
    }

    /// The disk may be slow.
    @Test(arguments: [true, false]) func callEndsWhileItsSchemeIsPublished(_ isCancelled: Bool) async throws {
        let (disk, end) = AsyncStream<Void>.makeStream()
        await router.publishCallbacks { _, _ in for await _ in disk {} }
        var options = OpenOptions()
        let token = try #require(HandleToken(rawValue: "call_1"))
        options.handleToken = token
        if !isCancelled { options.timeout = .milliseconds(20) }
        let call = Task { [options] in try await router.call("app://x-callback-url/first", options) }
        if isCancelled {
            let path = try #require(RequestInterface.path(of: ownConnection, token))
            await router.wait { $0.waitingCalls.count == 1 }
            try await router.cancelRequest(at: path, caller: ownConnection)
        }
        let error = await #expect(throws: OpenURLError.self) { try await call.value }
        #expect(error?.code == (isCancelled ? .cancelled : .timedOut))
        end.finish()
        await router.wait { $0.callbacks.hasPublishedReplies }
        // The URL of the call would come first, and would keep the next one waiting.
        let next = Task { try await router.open("app:next") }
        await bus.wait(for: .opened("app:next", at: ":1.1"))
        bus.answer("app:next")
        _ = try await next.value
        #expect(bus.opened == [])
    }

    /// The program has stopped waiting before the router can open the page on which the person signs in. It may wait
    /// for another callback with the same handle.
    @Test(arguments: [false, true])
    func pageIsNotOpenedForAProgramThatHasStoppedWaiting(waitsAgain: Bool) async throws {
        let (disk, end) = AsyncStream<Void>.makeStream()
        // The end of the claim is published too.
        await router.publishCallbacks { _, number in
            guard number == 1 else { return }
            for await _ in disk {}
        }
        var options = CallbackOptions()
        let token = try #require(HandleToken(rawValue: "callback_a"))
        options.handleToken = token
        let page = "app://sign-in?redirect_uri=own%3A%2F%2Fauth"
        let request = Task { [options] in
            try await router.requestCallback(page, "", options, caller: ownConnection)
        }
        let path = try #require(RequestInterface.path(of: ownConnection, token))
        await router.wait { $0.callbacks.claims[path] != nil }
        try await router.cancelRequest(at: path, caller: ownConnection)
        if waitsAgain {
            let other = "app://sign-in-again?redirect_uri=own%3A%2F%2Fauth"
            #expect(try await router.requestCallback(other, "", options, caller: ownConnection) == path)
            await bus.wait(for: .opened(other, at: ":1.1"))
            bus.answer(other)
        }
        end.finish()
        #expect(try await request.value == path)
        // The page would come first, and would keep the next URL waiting.
        let next = Task { try await router.open("app:next") }
        await bus.wait(for: .opened("app:next", at: ":1.1"))
        bus.answer("app:next")
        _ = try await next.value
        #expect(bus.opened == [])
    }

    @Test func schemeIsPublishedOnce() async throws {
        let publications = Lock(0)
        await router.publishCallbacks { _, _ in publications.withLock { $0 += 1 } }
        for _ in 0..<2 {
            await #expect(throws: OpenURLError.self) {
                try await router.call("nobody://x-callback-url/x", OpenOptions())
            }
        }
        #expect(publications.withLock { $0 } == 1)
    }
}
