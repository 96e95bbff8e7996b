import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Handlers that take calls (`voip` in `UIBackgroundModes`).
@Suite(.timeLimit(.minutes(10))) struct VoIPHandlerTests {
    private static let app = "com.example.app"
    private static let other = "com.example.other"
    private static let launch = ["willFinishLaunching", "didFinishLaunching", "didEnterBackground"]

    private func router(_ arguments: [String] = []) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let keys: [String: Any] = ["UIBackgroundModes": ["voip"], "OUSuspendDelay": 0.05]
            try RouterProcess.write(Self.app, ["reasons"] + arguments, in: directory, extra: keys)
            try RouterProcess.write(Self.other, ["reasons"], in: directory)
        }
    }

    private func starts(_ router: RouterProcess) throws -> [String] {
        try router.log(of: Self.app).filter { $0.hasPrefix("reason") }
    }

    private func pid(_ router: RouterProcess) async throws -> pid_t {
        pid_t(try #require(try await router.status(of: Self.app).pid))
    }

    @Test func handlerIsStartedAtLoginAndNotByTheNextRouter() async throws {
        let router = try await router()
        defer { router.stop() }
        try await eventually(router.log(of: Self.app).dropFirst()) { $0.elementsEqual(["reason login"] + Self.launch) }
        #expect(try router.log(of: Self.other) == [])
        // The delegate has heard of it before the router has its answer.
        try await eventually(await router.status(of: Self.app).state) { $0 == .known(.background) }
        // The user ends it, and the next router respects that.
        try await router.lifecycle(LifecycleInterface.terminate, Self.app)
        try await router.restart()
        #expect(try await router.status(of: Self.app).state == .known(.notRunning))
        #expect(try starts(router) == ["reason login"])
    }

    @Test func handlerThatFailsIsStartedAgain() async throws {
        let router = try await router()
        defer { router.stop() }
        try await eventually(router.log(of: Self.app)) { $0.last == "didEnterBackground" }
        kill(try await pid(router), SIGKILL)
        try await eventually(starts(router)) { $0 == ["reason login", "reason relaunch"] }
        try await eventually(router.log(of: Self.app)) { $0.last == "didEnterBackground" }
        // An orderly exit is not a failure.
        let states = try await router.states()
        kill(try await pid(router), SIGTERM)
        try await states.wait(for: "notRunning", of: Self.app)
        _ = try await router.open("other:x")
        #expect(try starts(router) == ["reason login", "reason relaunch"])
    }

    @Test func handlerThatFailsTooOftenIsInQuarantine() async throws {
        let router = try await router(["exit=3"])
        defer { router.stop() }
        let status = try await eventually(await router.status(of: Self.app)) { $0.quarantinedUntil != nil }
        #expect(status.state == .known(.notRunning))
        #expect(try router.log(of: Self.app).filter { $0.hasPrefix("start") }.count == 3)
    }
}
