internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor

/// A handler that crashes again and again is not started for a while.
extension URLRouter {
    func countCrash(_ exit: ProcessExit, _ session: HandlerSession) {
        guard !session.isEnded else { return }
        // Who ends before it is ready has failed, whatever it says.
        let isReady = session.machine.state != .starting
        if isReady, exit == .exited(status: 0) || exit == .unknown { return }
        session.crashes.add(.now, limits)
        if let time = session.crashes.quarantine(at: .now) {
            log.error("it crashes too often; not started for \(time)", metadata: ["handler": "\(session.id)"])
        }
    }

    func checkQuarantine(of session: HandlerSession) throws(OpenURLError) {
        guard let left = session.crashes.quarantine(at: .now) else { return }
        let seconds = left.components.seconds + 1
        throw OpenURLError(
            .launchFailed,
            "\(session.id) ended \(limits.crashes) times within \(limits.crashPeriod); it is not started before "
                + "\(Self.clock(time(nil) + time_t(seconds))), in \(seconds) s"
        )
    }

    /// A time of day in words, as the user's clock shows it.
    private static func clock(_ time: time_t) -> String {
        var time = time
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return "later" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
            guard let start = buffer.baseAddress, strftime(start, buffer.count, "%H:%M:%S", &parts) > 0 else {
                return "later"
            }
            return String(cString: start)
        }
    }
}
