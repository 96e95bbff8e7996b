import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Interruptions of real handlers (Figure 3-4).
@Suite(.timeLimit(.minutes(10))) struct InterruptedHandlerTests {
    private static let first = "com.example.first"
    private static let second = "com.example.second"
    private static let script = "com.example.script"

    private func router(_ arguments: [String] = []) async throws -> RouterProcess {
        try await RouterProcess([Self.first: arguments, Self.second: []])
    }

    private func notes(_ result: OpenResult) -> [String] {
        guard case .array(let notes, _)? = result.reply["notes"] else { return [] }
        return notes.compactMap(\.string)
    }

    @Test func interruptedHandlerIsInactiveAndThenActiveAgain() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        try await router.lifecycle(LifecycleInterface.interrupt, Self.first)
        #expect(try await states.next(of: Self.first) == "inactive")
        #expect(try router.log(of: Self.first).last == "willResignActive")
        #expect(try await router.status(of: Self.first).state == .known(.inactive))
        // The URL is opened at once, and does not make the handler active.
        let opened = try await router.open("first:y")
        #expect(opened.way == .active)
        #expect(opened.trace.map(\.name) == ["open"])
        #expect(try await router.status(of: Self.first).state == .known(.inactive))
        try await router.lifecycle(LifecycleInterface.resume, Self.first)
        #expect(try await states.next(of: Self.first) == "active")
        #expect(try router.log(of: Self.first).suffix(3) == ["willResignActive", "open first:y", "didBecomeActive"])
    }

    @Test func interruptionLeadsToTheBackground() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.interrupt, Self.first)
        let states = try await router.states()
        _ = try await router.open("second:x")
        #expect(try await states.next(of: Self.first) == "background")
        #expect(try router.log(of: Self.first).suffix(2) == ["willResignActive", "didEnterBackground"])
        // The interruption is over.
        _ = try await router.open("first:y")
        #expect(try router.log(of: Self.first).last == "didBecomeActive")
        #expect(try await router.status(of: Self.first).state == .known(.active))
    }

    @Test func interruptionEndsWithTheConnectionOfItsProgram() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        let program = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        try await program.call(LifecycleInterface.interrupt, on: RouterService.object, Self.first)
        #expect(try await states.next(of: Self.first) == "inactive")
        await program.close()
        #expect(try await states.next(of: Self.first) == "active")
        try await eventually(router.log(of: Self.first)) { $0.last == "didBecomeActive" }
    }

    @Test func nextRouterMakesTheHandlerActiveAgain() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.interrupt, Self.first)
        try await router.restart()
        try await eventually(router.log(of: Self.first)) { $0.last == "didBecomeActive" }
        #expect(try await router.status(of: Self.first).state == .known(.active))
    }

    @Test func handlerThatHangsWhenItIsInterruptedIsKilled() async throws {
        let router = try await RouterProcess { directory in
            let extra = ["OUTransitionTimeout": 2]
            try RouterProcess.write(Self.first, ["hang=willResignActive"], in: directory, extra: extra)
        }
        defer { router.stop() }
        _ = try await router.open("first:x")
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.interrupt, Self.first)
        }
        #expect("\(error)".contains("willResignActive of com.example.first did not return"), "\(error)")
        #expect(try await router.open("first:y").way == .launched)
    }

    /// A handler with one thread answers no question about its progress either.
    @Test func handlerWithOneThreadThatHangsWhenItIsInterruptedIsKilled() async throws {
        let router = try await RouterProcess { directory in
            let extra = ["OUTransitionTimeout": 2]
            try ScriptHandler.write(Self.script, "hanging_handler", in: directory, extra: extra)
        }
        defer { router.stop() }
        _ = try await router.open("script:x")
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.interrupt, Self.script)
        }
        #expect("\(error)".contains("ResignActive of \(Self.script) did not return within 2 seconds"), "\(error)")
    }

    @Test func handlerInAnotherLanguageIsTold() async throws {
        let router = try await RouterProcess { directory in
            try ScriptHandler.write(Self.script, "interrupted_handler", in: directory)
        }
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.interrupt, Self.script)
        #expect(notes(try await router.open("script:y")) == ["inactive"])
        try await router.lifecycle(LifecycleInterface.resume, Self.script)
        try await router.lifecycle(LifecycleInterface.interrupt, Self.script)
        try await router.lifecycle(LifecycleInterface.background, Self.script)
        #expect(notes(try await router.open("script:z")) == ["inactive", "active", "inactive", "background"])
    }

    /// A handler that lacks the methods makes no distinction between the two states.
    @Test func handlerThatCannotBeToldIsInactiveAllTheSame() async throws {
        let router = try await RouterProcess { directory in
            try ScriptHandler.write(Self.script, "uploading_handler", in: directory)
        }
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.lifecycle(LifecycleInterface.interrupt, Self.script)
        #expect(try await router.status(of: Self.script).state == .known(.inactive))
        #expect(try await router.open("script:y").way == .active)
        try await router.lifecycle(LifecycleInterface.resume, Self.script)
        #expect(try await router.status(of: Self.script).state == .known(.active))
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(!log.contains("ResignActive") && !log.contains("BecomeActive"), "\(log)")
    }

    @Test func commandInterruptsUntilTheHandlerIsResumed() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        async let run = router.openurl("interrupt", Self.first)
        #expect(try await states.next(of: Self.first) == "inactive")
        #expect(try await router.openurl("resume", Self.first) == CommandRun(status: 0, output: "", errors: ""))
        let line = "\(Self.first) is inactive until Ctrl-C or 'openurl resume \(Self.first)'\n"
        #expect(try await run == CommandRun(status: 0, output: line, errors: ""))
        #expect(try router.log(of: Self.first).suffix(2) == ["willResignActive", "didBecomeActive"])
    }

    @Test func interruptOfTheCommandEndsTheInterruption() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        let steps = "is inactive until Ctrl-C=^C"
        let command = ["python3", "-c", try pythonProgram("type_at_terminal"), steps, RouterProcess.command.path]
        let run = try await router.run(["timeout", "--signal=KILL", "60"] + command + ["interrupt", Self.first])
        #expect(run.output.hasSuffix("\nexit 0"), "\(run)")
        #expect(try await states.next(of: Self.first) == "inactive")
        #expect(try await states.next(of: Self.first) == "active")
    }

    @Test func commandSaysWhyItCannotInterrupt() async throws {
        let router = try await router()
        defer { router.stop() }
        let idle = try await router.openurl("interrupt", Self.first)
        #expect(idle.status == 7 && idle.errors == "openurl: \(Self.first) is not running\n", "\(idle)")
        let unknown = try await router.openurl("interrupt", "com.example.frist")
        #expect(unknown.status == 3 && unknown.errors.contains("did you mean 'com.example.first'?"), "\(unknown)")
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        let background = try await router.openurl("interrupt", Self.first)
        #expect(background.status == 7 && background.errors.contains("\(Self.first) is not active"), "\(background)")
    }

    @Test func commandEndsWithTheRouter() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        async let run = router.openurl("interrupt", Self.first)
        #expect(try await states.next(of: Self.first) == "inactive")
        try await eventually(router.log(of: Self.first)) { $0.last == "willResignActive" }
        try await router.kill()
        let end = try await run
        #expect(end.status == 69, "\(end)")
    }
}
