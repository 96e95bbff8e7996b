import OpenURLBus
import RFC1808
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The names that calls have.
@Suite(.timeLimit(.minutes(5))) struct CallNameTests {
    /// A program that the router does not know cannot choose the name.
    @Test func strangerLearnsTheNameThatTheHandlerGets() async throws {
        let handler: BusName = ":1.1"
        let stranger: BusName = ":1.99"
        let child = try RunningProcess()
        defer { child.end() }
        let bus = try FakeHandlers(["com.example.app": handler, stranger: stranger], processes: [handler: child.pid])
        let router = URLRouter([try .test("com.example.app")], on: bus, examine: { _, _, _ in .descends })
        _ = await router.status()
        #expect(await router.callerClass(handler) == .handler)
        var options = OpenOptions()
        options.requestID = RequestID(rawValue: "chosen")
        let call = Task { [options] in try await router.call("app://x-callback-url/add", options, caller: stranger) }
        let opened = try await eventually(bus.opened) { !$0.isEmpty }
        let url = try #require(opened.first)
        let name = try #require(bus.context(of: url)?.requestID)
        #expect(name != "chosen")
        let parameters = FormParameters(queryOf: try GenericURL(url))
        let answer = try #require(parameters["x-success"])
        _ = try await router.open(answer, from: handler)
        #expect(try await call.value.requestID == name)
        bus.answer(url)
    }
}
