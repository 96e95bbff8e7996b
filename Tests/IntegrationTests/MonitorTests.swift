import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The monitor and the log of a real router.
@Suite(.timeLimit(.minutes(10))) struct MonitorTests {
    private static let app = "com.example.app"
    private static let secret = "s3cretToken"

    /// The requests that the monitor tells, and that have ended.
    private final class Watch {
        private let signals: SignalSequence<[MonitorEntry]>
        private var waiting: [MonitorEntry] = []
        /// Every state that was told of a request, by the time of the request.
        var states: [UInt64: [MonitorEntry]] = [:]

        init(_ router: RouterProcess, _ change: (inout MonitorOptions) -> Void = { _ in }) async throws {
            signals = try await router.connection.signals(
                MonitorInterface.entries,
                matching: MatchRule(sender: RouterService.name)
            )
            var options = MonitorOptions()
            change(&options)
            try await router.connection.call(MonitorInterface.subscribe, on: RouterService.object, options)
        }

        /// Returns the next request that ends.
        func next() async throws -> MonitorEntry { try await state { $0.microseconds != nil } }

        /// Returns the next state of a request for which a condition holds.
        func state(where condition: (MonitorEntry) -> Bool) async throws -> MonitorEntry {
            while true {
                if !waiting.isEmpty {
                    let entry = waiting.removeFirst()
                    states[entry.time, default: []].append(entry)
                    if condition(entry) { return entry }
                    continue
                }
                waiting = try await signals.next { _ in true }.body
            }
        }
    }

    private func logged(
        _ router: RouterProcess,
        _ change: (inout MonitorFilter) -> Void = { _ in }
    ) async throws -> [MonitorEntry] {
        var filter = MonitorFilter()
        change(&filter)
        return try await router.connection.call(MonitorInterface.log, on: RouterService.object, filter)
    }

    @Test func monitorSeesEachKindOfRequest() async throws {
        let router = try await RouterProcess([
            Self.app: [], "com.example.veto": ["will=no"], "com.example.no": ["decline=no \(Self.secret) here"],
        ])
        defer { router.stop() }
        let watch = try await Watch(router)

        _ = try await router.open("app://u:\(Self.secret)@host/a?token=\(Self.secret)#f")
        let launch = try await watch.next()
        #expect(launch.kind == .known(.open))
        #expect(launch.url == "app://…@host/a?…#…")
        #expect(launch.handler == Self.app)
        #expect(launch.rule == "nothing else claims this URL")
        #expect(launch.decision == .known(.allow))
        #expect(launch.way == .known(.launched))
        #expect(launch.error == nil)
        #expect(launch.pid == UInt32(getpid()))
        #expect(launch.callerClass == .known(.user))
        #expect(launch.requestID != nil)
        #expect(launch.trace.first?.name == "processStarted")
        #expect(launch.trace.contains { $0.name == "didFinishLaunching" })
        #expect(launch.microseconds ?? 0 >= launch.trace.last?.microseconds ?? .max)

        #expect(try await router.failure("veto:x").code == .launchVetoed)
        let veto = try await watch.next()
        #expect(veto.error?.name == OpenURLError.Code.launchVetoed.errorName)
        // The router's own steps are known although the open has failed.
        #expect(veto.trace.map(\.name) == ["processStarted", "ready"])

        #expect(try await router.failure("no:x?t=\(Self.secret)").code == .declined)
        #expect(try await watch.next().error?.message == "com.example.no declined the URL: no … here")

        #expect(try await router.openurl("policy", "deny", "app://bad").status == 0)
        #expect(try await router.failure("app://bad/").code == .notAllowed)
        let denied = try await watch.next()
        #expect(denied.decision == .known(.deny))
        #expect(denied.decisionReason?.contains("deny") == true)
        #expect(denied.handler == Self.app)

        #expect(try await router.failure("nobody:x").code == .noHandler)
        let lost = try await watch.next()
        #expect(lost.handler == nil)
        #expect(lost.source != nil)

        try await router.lifecycle(LifecycleInterface.suspend, Self.app)
        _ = try await router.open("app:again")
        #expect(try await watch.next().way == .known(.woken))
        try await router.lifecycle(LifecycleInterface.suspend, Self.app)
        try await router.lifecycle(LifecycleInterface.wake, Self.app)
        let wake = try await watch.next()
        #expect(wake.kind == .known(.wake))
        #expect(wake.handler == Self.app)
        #expect(wake.trace.map(\.name) == ["processResumed", "ready"])
        try await router.lifecycle(LifecycleInterface.activate, Self.app)
        #expect(try await watch.next().kind == .known(.activate))

        var queued = OpenOptions()
        queued.isQueued = true
        let id = try await router.open("app:queued", queued).id
        let both = [try await watch.next(), try await watch.next()]
        let stored = try #require(both.first { $0.kind == .known(.open) })
        let attempt = try #require(both.first { $0.kind == .known(.attempt) })
        #expect(stored.way == .known(.queued))
        #expect(stored.requestID == id)
        #expect(attempt.attempt == 1)
        #expect(attempt.requestID == id)
        #expect(attempt.source == stored.source)

        let options = CallbackOptions()
        _ = try await router.connection.call(
            CallbackInterface.request,
            on: RouterService.object,
            Arguments("", "login://auth/done", options)
        )
        _ = try await router.open("login://auth/done?code=\(Self.secret)")
        let callback = try await watch.next()
        #expect(callback.kind == .known(.callback))
        #expect(callback.url == "login://auth/done?…")
        #expect(callback.way == .known(.callback))

        // The log has the same requests, the latest first, and nothing below the state directory has the secret.
        let kinds = try await logged(router).map(\.kind.rawValue)
        #expect(kinds.filter { $0 != "open" }.sorted() == ["activate", "attempt", "callback", "wake"])
        #expect(kinds.first == "callback")
        #expect(kinds.count == 11)
        #expect(await router.terminate() == 0)
        try expectNoSecret(below: router.bus.directory.appending(path: "XDG_STATE_HOME"))
    }

    private func expectNoSecret(below directory: URL) throws {
        let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
        var names: [String] = []
        for case let file as URL in files where !file.hasDirectoryPath {
            names.append(file.lastPathComponent)
            #expect(try Data(contentsOf: file).range(of: Data(Self.secret.utf8)) == nil, "\(file.lastPathComponent)")
        }
        #expect(names.contains("log.sqlite"))
    }

    @Test func entryGrowsWithTheStepsOfARequest() async throws {
        let router = try await RouterProcess([Self.app: ["gate"]])
        defer { router.stop() }
        let watch = try await Watch(router)
        let request = Task { try await router.open("app:x") }
        _ = try await watch.state { $0.trace.map(\.name) == ["processStarted"] }
        let gate = router.openGate(of: Self.app)
        defer { withExtendedLifetime(gate) {} }
        _ = try await request.value
        let last = try await watch.next()
        let states = try #require(watch.states[last.time])
        #expect(states.count > 1)
        #expect(states.first?.microseconds == nil)
        #expect(states.contains { $0.microseconds == nil && $0.trace.map(\.name) == ["processStarted"] })
    }

    @Test func queriesAreShownToASubscriberThatWantsThem() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let watch = try await Watch(router) { $0.showsQueries = true }
        _ = try await router.open("app://user:pw@host/?token=\(Self.secret)")
        #expect(try await watch.next().url == "app://…@host/?token=\(Self.secret)")
        #expect(try await logged(router).map(\.url) == ["app://…@host/?…"])
    }

    @Test func logSurvivesARestartOfTheRouter() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        for number in 1...3 { _ = try await router.open("app:\(number)") }
        // The router writes what has ended before it ends.
        #expect(await router.terminate() == 0)
        try await router.startNext()
        _ = try await router.open("app:4")
        #expect(try await logged(router).map(\.url) == ["app:4", "app:3", "app:2", "app:1"])
        let page = try await logged(router) { $0.limit = 2 }
        #expect(page.map(\.url) == ["app:4", "app:3"])
        #expect(try await logged(router) { $0.before = page.last?.time }.map(\.url) == ["app:2", "app:1"])
        let file = router.bus.directory.appending(path: "XDG_STATE_HOME/openurl/log.sqlite")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func settingTurnsTheLogOff() async throws {
        let router = try await RouterProcess(
            [Self.app: []],
            wrapper: ["/usr/bin/env", "OPENURL_LOG=off"]
        )
        defer { router.stop() }
        _ = try await router.open("app:x")
        await #expect(throws: CallError.self) { try await logged(router) }
        let run = try await router.openurl("log")
        #expect(run.status == 1)
        #expect(run.errors.contains("the log is off (see OPENURL_LOG)"), "\(run.errors)")
        // The monitor works without it.
        let watch = try await Watch(router)
        _ = try await router.open("app:y")
        #expect(try await watch.next().url == "app:y")
        #expect(await router.terminate() == 0)
        let file = router.bus.directory.appending(path: "XDG_STATE_HOME/openurl/log.sqlite")
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func handlerAndSandboxAreRefused() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let sandbox = ["/usr/bin/unshare", "--user", "--map-root-user"]
        for command in [["monitor", "--count", "1"], ["log"]] {
            let run = try await router.run(sandbox + [RouterProcess.command.path] + command)
            #expect(run.status == 7, "\(run.output)\(run.errors)")
            #expect(run.errors.contains("a program in a sandbox may not call org.openurl.Monitor1"), "\(run.errors)")
        }
    }

    @Test func commandsShowTheRequests() async throws {
        let router = try await RouterProcess([Self.app: [], "com.example.no": ["decline=no"]])
        defer { router.stop() }
        #expect(try await router.openurl("app:x?\(Self.secret)").status == 0)
        #expect(try await router.openurl("no:x").status == 1)
        let log = try await router.openurl("log")
        #expect(log.output.split(separator: "\n").count == 2, "\(log.output)\(log.errors)")
        #expect(!log.output.contains(Self.secret))
        #expect(try await router.openurl("log", "--failed").output.split(separator: "\n").count == 1)
        #expect(try await router.openurl("log", "--since", "1h", "--scheme", "app").output.contains("app:x?…"))
        #expect(
            try await router.openurl("log", "--graph").output.contains(#"-> "com.example.no" [label="1, 1 failed""#)
        )
        let trace = try await router.openurl("open", "--trace", "-", "app:y?\(Self.secret)")
        let document = try JSONSerialization.jsonObject(with: Data(trace.output.utf8)) as? [String: Any]
        let events = try #require(document?["traceEvents"] as? [[String: Any]])
        let steps = events.filter { $0["ph"] as? String == "X" }.compactMap { $0["name"] as? String }
        // The handler runs already, and the router's steps are there all the same.
        let handlers = ["willEnterForeground", "open", "didBecomeActive"]
        #expect(steps == ["open app:y?…", "routed", "delivered"] + handlers + ["answered"])
        #expect(!trace.output.contains(Self.secret))
        // The log tells the steps of an open that has failed.
        try await router.lifecycle(LifecycleInterface.terminate, "com.example.no")
        let failed = try await router.openurl("open", "--trace", "-", "no:y")
        #expect(failed.status == 1)
        #expect(failed.output.contains(#""name":"processStarted""#), "\(failed.output)")
    }
}
