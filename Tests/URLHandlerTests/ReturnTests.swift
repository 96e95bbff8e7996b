import DBus
import OpenURLBus
import RFC1808
import Synchronization
import Testing

@testable import URLHandler

/// The way back to the sender of a URL.
@MainActor @Suite(.timeLimit(.minutes(10))) struct ReturnTests {
    private final class Route: WayBack {
        let taken = Mutex<[String]>([])

        func take(_ request: String, activationToken: String?) async throws(OpenURLError) {
            taken.withLock { $0.append("\(request) \(activationToken ?? "")") }
        }
    }

    private final class Sink: ProgressSink {
        func add(_ report: ProgressReport) {}
        func end() async {}
    }

    private final class Returning: ApplicationDelegate {
        func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse {
            try await application.returnToSource(activationToken: "token")
            try await Task.detached { try await application.returnToSource() }.value
            return true
        }
    }

    @Test func urlOfTheTaskLeadsBack() async throws {
        let route = Route()
        let application = Application("com.example.app", delegate: Returning(), wayBack: route)
        _ = await application.handle(try GenericURL("app:x"), OpenContext(), ArrivedURL("7", reports: Sink()))
        // A detached task has no URL.
        #expect(route.taken.withLock { $0 } == ["7 token", " "])
    }

    @Test func thereIsNoWayBackWithoutARouter() async {
        let application = Application("com.example.app", delegate: Returning())
        let error = OpenURLError(.notAllowed, "there is no router to switch back to the sender")
        await #expect(throws: error) { try await application.returnToSource() }
    }
}
