import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Handlers that are registered until the router ends, with real processes.
@Suite(.timeLimit(.minutes(10))) struct TemporaryRegistrationTests {
    private static let id = "com.example.late"

    private func manifest(
        _ id: String = id,
        for router: RouterProcess,
        extra: [String: Any] = [:]
    ) throws -> String {
        let directory = router.bus.directory.appending(path: "elsewhere")
        try RouterProcess.write(id, [], in: directory, extra: extra)
        return directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(id).plist").path
    }

    private func register(_ path: String, _ router: RouterProcess) async throws -> HandlerEntry {
        try await router.connection.call(RegistryInterface.registerTemporarily, on: RouterService.object, path)
    }

    /// Returns the text with which the router refuses a call.
    private func refusal(_ body: () async throws -> HandlerEntry) async throws -> String {
        do {
            Issue.record("not refused: \(try await body())")
            return ""
        } catch CallError.remote(let error) {
            return error.message
        }
    }

    @Test func handlerIsRegisteredUntilTheRouterEnds() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let path = try manifest(for: router)
        // The router publishes the example's handler after its start.
        #expect(try await router.reload().isEmpty)
        let before = try router.files(below: router.bus.directory.appending(path: "XDG_DATA_HOME"))
        let run = try await router.openurl("register", "--ephemeral", path)
        #expect(run.status == 0 && run.output.hasPrefix("\(Self.id)\tlate\t"))
        #expect(run.errors.contains("\(Self.id) is registered until the router exits"))
        #expect(try await router.open("late:1").way == .launched)
        #expect(try await router.handlers()[Self.id]?.temporary == .known(.registration))
        #expect(try await router.status(of: Self.id).temporary == .known(.registration))
        for command in [["list"], ["status"]] {
            let errors = try await router.openurl(command).errors
            #expect(errors.contains("is registered until the router exits"), "\(command)")
        }
        #expect(try await router.openurl("explain", "late:x").output.contains("is registered until the router exits"))
        #expect(try await router.openurl("doctor", "late:x").output.contains("is registered until the router exits"))
        // Changes of the files leave the handler as it is.
        #expect(try await router.reload().isEmpty)
        #expect(try router.files(below: router.bus.directory.appending(path: "XDG_DATA_HOME")) == before)
        #expect(!FileManager.default.fileExists(atPath: router.desktopEntry(Self.id).path))
        #expect(try await router.openurl("default", "late", Self.id).errors.contains("only temporarily"))
        try await router.lifecycle(LifecycleInterface.terminate, Self.id)
        try await router.restart()
        #expect(try await router.failure("late:2").code == .noHandler)
    }

    @Test func unregisterAndRegisterEndIt() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let path = try manifest(for: router)
        _ = try await register(path, router)
        try await router.unregister(Self.id)
        #expect(try await router.failure("late:1").code == .noHandler)
        _ = try await register(path, router)
        _ = try await register(path, router)
        // A registration that stays takes its place.
        #expect(try await router.register(path).temporary == .absent)
        #expect(try await router.handlers()[Self.id]?.temporary == .absent)
        #expect(try await refusal { try await register(path, router) }.contains("is registered already"))
        try await router.unregister(Self.id)
        #expect(try await router.handlers()[Self.id] == nil)
    }

    @Test func schemeStaysWithTheHandlerThatHasIt() async throws {
        let router = try await RouterProcess(["com.example.app": []])
        defer { router.stop() }
        let claims = ["CFBundleURLTypes": [["CFBundleURLSchemes": ["app", "http", "late"]]]]
        let entry = try await register(try manifest(for: router, extra: claims), router)
        #expect(entry.schemes == ["app", "late"])
        #expect(entry.warnings.contains { $0.contains("http is a fixed scheme") })
        let rival = "app: goes to com.example.app; 'openurl --handler \(Self.id) URL'"
        #expect(entry.warnings.contains { $0.contains(rival) })
        #expect(try await router.open("app:1").handler == "com.example.app")
        var options = OpenOptions()
        options.handler = Self.id
        #expect(try await router.open("app:2", options).handler == Self.id)
        #expect(try await router.open("late:1").handler == Self.id)
        // The manifest is wrong, or belongs to the system.
        let wrong = try manifest("com.example.wrong", for: router, extra: ["OULaunchTimeout": "soon"])
        #expect(try await refusal { try await register(wrong, router) }.contains("OULaunchTimeout"))
    }

    @Test func numberIsLimited() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        // One program gets at most half of what is left.
        for number in 0..<32 { _ = try await register(try manifest("com.example.n\(number)", for: router), router) }
        let path = try manifest("com.example.n32", for: router)
        let message = try await refusal { try await register(path, router) }
        #expect(message.contains("32 handlers of"))
        try await router.unregister("com.example.n0")
        _ = try await register(path, router)
    }
}
