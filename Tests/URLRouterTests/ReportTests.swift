import OpenURLBus
import Testing

@testable import DBus
@testable import URLRouter

/// The reports of handlers, from the handler to the caller.
@Suite(.timeLimit(.minutes(5))) struct ReportTests {
    private static let owner: BusName = ":1.1"
    private let bus: FakeHandlers
    private let router: URLRouter

    init() throws {
        bus = try FakeHandlers(
            ["com.example.app": Self.owner, "com.example.other": ":1.2"],
            processes: [Self.owner: 1, ":1.2": 1]
        )
        router = URLRouter([try .test("com.example.app"), try .test("com.example.other")], on: bus)
    }

    private func request(_ url: String, token: String?) -> Task<OpenResult, any Error> {
        var options = OpenOptions()
        options.requestID = RequestID(rawValue: "r1")
        options.handleToken = token.flatMap(HandleToken.init)
        return Task { [options, router] in try await router.openURL(url, options, caller: ownConnection) }
    }

    private func report(_ fraction: Double, _ message: String, from caller: BusName = owner) async throws {
        let report = try #require(ProgressReport(fraction, message))
        try await router.reportProgress(report, on: "r1", caller: caller)
    }

    @Test func callerGetsTheFirstReportAndTheLastOneBeforeTheAnswer() async throws {
        let task = request("app:1", token: "t")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        for number in 0...1000 { try await report(Double(number) / 1000, "\(number)") }
        bus.answer("app:1")
        _ = try await task.value
        // The events are in order, so both reports came before the answer.
        await bus.wait(for: .reported(try #require(ProgressReport(0, "0")), to: ownConnection))
        await bus.wait(for: .reported(try #require(ProgressReport(1, "1000")), to: ownConnection))
    }

    @Test func heldReportIsPassedOnWithoutAnother() async throws {
        let task = request("app:1", token: "t")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        try await report(0.1, "a")
        try await report(0.2, "b")
        await bus.wait(for: .reported(try #require(ProgressReport(0.2, "b")), to: ownConnection))
        bus.answer("app:1")
        _ = try await task.value
    }

    @Test func onlyTheHandlerThatHasTheRequestReports() async throws {
        let other = Task { [router] in try await router.open("other:1") }
        await bus.wait(for: .opened("other:1", at: ":1.2"))
        let task = request("app:1", token: "t")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        for caller: BusName in [":1.2", ":1.3", ownConnection] {
            let error = await #expect(throws: OpenURLError.self) { try await report(1, "x", from: caller) }
            #expect(error?.code == .notAllowed)
        }
        bus.answer("app:1")
        _ = try await task.value
        // The request has its answer.
        await #expect(throws: OpenURLError.self) { try await report(1, "x") }
        bus.answer("other:1")
        _ = try await other.value
    }

    @Test func callerWithoutAHandleGetsNothing() async throws {
        let task = request("app:1", token: nil)
        await bus.wait(for: .opened("app:1", at: Self.owner))
        try await report(1, "x")
        bus.answer("app:1")
        _ = try await task.value
        #expect(bus.count(of: .reported(try #require(ProgressReport(1, "x")), to: ownConnection)) == 0)
    }
}
