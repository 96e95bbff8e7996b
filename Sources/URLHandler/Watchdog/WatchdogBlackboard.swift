internal import OpenURLBus
internal import Reactor

/// The handler's current activity, written by the main actor and read on the event loop.
///
/// The router's watchdog asks what a handler is doing when no answer comes. The main actor may be blocked at that time,
/// so the event loop answers with whatever the main actor wrote last.
package final class WatchdogBlackboard: Sendable {
    private struct Content {
        var state = HandlerState.notRunning
        var phase = ""
        var phaseStart: UInt64 = 0
        var openTasks = 0
    }

    private let content = Lock(Content())

    var state: HandlerState { content.withLock { $0.state } }
    /// The name of the delegate's method that is running, or an empty string, and how long the method has been running,
    /// in microseconds.
    var phase: (name: String, microseconds: UInt64) {
        content.withLock { ($0.phase, TracePhase.now - $0.phaseStart) }
    }
    /// The number of background tasks that have begun but not ended.
    var openTasks: Int { content.withLock { $0.openTasks } }

    package init() {}

    func update(state: HandlerState) {
        content.withLock { $0.state = state }
    }

    func update(phase: String) {
        content.withLock {
            $0.phase = phase
            $0.phaseStart = TracePhase.now
        }
    }

    func update(openTasks: Int) {
        content.withLock { $0.openTasks = openTasks }
    }
}
