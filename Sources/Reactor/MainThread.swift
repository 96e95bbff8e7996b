internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemPackage

/// A program's main thread, as the executor of the main actor, while it also runs a loop.
///
/// The concurrency runtime asks for the main actor's executor each time it switches to that actor, so the executor can
/// be replaced while the program runs. Swift 6.3 has no stable interface for this: `ExecutorFactory` is not public.
final class MainThread: SerialExecutor {
    /// How long a job of the main actor may block the main thread before the loop's own thread runs the loop. The
    /// actual time is between this value and twice this value.
    private static let patience = 2_000_000  // ns

    private let loop: EventLoop
    private let id = Atomic<UInt>(0)
    /// A timer that wakes the loop's own thread.
    private let alarm: CInt
    /// The event that gives the loop back to the main thread.
    private let handover: CInt

    init(of loop: EventLoop) throws(Errno) {
        self.loop = loop
        alarm = timerfd_create(CLOCK_MONOTONIC, CInt(TFD_CLOEXEC))
        guard alarm >= 0 else { throw Errno(rawValue: errno) }
        handover = eventfd(0, CInt(EFD_CLOEXEC))
        guard handover >= 0 else {
            let failure = Errno(rawValue: errno)
            close(alarm)
            throw failure
        }
        loop.share(with: self)
    }

    /// Makes this object the main actor's executor once the program's main thread has nothing else to do.
    func replaceMainExecutor() {
        // From now on the runtime holds the object.
        _ = Unmanaged.passRetained(self)
        let executor = unsafeBitCast(asUnownedSerialExecutor(), to: swift_executor.self)
        replace_main_executor(executor) { identity in
            guard let identity else { return }
            let main = Unmanaged<MainThread>.fromOpaque(identity).takeUnretainedValue()
            main.drainMainQueue()
            main.run()
        }
    }

    /// Runs the blocks of libdispatch's main queue among the main actor's jobs.
    private func drainMainQueue() {
        let queue = _dispatch_get_main_queue_handle_4CF()
        let drain: @Sendable () -> Void = { _dispatch_main_queue_callback_4CF(nil) }
        loop.execute { [loop] in
            _ = loop.watch(queue, for: .readable) { _ in
                Self.take(queue)
                loop.addMain(.closure(drain))
            }
        }
        // All the main actor's earlier jobs are in the queue by now.
        loop.addMain(.closure(drain))
    }

    /// Runs the loop and the main actor's jobs on the calling thread until the process ends.
    func run() {
        id.store(UInt(pthread_self()), ordering: .relaxed)
        blockSignals()
        loop.run(on: self)
    }

    // MARK: The main actor's executor

    func enqueue(_ job: consuming ExecutorJob) {
        loop.addMain(.task(UnownedJob(job)))
    }

    func isIsolatingCurrentContext() -> Bool? {
        id.load(ordering: .relaxed) == UInt(pthread_self()) && !loop.isOnThread
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the main actor")
    }

    // MARK: Switching between the two threads

    /// Wakes the loop's own thread after the ``patience``.
    func setAlarm() {
        var time = itimerspec()
        time.it_value.tv_nsec = Self.patience
        timerfd_settime(alarm, 0, &time, nil)
    }

    func waitForAlarm() { Self.take(alarm) }

    func giveLoop() {
        var one: UInt64 = 1
        _ = write(handover, &one, MemoryLayout.size(ofValue: one))
    }

    func waitForLoop() { Self.take(handover) }

    private static func take(_ descriptor: CInt) {
        var count: UInt64 = 0
        while read(descriptor, &count, MemoryLayout.size(ofValue: count)) < 0, errno == EINTR {}
    }

    // MARK: Signals

    /// Leaves signals to the loop's own thread, except those that the calling thread causes itself. A signal would cut
    /// short a call such as `sleep` on the main actor.
    private func blockSignals() {
        var set = sigset_t()
        sigfillset(&set)
        for signal in [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] { sigdelset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    func receiveSignals() {
        var set = sigset_t()
        sigfillset(&set)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}

/// The thread that runs a loop.
enum Turner { case own, main }

/// The main thread's part in a loop, guarded by the loop's lock.
struct MainThreadShare {
    let thread: MainThread
    /// The main actor's jobs.
    var jobs: [EventLoop.Job] = []
    /// The thread that runs the loop; nil while the main thread runs jobs of the main actor and the loop's own thread
    /// sleeps.
    var turner: Turner? = .own
    /// Whether the main thread is waiting for the loop.
    private var isWanted = false
    /// Number of times that the main thread has begun to run jobs of the main actor.
    private var batch: UInt = 0
    /// The batch during which the alarm was set; nil if the alarm is not set.
    private var watchedBatch: UInt?

    init(thread: MainThread) {
        self.thread = thread
    }

    /// Gives the loop to the main thread, if it wants the loop.
    mutating func handOver() -> Bool {
        guard isWanted else { return false }
        isWanted = false
        turner = .main
        return true
    }

    /// Takes the main actor's jobs for the main thread, which gives up the loop.
    ///
    /// An alarm is not cleared when the jobs have run. Usually the next jobs run before it goes off, and do not need
    /// another alarm.
    ///
    /// - Parameter jobs: An empty array, which gets the jobs.
    /// - Returns: Whether the alarm has to be set; nil if there are no jobs.
    mutating func takeJobs(_ jobs: inout [EventLoop.Job]) -> Bool? {
        if self.jobs.isEmpty { return nil }
        swap(&self.jobs, &jobs)
        turner = nil
        batch &+= 1
        if watchedBatch != nil { return false }
        watchedBatch = batch
        return true
    }

    /// Gives the loop to the main thread, either at once or, if that is not possible, when the loop's own thread hands
    /// it over.
    mutating func takeBack() -> Bool {
        isWanted = turner != nil
        if !isWanted { turner = .main }
        return !isWanted
    }

    /// The next duty of the loop's own thread after an alarm.
    enum Duty {
        case sleep
        /// Set the alarm again.
        case wait
        case standIn
    }

    mutating func alarm() -> Duty {
        guard turner == nil else {
            watchedBatch = nil
            return .sleep
        }
        if watchedBatch != batch {
            watchedBatch = batch
            return .wait
        }
        watchedBatch = nil
        turner = .own
        return .standIn
    }
}
