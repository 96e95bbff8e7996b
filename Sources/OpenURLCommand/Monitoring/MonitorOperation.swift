internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

/// A watch over the router's requests.
final class MonitorOperation {
    private let filter: MonitorFilter
    private let options: MonitorOptions
    private let count: Int?
    private let invocation: Invocation
    private let router: RouterClient
    private let view: RequestView
    private var ended = 0
    private var isDone = false

    /// - Parameter count: how many requests to wait for; nil to watch until Ctrl-C.
    init(
        _ filter: MonitorFilter,
        _ display: MonitorDisplayOptions,
        _ options: MonitorOptions,
        count: Int?,
        _ invocation: Invocation
    ) {
        self.filter = filter
        self.options = options
        self.count = count
        self.invocation = invocation
        router = RouterClient(on: invocation)
        view = RequestView(display, invocation)
    }

    /// Shows requests until Ctrl-C, until enough have ended, or until nothing reads the output any longer.
    func perform() throws(CommandFailure) -> Int32 {
        let bus = try router.bus()
        bus.receive(MonitorInterface.entries, from: RouterService.object) { [unowned self] in show($0) }
        let interrupt = invocation.makeInterrupt()
        defer { interrupt?.end() }
        _ = try router.call(MonitorInterface.subscribe, options)
        view.begin()
        invocation.output.flush()
        do throws(CallError) {
            try bus.followRouter(interrupt) { isDone }
        } catch {
            view.end()
            throw failure(error)
        }
        view.end()
        return 0
    }

    /// Returns the failure of a watch that ended too early. No outcome is in doubt, because a monitor does not wait for
    /// an answer.
    private func failure(_ error: CallError) -> CommandFailure {
        let reason =
            switch error {
            case .disconnected:
                invocation.host.map {
                    translated(
                        "the connection to the session bus of \($0.name) was lost; run the command again to see further requests"
                    )
                }
                    ?? translated(
                        "the connection to the session bus was lost; run the command again to see further requests"
                    )
            case .remote(let error) where error.name == .noReply:
                translated("the router exited; run the command again to see further requests")
            default: nil as String?
            }
        let failure = CommandFailure(error, refusal: ExitStatus.unavailable)
        guard let reason else { return failure }
        return CommandFailure(failure.name, reason, exitStatus: ExitStatus.unavailable)
    }

    private func show(_ entries: [MonitorEntry]) {
        for entry in entries where !isDone && filter.matches(entry) {
            view.show(entry)
            guard entry.microseconds != nil else { continue }
            ended += 1
            if ended == count { isDone = true }
        }
        invocation.output.flush()
        if !invocation.output.isIntact { isDone = true }
    }
}
