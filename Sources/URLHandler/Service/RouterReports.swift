internal import DBus
internal import OpenURLBus
internal import Reactor
internal import Synchronization

/// The reports about one URL, on their way to the router that the URL came from.
final class RouterReports: ProgressSink {
    private let connection: Connection
    private let router: RemoteObject
    private let request: String
    private let pace = Mutex(ReportPace())

    init(_ connection: Connection, router: BusName, request: String) {
        self.connection = connection
        self.router = RemoteObject(router, RouterService.path, startsService: false)
        self.request = request
    }

    func add(_ report: ProgressReport) {
        let loop = connection.loop
        switch pace.withLock({ $0.add(report, at: .now) }) {
        case .pass: send(report)
        case .hold(let time): loop.execute { _ = loop.schedule(at: time) { self.sendHeld() } }
        case .replace: break
        }
    }

    func end() {
        sendHeld()
    }

    private func sendHeld() {
        if let report = pace.withLock({ $0.take(at: .now) }) { send(report) }
    }

    private func send(_ report: ProgressReport) {
        let (connection, router) = (connection, router)
        let input = Arguments(request, report.fraction, report.message)
        // The loop keeps the messages in order, so the last report comes before the answer.
        connection.loop.execute {
            connection.assumeIsolated { connection in
                do throws(CallError) {
                    try connection.send(LifecycleInterface.reportProgress, on: router, input)
                } catch {
                    // The connection has ended, so the caller learns nothing more.
                }
            }
        }
    }
}
