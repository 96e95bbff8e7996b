import OpenURLBus
import Reactor

@testable import URLRouter

/// A desktop whose notifications the test clicks on.
final class FakeDesktop: ReminderShowing, Sendable {
    private struct State {
        var shown: [Reminder] = []
        var closed: [Int] = []
        var failures: [OpenURLError] = []
    }

    /// A closure of the router, which the test calls only in the router's isolation.
    private struct End: @unchecked Sendable {
        let body: (ReminderEnd) -> Void
    }

    private let state = Lock(State())
    private let ends = Lock<[End]>([])

    init(failing failures: [OpenURLError] = []) {
        state.withLock { $0.failures = failures }
    }

    var shown: [Reminder] { state.withLock { $0.shown } }
    /// The indices of the reminders that the router has taken off the screen.
    var closed: [Int] { state.withLock { $0.closed } }

    func show(
        _ reminder: Reminder,
        onEnd: @escaping (ReminderEnd) -> Void
    ) async throws(OpenURLError) -> () -> Void {
        let failure = state.withLock { $0.failures.isEmpty ? nil : $0.failures.removeFirst() }
        if let failure { throw failure }
        let index = state.withLock {
            $0.shown.append(reminder)
            return $0.shown.count - 1
        }
        let end = End(body: onEnd)
        ends.withLock { $0.append(end) }
        return { self.state.withLock { $0.closed.append(index) } }
    }

    func click(_ index: Int, _ token: String?, in router: isolated URLRouter) {
        ends.withLock { $0[index] }.body(.clicked(token: token))
    }
}
