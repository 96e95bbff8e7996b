import DBus
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The focus, as a program reports it.
@Suite(.timeLimit(.minutes(10))) struct FocusTests {
    private static let first = "com.example.first"
    private static let second = "com.example.second"

    /// Starts a router whose handlers are suspended after a second in the background.
    private func router() async throws -> RouterProcess {
        try await RouterProcess { directory in
            for id in [Self.first, Self.second] {
                try RouterProcess.write(id, [], in: directory, extra: ["OUSuspendDelay": 1])
            }
        }
    }

    /// The focus keeps the first handler running, although the second one has the foreground.
    private func focusedHandlerInTheBackground() async throws -> (
        RouterProcess, SignalSequence<Arguments<String, String>>
    ) {
        let router = try await router()
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.focusChanged, Self.first)
        let states = try await router.states()
        _ = try await router.open("second:x")
        try await states.wait(for: "background", of: Self.first)
        return (router, states)
    }

    @Test func handlerWithTheFocusIsNotSuspended() async throws {
        let (router, states) = try await focusedHandlerInTheBackground()
        defer { router.stop() }
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        }
        #expect("\(error)".contains("it has the user's focus"), "\(error)")
        try await router.lifecycle(LifecycleInterface.focusChanged, "")
        try await states.wait(for: "suspended", of: Self.first)
    }

    @Test func focusBringsASuspendedHandlerToTheForeground() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        _ = try await router.open("second:x")
        try await states.wait(for: "suspended", of: Self.first)
        try await router.lifecycle(LifecycleInterface.focusChanged, Self.first)
        #expect(try await router.status(of: Self.first).state == .known(.active))
        // It is not asked to show itself.
        #expect(try router.log(of: Self.first).suffix(2) == ["willEnterForeground", "didBecomeActive"])
        try await states.wait(for: "suspended", of: Self.second)
    }

    @Test func latestReportCountsUntilItsProgramLeaves() async throws {
        let router = try await router()
        defer { router.stop() }
        for url in ["first:x", "second:x"] { _ = try await router.open(url) }
        let states = try await router.states()
        try await router.lifecycle(LifecycleInterface.focusChanged, Self.second)
        let program = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        try await program.call(LifecycleInterface.focusChanged, on: RouterService.object, Self.first)
        try await states.wait(for: "suspended", of: Self.second)
        _ = try await router.open("second:y")
        try await states.wait(for: "background", of: Self.first)
        await program.close()
        try await states.wait(for: "suspended", of: Self.first)
    }

    @Test func onlyARunningHandlerCanHaveTheFocus() async throws {
        let router = try await router()
        defer { router.stop() }
        for (id, reason) in [(Self.first, "is not running"), ("com.example.none", "no handler"), ("x", "")] {
            let error = try await #require(throws: CallError.self) {
                try await router.lifecycle(LifecycleInterface.focusChanged, id)
            }
            #expect("\(error)".contains(reason), "\(error)")
        }
    }

    /// A shell reports every window's program, and not only handlers.
    @Test(arguments: ["org.mozilla.firefox", "firefox"]) func anotherProgramTakesTheFocus(_ id: String) async throws {
        let (router, states) = try await focusedHandlerInTheBackground()
        defer { router.stop() }
        await #expect(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.focusChanged, id)
        }
        try await states.wait(for: "suspended", of: Self.first)
    }

    @Test func focusEndsWithTheProcess() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.focusChanged, Self.first)
        try await router.lifecycle(LifecycleInterface.terminate, Self.first)
        let states = try await router.states()
        try await router.lifecycle(LifecycleInterface.wake, Self.first)
        try await states.wait(for: "suspended", of: Self.first)
    }
}
