internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// Temporarily prevents a handler that has crashed repeatedly from being started.
///
/// It belongs to the router's actor.
final class Quarantine {
    private let id: BusName
    private let recognition: OwnerRecognition
    private let limits: RouterLimits
    private let log: Logger
    private var crashes = CrashHistory()

    init(_ id: BusName, _ shared: SharedParts) {
        self.id = id
        recognition = shared.launcher.recognition
        limits = shared.limits
        log = shared.log
    }

    /// Whether there are no crashes to forget.
    var isEmpty: Bool { crashes.isEmpty }

    /// How long until the handler may be started; nil if it may be started now.
    var timeLeft: Duration? { crashes.quarantine(at: .now) }

    /// When the handler may be started again, in seconds since 1970, rounded up; nil if it may be started now.
    var end: UInt64? {
        guard let timeLeft else { return nil }
        let end = currentTime() + Int64(timeLeft / .nanoseconds(1))
        return UInt64(clamping: (end + 999_999_999) / 1_000_000_000)
    }

    /// Counts a process's exit if it is a crash.
    ///
    /// - Parameter isReady: whether the process had become ready. If it exits before that, it has failed, even with
    ///   status 0.
    func count(_ exit: ProcessExit, isReady: Bool) {
        if isReady, exit == .exited(status: 0) || exit == .unknown { return }
        crashes.add(.now, limits)
        if let timeLeft {
            log.error("it crashed too often; not started for \(timeLeft.inWords)", metadata: ["handler": "\(id)"])
        }
    }

    /// Checks that the handler may be started.
    ///
    /// - Throws: `launchFailed` during the quarantine.
    func check(_ handler: Handler) async throws(OpenURLError) {
        await update(handler)
        guard let timeLeft, let end else { return }
        throw OpenURLError(
            .launchFailed,
            "\(id) crashed too often, \(limits.crashes) times within \(limits.crashPeriod.inWords); it will not be started until "
                + "\(clock(time_t(end))), in \(timeLeft.components.seconds + 1) s; 'openurl activate --reset \(id)' starts it now"
        )
    }

    /// Ends the quarantine if the handler's program file has been replaced.
    func update(_ handler: Handler) async {
        guard timeLeft != nil else { return }
        noteProgram(await recognition.programVersion(of: handler))
    }

    /// Notes the program file used for a launch. If the file has been replaced, earlier crashes do not count.
    func noteProgram(_ program: FileVersion?) {
        if !crashes.concerns(program) { crashes = CrashHistory(of: program) }
    }

    /// Forgets the crashes, so that the handler may be started immediately.
    func forgetCrashes() {
        if timeLeft != nil {
            log.notice("its crashes are forgotten; it may be started", metadata: ["handler": "\(id)"])
        }
        crashes = CrashHistory()
    }
}

/// Returns a time of day in words, as the user's clock shows it.
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
