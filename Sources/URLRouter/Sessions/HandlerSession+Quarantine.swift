internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor

/// A handler that crashes again and again is not started for a while.
extension HandlerSession {
    func countCrash(_ exit: ProcessExit) {
        guard !process.isEnded else { return }
        // A process that ends before it is ready has failed, also with status 0.
        let isReady = machine.state != .starting
        if isReady, exit == .exited(status: 0) || exit == .unknown { return }
        crashes.add(.now, host.limits)
        if let time = crashes.quarantine(at: .now) {
            host.log.error("it crashes too often; not started for \(time)", metadata: ["handler": "\(id)"])
        }
    }

    func checkQuarantine() throws(OpenURLError) {
        guard let left = crashes.quarantine(at: .now) else { return }
        let seconds = left.components.seconds + 1
        throw OpenURLError(
            .launchFailed,
            "\(id) ended \(host.limits.crashes) times within \(host.limits.crashPeriod); it is not started before "
                + "\(clock(time(nil) + time_t(seconds))), in \(seconds) s"
        )
    }
}

/// A time of day in words, as the user's clock shows it.
private func clock(_ time: time_t) -> String {
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
