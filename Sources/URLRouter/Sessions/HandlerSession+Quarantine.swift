internal import CLinux
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import UserFiles

/// A handler that crashes again and again is temporarily not started.
extension HandlerSession {
    func countCrash(_ exit: ProcessExit) {
        guard !process.isEnded else { return }
        // A process that ends before it is ready has failed, also with status 0.
        let isReady = machine.state != .starting
        if isReady, exit == .exited(status: 0) || exit == .unknown { return }
        crashes.add(.now, host.limits)
        if let time = crashes.quarantine(at: .now) {
            host.log.error("it crashed too often; not started for \(time.inWords)", metadata: ["handler": "\(id)"])
        }
    }

    /// Checks that the handler may be started.
    func checkQuarantine() async throws(OpenURLError) {
        await updateQuarantine()
        guard let left = quarantine, let end = quarantinedUntil else { return }
        throw OpenURLError(
            .launchFailed,
            "\(id) crashed too often, \(host.limits.crashes) times within \(host.limits.crashPeriod.inWords); it is not started before "
                + "\(clock(time_t(end))), in \(left.components.seconds + 1) s; 'openurl activate --reset \(id)' starts it now"
        )
    }

    /// Ends a quarantine if the program file has been replaced.
    func updateQuarantine() async {
        guard quarantine != nil else { return }
        noteProgram(await host.launcher.programVersion(of: handler))
    }

    /// Notes the program file of a launch. The crashes of a file that has been replaced do not count.
    func noteProgram(_ program: FileVersion?) {
        if !crashes.concerns(program) { crashes = CrashHistory(of: program) }
    }

    /// The time for which the handler is not started; nil if it may be started.
    var quarantine: Duration? { crashes.quarantine(at: .now) }

    /// The time before which the handler is not started, in seconds since 1970, rounded up; nil if it may be started.
    var quarantinedUntil: UInt64? {
        guard let left = quarantine else { return nil }
        let end = currentTime() + Int64(left / .nanoseconds(1))
        return UInt64(clamping: (end + 999_999_999) / 1_000_000_000)
    }

    /// Forgets the crashes, so that the handler may be started at once.
    func forgetCrashes() {
        if crashes.quarantine(at: .now) != nil {
            host.log.notice("its crashes are forgotten; it may be started", metadata: ["handler": "\(id)"])
        }
        crashes = CrashHistory()
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
