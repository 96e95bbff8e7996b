import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import Testing

/// The state that a handler's process saves for the next process, with real processes that end in every way.
@Suite(.timeLimit(.minutes(10))) struct RestorationTests {
    private static let app = "com.example.app"

    /// Starts a router with a handler that saves the state `kept`, and that crashes in the phase that a file names.
    private func router() async throws -> RouterProcess {
        try await RouterProcess { directory in
            let arguments = ["state=kept", "crash-in=\(directory.appending(path: "crash-in").path)"]
            try RouterProcess.write(Self.app, arguments, in: directory, extra: ["OUSuspendDelay": 600])
            try RouterProcess.write("com.example.other", [], in: directory)
        }
    }

    /// Makes the handler crash in a phase from now on; nil makes the handler crash no more.
    private func crash(in phase: String?, _ router: RouterProcess) throws {
        let file = router.bus.directory.appending(path: "crash-in")
        if let phase { try Data(phase.utf8).write(to: file) } else { try FileManager.default.removeItem(at: file) }
    }

    /// Sends a signal to the handler's process, and returns when the router has noticed the end.
    private func end(_ router: RouterProcess, with signal: Int32) async throws {
        let states = try await router.states()
        let pid = try #require(try await router.status(of: Self.app).pid)
        kill(CInt(pid), signal)
        try await states.wait(for: "notRunning", of: Self.app)
    }

    private func savedFiles(_ router: RouterProcess) throws -> [String] {
        let state = try #require(router.bus.environment["XDG_STATE_HOME"])
        guard FileManager.default.fileExists(atPath: "\(state)/openurl") else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: "\(state)/openurl").filter { $0.contains(Self.app) }
    }

    private func restored(_ router: RouterProcess) throws -> Int {
        try router.log(of: Self.app).count { $0 == "restored kept" }
    }

    @Test func activeHandlerSavesItsStateWhenItIsToldToEnd() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        try await end(router, with: SIGTERM)
        #expect(try router.log(of: Self.app).suffix(2) == ["willEncodeRestorableState", "willTerminate"])
        _ = try await router.open("app:2")
        #expect(try restored(router) == 1)
    }

    @Test func userWhoEndsAHandlerDeletesItsState() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        try await router.lifecycle(LifecycleInterface.terminate, Self.app)
        #expect(try savedFiles(router) == [])
        // The state of a failed launch goes too.
        _ = try await router.open("app:2")
        try await end(router, with: SIGTERM)
        try crash(in: "willFinishLaunching", router)
        #expect(try await router.failure("app:3").code == .handlerCrashed)
        #expect(try savedFiles(router) != [])
        try await router.lifecycle(LifecycleInterface.terminate, Self.app)
        #expect(try savedFiles(router) == [])
        try crash(in: nil, router)
        _ = try await router.open("app:4")
        #expect(try restored(router) == 0)
    }

    @Test func urlInTheBackgroundSavesTheState() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        try await router.lifecycle(LifecycleInterface.background, Self.app)
        var options = OpenOptions()
        options.inBackground = true
        _ = try await router.open("app:2", options)
        #expect(try router.log(of: Self.app).suffix(2) == ["open app:2", "willEncodeRestorableState"])
    }

    @Test(arguments: ["willFinishLaunching", "didDecodeRestorableState", "didFinishLaunching"])
    func stateIsOfferedAgainAfterOneFailedLaunchAndDeletedAfterTwo(phase: String) async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        try await end(router, with: SIGTERM)
        // One failed launch, and then a successful one: the state is restored.
        try crash(in: phase, router)
        #expect(try await router.failure("app:2").code == .handlerCrashed)
        try crash(in: nil, router)
        _ = try await router.open("app:3")
        #expect(
            try router.log(of: Self.app).last { $0.hasPrefix("restored") || $0.hasPrefix("start") } == "restored kept"
        )
        // Two failed launches: the third runs without the state.
        try await router.lifecycle(LifecycleInterface.reset, Self.app)
        try await end(router, with: SIGTERM)
        try crash(in: phase, router)
        for _ in 1...2 { #expect(try await router.failure("app:4").code == .handlerCrashed) }
        try crash(in: nil, router)
        let before = try restored(router)
        _ = try await router.open("app:5")
        #expect(try restored(router) == before)
        #expect(try savedFiles(router) == [])
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("its state was deleted, because two launches with it have failed"), "\(log)")
    }
}
