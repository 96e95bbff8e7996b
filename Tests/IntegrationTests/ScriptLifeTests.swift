import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The life of handlers that are written from the contract, without the library.
@Suite(.timeLimit(.minutes(10))) struct ScriptLifeTests {
    private static let script = "com.example.script"

    /// Starts a router with a handler in Python.
    private func router(
        _ program: String,
        _ arguments: [String] = [],
        _ extra: [String: Any] = [:]
    ) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let keys: [String: Any] = ["OUSuspendDelay": 0.05].merging(extra) { $1 }
            try ScriptHandler.write(Self.script, program, arguments, in: directory, extra: keys)
        }
    }

    /// The router asks the handler for its progress meanwhile. A handler with one thread does not answer that either.
    /// The caller waits for `OUOpenTimeout`, which is over before the time limit could pass twice.
    @Test func handlerWithOneThreadThatHangsOnTheWayToTheBackgroundHasItsTimeOnce() async throws {
        let router = try await router("hanging_handler", [], ["OUTransitionTimeout": 10, "OUOpenTimeout": 19])
        defer { router.stop() }
        _ = try await router.open("script:x")
        let start = ContinuousClock.now
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.background, Self.script)
        }
        let time = start.duration(to: .now)
        let reason = "EnterBackground of \(Self.script) did not return within 10 seconds; its process was killed"
        #expect("\(error)".contains(reason), "\(error)")
        #expect(time > .seconds(9.9), "\(time)")
    }

    @Test func exceptionOnTheWayToTheBackgroundReachesTheCommand() async throws {
        let router = try await router("unsaved_handler")
        defer { router.stop() }
        _ = try await router.open("script:x")
        let run = try await router.openurl("background", Self.script)
        let failed = "\(Self.script) is in the background, but EnterBackground failed"
        let reason = "\(Self.script) raised ValueError: no space; 'openurl output \(Self.script)' shows the traceback"
        #expect(run == CommandRun(status: 1, output: "", errors: "openurl: \(failed): \(reason)\n"))
        #expect(try await router.status(of: Self.script).state == .known(.background))
        let output = try await router.openurl("output", Self.script).output
        #expect(output.hasPrefix("Traceback (most recent call last):\n"), "\(output)")
    }

    // MARK: Background time

    private var inBackground: OpenOptions {
        var options = OpenOptions()
        options.inBackground = true
        return options
    }

    private func notes(_ result: OpenResult) -> [String] {
        guard case .array(let notes, _)? = result.reply["notes"] else { return [] }
        return notes.compactMap(\.string)
    }

    @Test func timeIsToldOnTheWayToTheBackground() async throws {
        let router = try await router("uploading_handler", [], ["OUBackgroundTime": 60])
        defer { router.stop() }
        #expect(try await router.open("script://left").reply["left"] == .uint32(LifecycleInterface.unlimited))
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        let told = notes(try await router.open("script://end/upload", inBackground))
        #expect(told == ["60000", "60000", "60000"])
    }

    /// The router learns only from an attempt that the handler cannot be suspended.
    @Test func handlerWithoutSuspendHasTheSameTimeInEachStay() async throws {
        let router = try await router("uploading_handler", [], ["OUBackgroundTime": 60])
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        _ = try await router.open("script://end/upload", inBackground)
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.suspend, Self.script)
        }
        #expect("\(error)".contains("does not implement org.openurl.Handler1.Suspend"), "\(error)")
        #expect(try await router.open("script://left", inBackground).reply["left"] == .uint32(60_000))
        _ = try await router.open("script:y")
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        let told = notes(try await router.open("script://end/upload", inBackground))
        #expect(told.suffix(3) == ["60000", "60000", "60000"])
    }

    /// The handler ends by itself after some URLs. It is killed long before.
    @Test(arguments: ["OpenURL", "Open through another handler"])
    func handlerThatSendsItselfURLsGetsNoTime(way: String) async throws {
        let router = try await RouterProcess { directory in
            let arguments = [
                way == "OpenURL" ? "script:own" : "forwarder:x", directory.appending(path: "rounds").path,
            ]
            let keys = ["OUBackgroundTime": 1.5]
            try ScriptHandler.write(Self.script, "endless_handler", arguments, in: directory, extra: keys)
            try RouterProcess.write("com.example.forwarder", ["forward-background=script:own"], in: directory)
        }
        defer { router.stop() }
        _ = try await router.open("script:x")
        let states = try await router.states()
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        try await states.wait(for: "notRunning", of: Self.script)
        let rounds = try String(contentsOf: router.bus.directory.appending(path: "rounds"), encoding: .utf8)
        #expect(try #require(Int(rounds)) < 40)
    }

    /// The name of a task is any text.
    @Test func nextRouterKnowsTheOpenTasks() async throws {
        let router = try await router("two_tasks_handler")
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        for tasks in [["first\n1 x", "second"], ["first\n1 x"]] {
            try await router.restart()
            #expect(try await router.status(of: Self.script).backgroundTasks.sorted() == tasks)
            if tasks.count == 2 { _ = try await router.open("script://end/second", inBackground) }
        }
    }

    /// The earlier router may have exited before it heard that a task had ended.
    @Test func tasksFromAnEarlierRouterEndTogether() async throws {
        let router = try await router("two_tasks_handler")
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        try await router.restart()
        _ = try await router.open("script://begin/third", inBackground)
        _ = try await router.open("script://end/earlier", inBackground)
        #expect(try await router.status(of: Self.script).backgroundTasks == ["third"])
    }

    @Test func openTaskEndsTheProcessAfterARestartOfTheRouter() async throws {
        let router = try await router("uploading_handler", [], ["OUBackgroundTime": 1.5])
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        try await router.restart()
        let states = try await router.states()
        if try await router.status(of: Self.script).state == .known(.notRunning) { return }
        try await states.wait(for: "notRunning", of: Self.script)
    }

    // MARK: Suspension

    private func suspended(_ router: RouterProcess) async throws -> UInt32 {
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.script)
        let pid = try #require(try await router.status(of: Self.script).pid)
        try await router.waitUntilStopped(pid)
        return pid
    }

    /// Handlers of earlier contracts set the state of the descriptor, some of them without its signal.
    @Test(arguments: ["keep", "own"]) func handlerThatKeepsTheDescriptorContinues(use: String) async throws {
        let router = try await router("suspended_handler", [use])
        defer { router.stop() }
        let pid = try await suspended(router)
        let woken = try await router.open("script:y")
        #expect(woken.way == .woken)
        #expect(woken.reply["pid"] == .int32(CInt(pid)))
        try await router.lifecycle(LifecycleInterface.suspend, Self.script)
        try await router.waitUntilStopped(pid)
        try await RouterProcess.waitForOwner(of: BusName(Self.script)!, on: router.connection) {
            #expect(Glibc.kill(router.pid, SIGKILL) == 0)
        }
    }

    /// The descriptor is closed, or its signal is another one, so the kernel would not continue the process.
    @Test(arguments: ["close", "give", "clear"])
    func handlerThatTheKernelWouldNotContinueIsNotStopped(use: String) async throws {
        let router = try await router("suspended_handler", [use])
        defer { router.stop() }
        _ = try await router.open("script:x")
        let error = try #require(
            await #expect(throws: CallError.self) {
                try await router.lifecycle(LifecycleInterface.suspend, Self.script)
            }
        )
        #expect(
            "\(error)".contains("has closed or changed the descriptor of org.openurl.Handler1.Suspend"),
            "\(error)"
        )
        let pid = try #require(try await router.status(of: Self.script).pid)
        #expect(try !router.isStopped(pid))
        #expect(try await router.open("script:y").reply["pid"] == .int32(CInt(pid)))
    }

    @Test func orderlyEndOfTheRouterContinuesAStoppedHandler() async throws {
        // A child changes the state of the descriptor once the handler is stopped, so only the router continues the process.
        let router = try await RouterProcess { directory in
            let arguments = ["child", directory.appending(path: "changed").path]
            let keys = ["OUSuspendDelay": 0.05]
            try ScriptHandler.write(Self.script, "suspended_handler", arguments, in: directory, extra: keys)
        }
        defer { router.stop() }
        let pid = try await suspended(router)
        let changed = router.bus.directory.appending(path: "changed").path
        try await eventually(FileManager.default.fileExists(atPath: changed)) { $0 }
        #expect(await router.terminate() == 0)
        try await eventually(router.isStopped(pid)) { !$0 }
    }
}
