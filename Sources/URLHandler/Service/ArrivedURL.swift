package import OpenURLBus
package import Reactor

/// A URL that the handler has and that the router may cancel.
package final class ArrivedURL: Sendable {
    /// The URL that the current task handles.
    @TaskLocal static var current: ArrivedURL?

    private struct State {
        var isCancelled = false
        var hasReported = false
        var task: Task<Void, Never>?
    }

    let name: String
    /// The connection's event loop; nil without a connection.
    let loop: EventLoop?
    private let reports: any ProgressSink
    private let state = Lock(State())

    package init(_ name: String, on loop: EventLoop? = nil, reports: any ProgressSink) {
        self.name = name
        self.loop = loop
        self.reports = reports
    }

    /// Whether the router has cancelled the URL.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Cancels the URL. If the delegate is opening the URL, the delegate's task is cancelled; otherwise the delegate
    /// does not get the URL.
    package func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Records the task in which the delegate opens the URL.
    func begin(_ task: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Whether the delegate has reported something. Reports reach the router before the answer.
    var hasReported: Bool { state.withLock { $0.hasReported } }

    /// Records that the delegate has answered, and returns once the router has all reports.
    func end() async {
        let hasReported = state.withLock { state in
            state.task = nil
            return state.hasReported
        }
        if hasReported { await reports.end() }
    }

    func report(_ report: ProgressReport) {
        state.withLock { $0.hasReported = true }
        reports.add(report)
    }
}

/// The path that reports take to the router.
package protocol ProgressSink: Sendable {
    /// Takes one of the delegate's reports.
    func add(_ report: ProgressReport)
    /// Sends the last report, and returns when the delegate's answer may follow.
    func end() async
}
