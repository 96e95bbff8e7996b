import Glibc
import OpenURLBus
import Testing

@testable import DBus
@testable import URLRouter

/// The descriptors that requests keep open.
@Suite(.timeLimit(.minutes(5))) struct RequestDescriptorTests {
    private func options(_ descriptors: [UnixFD]) -> OpenOptions {
        var options = OpenOptions()
        options.annotation = .options(["files": .array(descriptors.map(Value.unixFD), of: "h")])
        return options
    }

    private func descriptors(_ count: Int) -> [UnixFD] {
        (0..<count).map { _ in UnixFD(owning: dup(STDERR_FILENO)) }
    }

    @Test func callerGetsHalfOfTheDescriptorsThatAreLeft() async throws {
        let bus = try FakeHandlers(["com.example.app": ":1.1"])
        var limits = RouterLimits()
        limits.requestDescriptors = 4
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        let refusal = OpenURLError(.limitsExceeded, "URLs without an answer hold too many descriptors")
        await #expect(throws: refusal) {
            try await router.open("app:3", options(descriptors(3)), caller: ownConnection)
        }
        let first = Task { try await router.open("app:2", options(descriptors(2)), caller: ownConnection) }
        await bus.wait(for: .opened("app:2", at: ":1.1"))
        await #expect(throws: refusal) {
            try await router.open("app:1", options(descriptors(1)), caller: ownConnection)
        }
        bus.answer("app:2")
        _ = try await first.value
        // The answer gives them back.
        let second = Task { try await router.open("app:1", options(descriptors(1)), caller: ownConnection) }
        await bus.wait(for: .opened("app:1", at: ":1.1"))
        bus.answer("app:1")
        _ = try await second.value
    }

    @Test func requestKeepsItsDescriptorsWhenTheCallLosesThem() async throws {
        let bus = try FakeHandlers(["com.example.app": ":1.1"])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let sent = descriptors(1)
        let number = sent[0].rawValue
        let open = Task { try await router.openURL("app:1", options(sent), caller: ownConnection) }
        await bus.wait(for: .opened("app:1", at: ":1.1"))
        // The connection does this when the caller leaves the bus.
        sent[0].closeNow()
        #expect(fcntl(number, F_GETFD) >= 0)
        bus.answer("app:1")
        _ = try await open.value
        // Later is too late.
        let error = OpenURLError(.cancelled, "the caller left the bus, which closed the annotation's descriptors")
        await #expect(throws: error) { try await router.openURL("app:2", options(sent), caller: ownConnection) }
    }
}
