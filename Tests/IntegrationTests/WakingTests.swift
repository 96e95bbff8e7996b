import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Launches with a reason, and notifications that launch or wake a handler.
@Suite(.timeLimit(.minutes(10))) struct WakingTests {
    private static let app = "com.example.app"
    private static let launch = ["willFinishLaunching", "didFinishLaunching"]

    private func router(_ arguments: [String] = [], _ extra: [String: Any] = [:]) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let keys: [String: Any] = ["OUSuspendDelay": 0.05].merging(extra) { $1 }
            try RouterProcess.write(Self.app, ["reasons"] + arguments, in: directory, extra: keys)
        }
    }

    // MARK: Reasons

    @Test func launchForAURLSaysSo() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:x")
        #expect(try router.log(of: Self.app).contains("reason url"))
    }

    @Test func activationSaysSo() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.lifecycle(LifecycleInterface.activate, Self.app)
        #expect(try router.log(of: Self.app).dropFirst() == ["reason activation"] + Self.launch + ["didBecomeActive"])
    }

    @Test func callOfTheNameIsAMessage() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(Self.app)
        let name = try #require(BusName(Self.app))
        _ = try await router.connection.get(HandlerInterface.state, on: RemoteObject(name, ObjectPath(for: name)))
        try await eventually(router.log(of: Self.app).dropFirst()) {
            $0.elementsEqual(["reason message"] + Self.launch + ["didEnterBackground"])
        }
    }

    // MARK: Notifications

    @Test func notificationLaunchesAHandlerIntoTheBackground() async throws {
        let router = try await router()
        defer { router.stop() }
        let states = try await router.states()
        try await router.notify(Self.app, "battery", "low")
        let notified = ["notification battery low", "didEnterBackground"]
        #expect(try router.log(of: Self.app).dropFirst() == ["reason message"] + Self.launch + notified)
        try await states.wait(for: "suspended", of: Self.app)
    }

    @Test func notificationWakesASuspendedHandler() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:x")
        let pid = try await router.status(of: Self.app).pid
        try await router.lifecycle(LifecycleInterface.suspend, Self.app)
        let states = try await router.states()
        try await router.notify(Self.app, "battery", "low")
        #expect(try router.log(of: Self.app).last == "notification battery low")
        try await states.wait(for: "suspended", of: Self.app)
        #expect(try await router.status(of: Self.app).pid == pid)
    }

    /// The suspend delay ends long before.
    @Test func handlerSaysWhenItIsDone() async throws {
        let router = try await router(["slow-notification=1000"])
        defer { router.stop() }
        try await router.notify(Self.app, "battery", "low")
        #expect(try router.log(of: Self.app).suffix(2) == ["notification is over", "didEnterBackground"])
        let states = try await router.states()
        try await router.notify(Self.app, "battery", "full")
        #expect(try router.log(of: Self.app).suffix(2) == ["notification battery full", "notification is over"])
        try await states.wait(for: "suspended", of: Self.app)
    }

    @Test func notificationWithoutTheOptionStartsNothing() async throws {
        let router = try await router()
        defer { router.stop() }
        let error = try await #require(throws: CallError.self) {
            try await router.notify(Self.app, "battery", "low", NotificationOptions())
        }
        #expect("\(error)".contains("com.example.app is not running"), "\(error)")
        #expect(try router.log(of: Self.app) == [])
    }

    @Test func handlerInAnotherLanguageLearnsTheReason() async throws {
        let router = try await RouterProcess { directory in
            let notes = directory.appending(path: "notes").path
            try ScriptHandler.write(Self.app, "woken_handler", [notes], in: directory)
        }
        defer { router.stop() }
        try await router.lifecycle(LifecycleInterface.wake, Self.app)
        #expect(try await router.status(of: Self.app).state == .known(.background))
        try await router.notify(Self.app, "battery", "low")
        let notes = try String(contentsOf: router.bus.directory.appending(path: "notes"), encoding: .utf8)
        #expect(notes == "message\nmessage battery=low\n")
    }

    @Test func handlerOfAnEarlierContractIsLaunchedAsBefore() async throws {
        let router = try await RouterProcess { directory in
            try ScriptHandler.write(Self.app, "suspended_handler", ["keep"], in: directory)
        }
        defer { router.stop() }
        try await router.notify(Self.app, "battery", "low")
        #expect(try await router.status(of: Self.app).state == .known(.background))
    }
}

extension RouterProcess {
    /// Notifies a handler of a change, and wakes it unless the options say something else.
    func notify(_ id: String, _ kind: String, _ value: Value, _ options: NotificationOptions? = nil) async throws {
        var waking = NotificationOptions()
        waking.wakes = true
        _ = try await connection.call(
            LifecycleInterface.notifyWithOptions,
            on: RouterService.object,
            Arguments(id, kind, value, options ?? waking),
            timeout: .seconds(60)
        )
    }
}
