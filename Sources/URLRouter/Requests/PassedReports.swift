internal import DBus
internal import OpenURLBus
internal import Reactor

/// Passes a handler's reports about one request on to the caller.
///
/// It belongs to the router's actor.
final class PassedReports {
    private let handle: RequestHandle
    private let signals: any RouterSignals
    private let timer: RestartableTimer
    private var pace = ReportPace()

    init(to handle: RequestHandle, _ signals: any RouterSignals, _ loop: EventLoop) {
        self.handle = handle
        self.signals = signals
        timer = RestartableTimer(on: loop)
    }

    /// Passes a report on, either now or when its time has come.
    func add(_ report: ProgressReport) {
        switch pace.add(report, at: .now) {
        case .pass: send(report)
        case .hold(let time): timer.start(at: time) { self.sendHeld() }
        case .replace: break
        }
    }

    /// Passes the last report on. Call this before the answer.
    func end() {
        timer.cancel()
        sendHeld()
    }

    private func sendHeld() {
        if let report = pace.take(at: .now) { send(report) }
    }

    private func send(_ report: ProgressReport) {
        signals.report(report, from: handle.path, to: handle.owner)
    }
}
