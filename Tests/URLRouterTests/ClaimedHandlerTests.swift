import DBus
import OpenURLBus
import SchemeRegistry
import Testing

@testable import URLRouter

/// Handlers that `openurl run` is running.
@Suite(.timeLimit(.minutes(5))) struct ClaimedHandlerTests {
    /// Otherwise, the registration would take the place of the registered handler when the program exits.
    @Test func runningHandlerIsNotRegisteredTemporarily() async throws {
        let handler = try Handler.test("com.example.app")
        let bus = try FakeHandlers([ownConnection: ownConnection])
        let router = URLRouter([handler], on: bus)
        try await router.claim("app", for: handler)
        #expect(await router.registry[handler.id]?.isTemporary == true)
        let error = await #expect(throws: OpenURLError.self) { try await router.registerTemporarily(handler) }
        #expect(error == OpenURLError(.notAllowed, "'openurl run' is running com.example.app; end it first"))
        bus.setOwner(of: ownConnection, to: nil)
        await router.wait { $0.registry[handler.id]?.isTemporary == false }
    }
}

extension URLRouter {
    /// Claims a scheme for a handler's own program on behalf of this process.
    fileprivate func claim(_ scheme: String, for handler: Handler) async throws {
        let program = try #require(handler.program)
        try await temporary.claim([try Scheme(scheme)], for: handler, program, caller: ownConnection)
    }

    fileprivate func registerTemporarily(_ handler: Handler) async throws(OpenURLError) {
        try await temporary.register(handler, caller: ownConnection)
    }
}
