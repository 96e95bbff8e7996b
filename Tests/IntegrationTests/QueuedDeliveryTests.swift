import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// URLs that the router accepts now and delivers later, with real processes.
@Suite(.timeLimit(.minutes(10))) struct QueuedDeliveryTests {
    private static let app = "com.example.app"

    private var queued: OpenOptions {
        var options = OpenOptions()
        options.isQueued = true
        return options
    }

    @Test func queuedURLLaunchesItsHandler() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let result = try await router.open("app:1", queued)
        #expect(result.way == .queued)
        try await changes.wait(for: "delivered", of: result.id ?? "")
        #expect(try router.log(of: Self.app).contains("open app:1"))
    }

    /// The router is killed after it has accepted the URL. The handler does not exist until the next router runs.
    @Test func acceptedURLsSurviveTheRoutersDeath() async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["CFBundleExecutable": "/nonexistent/program"])
        }
        defer { router.stop() }
        for number in 1...3 { _ = try await router.open("app:\(number)", queued) }
        try await router.kill()
        try RouterProcess.write(Self.app, [], in: router.bus.directory)
        try await router.startNext()
        try await eventually(await router.queuedURLs()) { $0.isEmpty }
        let opened = try router.log(of: Self.app).filter { $0.hasPrefix("open ") }
        #expect(Set(opened) == ["open app:1", "open app:2", "open app:3"])
    }

    @Test func replyToAQueuedURLCanBeHad() async throws {
        let router = try await RouterProcess([
            Self.app: ["pipe=text", "startDelay=200"], "com.example.no": ["decline=no"],
        ])
        defer { router.stop() }
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let stored = try await router.run([
            "env", "TRACEPARENT=\(parent)", RouterProcess.command.path, "open", "--queue", "--verbose", "--annotation",
            "a=b", "app:1",
        ])
        let id = try #require(stored.output.split(separator: " ").last?.dropLast(2))
        let waited = try await router.openurl("queue", "wait", String(id))
        #expect(waited.status == 0, "\(waited.errors)")
        #expect(waited.output.contains(#""annotation":{"a":"b"}"#), "\(waited.output)")
        #expect(waited.output.contains(#""traceparent":"\#(parent)""#), "\(waited.output)")
        #expect(waited.output.contains(#""request-id":"\#(id)""#), "\(waited.output)")
        #expect(!waited.output.contains("pipe"))
        // The reply is still there, for the next router too.
        #expect(await router.terminate() == 0)
        try await router.startNext()
        let again = try await router.openurl("queue", "wait", "--json", String(id))
        #expect(again.output.hasPrefix(#"{"handler":"\#(Self.app)","way":"launched""#), "\(again.output)")
        let refused = try #require(try await router.open("no:x", queued).id)
        let dead = try await router.openurl("queue", "wait", refused)
        #expect(dead.status == 1)
        #expect(dead.errors.hasSuffix(" declined the URL: no\n"), "\(dead)")
        #expect(try await router.openurl("queue", "wait", "7").status == 1)
        #expect(try await router.openurl("queue", "wait", "seven").status == 64)
    }

    @Test func crashedDeliveryIsRepeated() async throws {
        let router = try await RouterProcess([Self.app: ["crash=once"]])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let id = try await router.open("app://once", queued).id
        for _ in 1...2 { try await changes.wait(for: "waiting", of: id ?? "") }
        let entry = try #require(try await router.queuedURLs().first)
        #expect(entry.id == id)
        // On a busy machine the third attempt may have begun by now.
        #expect(entry.attempts >= 2)
        #expect(entry.error?.name == OpenURLError.Code.handlerCrashed.errorName)
        let opened = try router.log(of: Self.app).filter { $0 == "open app://once" }
        #expect(opened.count >= 2)
        _ = try await router.connection.call(QueueInterface.drop, on: RouterService.object, entry.id)
        #expect(try await router.queuedURLs() == [])
    }

    @Test func vetoedURLIsADeadLetter() async throws {
        let router = try await RouterProcess([Self.app: ["did=no"]])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let result = try await router.open("app:1", queued)
        try await changes.wait(for: "dead", of: result.id ?? "")
        let entry = try #require(try await router.queuedURLs().first)
        #expect(entry.id == result.id)
        #expect(entry.attempts == 1)
        #expect(entry.error?.name == OpenURLError.Code.launchVetoed.errorName)
    }

    @Test func endingRouterFinishesRunningDeliveries() async throws {
        let router = try await RouterProcess([Self.app: ["startDelay=300"]])
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let result = try await router.open("app:1", queued)
        try await changes.wait(for: "delivering", of: result.id ?? "")
        #expect(await router.terminate() == 0)
        #expect(try router.log(of: Self.app).contains("open app:1"))
        try await router.startNext()
        #expect(try await router.queuedURLs() == [])
        #expect(try router.log(of: Self.app).filter { $0 == "open app:1" }.count == 1)
    }
}

extension RouterProcess {
    func queuedURLs() async throws(CallError) -> [QueuedURL] {
        try await connection.call(QueueInterface.list, on: RouterService.object, "")
    }

    /// Returns the state changes of queued URLs from now on.
    func queueChanges() async throws -> SignalSequence<Arguments<String, String>> {
        try await subscribed(QueueInterface.stateChanged)
    }
}
