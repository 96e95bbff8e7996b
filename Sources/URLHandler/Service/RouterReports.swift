internal import DBus
internal import OpenURLBus
internal import Reactor

/// The reports about one URL, on their way to the router that sent the URL.
final class RouterReports: ProgressSink {
    private let connection: Connection
    private let router: RemoteObject
    private let request: String
    private let state = Lock(State())

    private struct State {
        var pace = ReportPace()
        /// The latest call.
        var call: Task<Void, Never>?
    }

    /// The time limit for the router's answer to a report.
    private static let timeout = Duration.seconds(1)

    init(_ connection: Connection, router: BusName, request: String) {
        self.connection = connection
        self.router = RemoteObject(router, RouterService.path, startsService: false)
        self.request = request
    }

    func add(_ report: ProgressReport) {
        let loop = connection.loop
        let decision = state.withLock { $0.pace.add(report, at: .now) }
        switch decision {
        case .pass: send(report)
        case .hold(let time): loop.execute { _ = loop.schedule(at: time) { self.sendHeld() } }
        case .replace: break
        }
    }

    func end() async {
        sendHeld()
        // The router forgets the request when it gets the answer, so the answer must not overtake a report.
        await state.withLock { $0.call }?.value
    }

    private func sendHeld() {
        if let report = state.withLock({ $0.pace.take(at: .now) }) { send(report) }
    }

    private func send(_ report: ProgressReport) {
        state.withLock { state in
            let earlier = state.call
            state.call = connection.loop.startTask { [connection, router, request] in
                await earlier?.value
                let input = Arguments(request, report.fraction, report.message)
                do throws(CallError) {
                    try await connection.call(
                        LifecycleInterface.reportProgress,
                        on: router,
                        input,
                        timeout: Self.timeout
                    )
                } catch {
                    // The router does not support reports, or has exited. The caller gets no more reports, and the work
                    // on the URL continues.
                }
            }
        }
    }
}
