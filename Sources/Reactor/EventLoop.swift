internal import CLinux
internal import Glibc
internal import Synchronization
public import SystemPackage

/// One thread that waits for descriptors and deadlines, and runs the jobs of every actor that names it as its executor.
///
/// An actor on a loop may touch what the loop drives (a C library, a descriptor) without a lock: callbacks of the loop
/// and the actor's own methods run on the same thread, one at a time, in the order of arrival. The loop never wakes without
/// a reason: with nothing to do it sits in `poll`, at most 500 µs after it was told to ``expectInput()``.
///
/// It is a task executor too, for `Task(executorPreference:)`: a continuation that is resumed in Swift 6.3 goes by way of
/// the global executor back to its actor, which costs a change of threads twice and loses the order in which several were
/// resumed. A task that prefers the loop comes straight back. One that does not goes through the loop's jobs at each `await` of
/// an actor's own methods, also where nothing waits: what decides whether it waits is looked at where its continuation is made.
///
/// The thread starts with the first job and ends only after ``stop()``, when no job is left: a program has one loop or a few
/// and shares them. A system that gives no thread ends the process, as nothing that waits on the loop could ever go on.
/// A job that arrives after ``stop()`` starts the thread once more, so that no actor's method is left waiting for an executor
/// that has ended.
///
/// Deadlines are those of `ContinuousClock`, which goes on while the system sleeps; `poll` does not: a deadline that passes
/// meanwhile fires with the next event, or when the rest of the wait is over.
///
/// Unchecked because everything outside `shared` is touched on the loop's thread alone, which ``checkIsolated()``
/// verifies at each entry from outside.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    private struct Shared {
        var jobs: [Job] = []
        var isRunning = false
        var isStopping = false
        /// The thread is about to wait, or waits, and only the wakeup descriptor tells it of a job.
        var isWaiting = false
    }

    private enum Job {
        case task(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    /// How many rounds of jobs run before descriptors get their turn: jobs that make jobs must not starve input.
    private static let roundsBeforePolling = 16

    private let shared = Lock(Shared())
    private let wakeup: CInt
    private let thread = Atomic<UInt>(0)
    private var descriptors = DescriptorSet()
    private var timers = TimerQueue()
    private var busyPoll = BusyPoll()
    private var isExpectingInput = false

    /// Makes a loop; its thread starts when there is something to run.
    ///
    /// - Throws: what `eventfd(2)` answers when the process has no descriptor left.
    public init() throws(Errno) {
        wakeup = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wakeup >= 0 else { throw Errno(rawValue: errno) }
        descriptors.add(
            DescriptorWatch(descriptor: wakeup, events: .readable, loop: nil) { [wakeup] _ in
                var count: UInt64 = 0
                _ = read(wakeup, &count, MemoryLayout.size(ofValue: count))
            }
        )
    }

    deinit {
        close(wakeup)
        descriptors.cancelAll()
    }

    // MARK: Running

    /// Runs the loop on the calling thread until ``stop()``; used by a program whose main thread is the loop.
    ///
    /// Any job starts the loop's own thread, so what the program does is begun here.
    ///
    /// - Parameter begin: the first thing that runs on the loop.
    /// - Returns: false, at once and without beginning anything, if the loop runs already on another thread.
    @discardableResult
    public func runOnCurrentThread(beginning begin: @escaping @Sendable () -> Void = {}) -> Bool {
        let mayRun = shared.withLock { shared in
            defer { shared.isRunning = true }
            if !shared.isRunning { shared.jobs.append(.closure(begin)) }
            return !shared.isRunning
        }
        if mayRun { turn() }
        return mayRun
    }

    /// Ends the loop's thread when the jobs that it holds have run; watches and timers no longer fire.
    ///
    /// What the loop carries is closed first: an answer that has not arrived by then never will.
    public func stop() {
        shared.withLock { $0.isStopping = true }
        wake()
    }

    private func turn() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        var round: [Job] = []
        while true {
            let hasMore = runJobs(&round)
            let mayEnd = shared.withLock { shared in
                guard shared.isStopping, shared.jobs.isEmpty else { return false }
                shared.isRunning = false
                shared.isWaiting = false
                thread.store(0, ordering: .relaxed)
                return true
            }
            if mayEnd { return }
            // A handler may add and cancel watches and timers, so neither is being changed while one runs.
            for (watch, events) in wait(hasMore: hasMore) where watch.isEnabled {
                watch.handler?(events)
            }
            if timers.isEmpty { continue }
            // One that a handler adds, even for a time that has passed, has its turn after the next look at the descriptors.
            let now = ContinuousClock.now
            for timer in timers.popDue(by: now) { timers.takeHandler(timer)?() }
        }
    }

    /// Waits for descriptors: not at all when there are jobs to run, else until one is ready or a deadline has passed.
    private func wait(hasMore: Bool) -> [(DescriptorWatch, DescriptorEvents)] {
        if hasMore { return descriptors.wait(milliseconds: 0) }
        if !isExpectingInput { return descriptors.wait(milliseconds: timers.millisecondsToNext()) }
        isExpectingInput = false
        let start = ContinuousClock.now
        defer { busyPoll.waitEnded(after: .now - start) }
        let ready = descriptors.waitBusily(until: start + busyPoll.window)
        return ready.isEmpty ? descriptors.wait(milliseconds: timers.millisecondsToNext()) : ready
    }

    /// Runs what has arrived, in order.
    ///
    /// - Parameter round: an empty array, used again so that a turn does not allocate.
    /// - Returns: whether jobs are left that should not wait for a descriptor.
    private func runJobs(_ round: inout [Job]) -> Bool {
        for _ in 0..<Self.roundsBeforePolling {
            shared.withLock { shared in
                swap(&shared.jobs, &round)
                shared.isWaiting = round.isEmpty
            }
            if round.isEmpty { return false }
            for job in round {
                switch job {
                case .task(let job):
                    job.runSynchronously(
                        isolatedTo: asUnownedSerialExecutor(),
                        taskExecutor: asUnownedTaskExecutor()
                    )
                case .closure(let body): body()
                }
            }
            // A burst's memory is not kept for ever.
            round.removeAll(keepingCapacity: round.count <= 4096)
        }
        return true
    }

    // MARK: Jobs

    /// Adds a job of an actor on this loop.
    public func enqueue(_ job: consuming ExecutorJob) {
        add(.task(UnownedJob(job)))
    }

    /// Runs a closure on the loop's thread, after what was enqueued before.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        add(.closure(body))
    }

    /// Runs a closure on the loop's thread and returns what it returns.
    public func run<T: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> T) async throws(E) -> T {
        let result: Result<T, E> = await withCheckedContinuation { continuation in
            execute {
                let result = Result(catching: body)
                self.synchronize()
                continuation.resume(returning: result)
            }
        }
        synchronize()
        return try result.get()
    }

    /// Tells ThreadSanitizer that one thread's work comes before another's: of a continuation that is resumed before its task
    /// waits, it sees nothing that orders the two.
    private func synchronize() {
        shared.withLock { _ in }
    }

    private func add(_ job: Job) {
        let onLoop = isOnThread
        let (mustStart, mustWake) = shared.withLock { shared in
            shared.jobs.append(job)
            if !shared.isRunning {
                shared.isRunning = true
                return (true, false)
            }
            guard shared.isWaiting, !onLoop else { return (false, false) }
            shared.isWaiting = false
            return (false, true)
        }
        if mustStart { startThread() }
        if mustWake { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, MemoryLayout.size(ofValue: one))
    }

    private func startThread() {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        // Only what is used takes memory; a property list may be nested deeply, and is read by recursion.
        pthread_attr_setstacksize(&attributes, 4 << 20)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        var id = pthread_t()
        let loop = Unmanaged.passRetained(self)
        let status = pthread_create(
            &id,
            &attributes,
            { argument in
                pthread_setname_np(pthread_self(), "event loop")
                if let argument { Unmanaged<EventLoop>.fromOpaque(argument).takeRetainedValue().turn() }
                return nil
            },
            loop.toOpaque()
        )
        guard status == 0 else {
            // Without its thread nothing that waits on the loop could ever go on, and there is nobody to tell.
            fatalError("the event loop's thread cannot be started: \(Errno(rawValue: status))")
        }
    }

    // MARK: Isolation

    private var isOnThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Tells whether the calling thread is the loop's.
    public func isIsolatingCurrentContext() -> Bool? { isOnThread }

    /// Stops the process when the calling thread is not the loop's.
    public func checkIsolated() {
        precondition(isOnThread, "not on the event loop's thread")
    }

    // MARK: Descriptors and deadlines (on the loop's thread)

    /// Calls `handler` on the loop's thread each time the descriptor is ready for `events`, until the watch is cancelled.
    ///
    /// The descriptor stays the caller's, who cancels the watch before closing it. Call it on the loop's thread.
    public func watch(
        _ descriptor: CInt,
        for events: DescriptorEvents,
        _ handler: @escaping (DescriptorEvents) -> Void
    ) -> DescriptorWatch {
        checkIsolated()
        let watch = DescriptorWatch(descriptor: descriptor, events: events, loop: self, handler: handler)
        descriptors.add(watch)
        return watch
    }

    func update(_ watch: DescriptorWatch) {
        checkIsolated()
        descriptors.update(watch.descriptor)
    }

    func remove(_ watch: DescriptorWatch) {
        checkIsolated()
        descriptors.remove(watch)
    }

    /// Lets the loop look for input for a moment before it sleeps the next time, 500 µs at most: for whoever has just sent
    /// what is usually answered sooner than a sleep ends.
    ///
    /// It learns from how long the waits are, and gives the processor to others in between. Call it on the loop's thread.
    public func expectInput() {
        checkIsolated()
        isExpectingInput = true
    }

    /// Calls `handler` on the loop's thread once, when `deadline` has passed. Call it on the loop's thread.
    ///
    /// - Returns: a name for ``cancelTimer(_:)``. A timer that has fired or was cancelled holds on to nothing.
    @discardableResult
    public func schedule(at deadline: ContinuousClock.Instant, _ handler: @escaping () -> Void) -> TimerID {
        checkIsolated()
        return timers.add(deadline, handler)
    }

    /// Forgets a timer; one that has fired already is ignored. Call it on the loop's thread.
    public func cancelTimer(_ id: TimerID) {
        checkIsolated()
        timers.cancel(id)
    }
}
