import DBus
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The end of a handler's process that ends itself.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
    @Test func eventsBeforeTheEndHaveAsMuchTimeAsUsual() async throws {
        let handler = try await HandlerProcess("end-url=app:last")
        defer { handler.stop() }
        let last = Task { try await handler.open("app:last") }
        try await eventually(handler.log()) { $0.contains("open app:last") }
        // This URL arrives while the handler is still working on the other one.
        #expect(try await handler.open("app:next").isHandled)
        #expect(try await last.value.isHandled)
        #expect(await handler.nextOwner() == nil)
        #expect(try await handler.status() == 0)
        #expect(
            try handler.log().suffix(4) == ["open app:last", "didBecomeActive", "open app:next", "willTerminate"]
        )
    }
}
