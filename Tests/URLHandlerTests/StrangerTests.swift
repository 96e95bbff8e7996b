import DBus
import OpenURLBus
import PrivateBus
import Reactor
import Testing

@testable import URLHandler

/// The calls of programs other than a router to a handler's process.
@Suite(.timeLimit(.minutes(10))) struct StrangerTests {
    private func stranger(to handler: HandlerProcess) async throws -> Connection {
        try await Connection.open(.address(handler.bus.address), on: try handler.bus.makeLoop())
    }

    private func activate(_ handler: HandlerProcess, by caller: Connection) async throws {
        _ = try await caller.call(
            FreedesktopApplication.activate,
            on: RemoteObject(handler.owner, ObjectPath(for: HandlerProcess.id)),
            ["activation-token": .string("token")]
        )
    }

    @Test func activationOfAnotherProgramGoesToTheRouter() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        let asked = Lock<[String]>([])
        let lifecycle = ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.activate) { _, id in
                    asked.withLock { $0.append(id) }
                    return Empty()
                }
            ]
        )
        await handler.router.export([lifecycle], at: RouterService.path)
        try await handler.enterBackground()
        let before = try handler.log()
        let stranger = try await stranger(to: handler)
        try await activate(handler, by: stranger)
        #expect(asked.withLock { $0 } == [HandlerProcess.id.rawValue])
        // This router leaves the handler in the background.
        #expect(try handler.log() == before)
        try await activate(handler, by: handler.router)
        #expect(try handler.log().dropFirst(before.count) == ["willEnterForeground", "didBecomeActive"])
        await stranger.close()
    }

    @Test func errorOfTheRouterReachesTheOtherProgram() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        let lifecycle = ExportedInterface(
            LifecycleInterface.name,
            [.method(LifecycleInterface.activate) { _, _ in throw OpenURLError(.notAllowed, "not now") }]
        )
        await handler.router.export([lifecycle], at: RouterService.path)
        let stranger = try await stranger(to: handler)
        let error = await #expect(throws: CallError.self) { try await activate(handler, by: stranger) }
        guard case .remote(let remote)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(remote.name == OpenURLError.Code.notAllowed.errorName)
        #expect(remote.message == "not now")
        await stranger.close()
    }

    /// The router brings the handler to the foreground twice, each time for another token.
    @Test func endOfAnActivationLeavesTheTokensOfALaterOne() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let router = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let client = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let (calls, called) = AsyncStream.makeStream(of: String.self)
        let (firstGate, releaseFirst) = AsyncStream.makeStream(of: Void.self)
        let (secondGate, releaseSecond) = AsyncStream.makeStream(of: Void.self)
        let first = Task { for await _ in firstGate {} }
        let second = Task { for await _ in secondGate {} }
        let lifecycle = ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.activate) { _, id in
                    called.yield(id)
                    await (id == "com.example.first" ? first : second).value
                    return Empty()
                }
            ]
        )
        await router.export([lifecycle], at: RouterService.path)
        _ = try await router.requestName(RouterService.name)
        let desktop = DesktopActivation()
        var options = OpenOptions()
        options.activationToken = "first"
        let earlier = Task { [options] in try await desktop.passOn("com.example.first", options, client) }
        var ids = calls.makeAsyncIterator()
        #expect(await ids.next() == "com.example.first")
        options.activationToken = "second"
        let later = Task { [options] in try await desktop.passOn("com.example.second", options, client) }
        #expect(await ids.next() == "com.example.second")
        releaseFirst.finish()
        #expect(try await earlier.value)
        #expect(desktop.takeTokens() == options)
        releaseSecond.finish()
        #expect(try await later.value)
        await client.close()
        await router.close()
    }

    @Test func withoutARouterAnActivationComesToTheForeground() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        try await handler.router.releaseName(RouterService.name)
        let stranger = try await stranger(to: handler)
        try await activate(handler, by: stranger)
        #expect(try handler.log().last == "didBecomeActive")
        await stranger.close()
    }

    /// The desktop opens several URLs with one token, which is for one window.
    @Test func firstURLOfTheDesktopHasTheToken() async throws {
        let handler = try await HandlerProcess("url-tokens")
        defer { handler.stop() }
        let stranger = try await stranger(to: handler)
        let data: [String: Value] = ["activation-token": "token", "desktop-startup-id": "token"]
        let object = RemoteObject(handler.owner, ObjectPath(for: HandlerProcess.id))
        _ = try await stranger.call(FreedesktopApplication.open, on: object, Arguments(["app:1", "app:2"], data))
        let told = try handler.log().filter { $0.hasPrefix("open ") || $0.hasPrefix("with ") }
        #expect(told == ["open app:1", "with token", "open app:2", "with none"])
        await stranger.close()
    }

    @Test func contextOfAnotherProgramHasNoFacts() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        let stranger = try await stranger(to: handler)
        var context = OpenContext()
        context.notifications = ["clock": "12:00"]
        context.inBackground = true
        context.requestID = "forged"
        let input = DeliveredURL("app:1", context)
        let answer = try await stranger.call(HandlerInterface.open, on: handler.byName, input)
        #expect(answer.isHandled)
        #expect(answer.trace.map(\.name).contains("didBecomeActive"))
        #expect(try handler.log().allSatisfy { !$0.hasPrefix("notification") })
        await stranger.close()
    }
}
