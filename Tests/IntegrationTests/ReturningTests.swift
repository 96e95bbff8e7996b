import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The way back to the handler that has sent a URL, with real processes.
@Suite(.timeLimit(.minutes(10))) struct ReturningTests {
    private static let first = "com.example.first"
    private static let second = "com.example.second"

    /// Starts a router with a handler that opens a URL of another one, and opens a URL of each. The second is in the foreground.
    private func router(_ second: [String] = []) async throws -> RouterProcess {
        let router = try await RouterProcess([Self.first: ["forward=second:x", "tokens"], Self.second: second])
        _ = try await router.open("first:x")
        return router
    }

    /// Returns when the router has refused a handler's way back this many times. The handler asks in a task of its own.
    private func wait(forRefusals count: Int, of id: String, _ router: RouterProcess) async throws {
        try await eventually(router.log(of: id)) { $0.count { $0.hasPrefix("not returned: ") } >= count }
    }

    private func status(_ router: RouterProcess, of id: String) async throws -> HandlerState? {
        let list = try await router.connection.call(LifecycleInterface.list, on: RouterService.object, Empty())
        return list.first { $0.id == id }?.state.known
    }

    private func notify(_ router: RouterProcess, _ id: String) async throws {
        let input = Arguments(id, "return", Value.string(""))
        _ = try await router.connection.call(LifecycleInterface.notify, on: RouterService.object, input)
    }

    @Test func handlerReturnsToTheSenderAfterTheURL() async throws {
        let router = try await router()
        defer { router.stop() }
        #expect(try await status(router, of: Self.second) == .active)
        let states = try await router.states()
        try await notify(router, Self.second)
        try await states.wait(for: "active", of: Self.first)
        #expect(try await status(router, of: Self.second) != .active)
        // The router tells the state before the handler has become active. The handler answers this when its earlier events are done.
        try await router.connection.call(LifecycleInterface.activate, on: RouterService.object, Self.first)
        let log = try router.log(of: Self.first)
        #expect(log.last == "token token of the return", "\(log)")
        #expect(log.contains("token none"))
        // The way back was used.
        try await notify(router, Self.second)
        try await wait(forRefusals: 1, of: Self.second, router)
        _ = try await router.open("second:y")
        try await notify(router, Self.second)
        try await wait(forRefusals: 2, of: Self.second, router)
        _ = try await router.open("second:z")
        let second = try router.log(of: Self.second)
        #expect(second.contains("returned"))
        let refusals = second.filter { $0.hasPrefix("not returned: ") }
        #expect(refusals.first?.hasSuffix("\(Self.second) is not in the foreground") == true, "\(second)")
        #expect(refusals.last?.contains("no handler sent the URL") == true, "\(second)")
    }

    @Test func senderThatWaitsForTheAnswerComesBackAfterIt() async throws {
        let router = try await RouterProcess([
            Self.first: ["forward=second:x", "tokens"], Self.second: ["return", "tokens"],
        ])
        defer { router.stop() }
        let states = try await router.states()
        #expect(try await router.open("first:x").handler == Self.first)
        try await states.wait(for: "active", of: Self.second)
        try await states.wait(for: "active", of: Self.first)
        #expect(try router.log(of: Self.second).contains("returned"))
    }

    @Test func endOfTheHandlerInTheForegroundBringsTheSenderBack() async throws {
        let router = try await router()
        defer { router.stop() }
        let states = try await router.states()
        #expect(try await router.openurl("terminate", Self.second).status == 0)
        try await states.wait(for: "active", of: Self.first)
        // Nobody has sent the first handler's URL, and it runs alone now.
        #expect(try await router.openurl("terminate", Self.first).status == 0)
        #expect(try await status(router, of: Self.first) == .notRunning)
        #expect(try await status(router, of: Self.second) == .notRunning)
    }

    @Test func handlerInTheBackgroundStaysWhereItIs() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.openurl("background", Self.second)
        #expect(try await router.openurl("terminate", Self.second).status == 0)
        #expect(try await status(router, of: Self.first) != .active)
    }

    @Test func onlyAHandlerReturns() async throws {
        let router = try await router()
        defer { router.stop() }
        let input: Arguments<String, [String: Value]> = Arguments("", [:])
        let error = await #expect(throws: CallError.self) {
            try await router.connection.call(LifecycleInterface.returnToSource, on: RouterService.object, input)
        }
        guard case .remote(let refusal) = error else {
            Issue.record("the call failed with \(String(describing: error))")
            return
        }
        #expect(OpenURLError(refusal)?.code == .notAllowed)
    }
}
