internal import CLinux
internal import Glibc
internal import Synchronization
public import SystemPackage

/// One thread that waits for descriptors and deadlines, and runs the jobs of every actor that has the loop as its
/// executor.
///
/// An actor on a loop may use the objects that the loop drives, such as a C library or a descriptor, without a lock:
/// the loop's callbacks and the actor's methods run on the same thread, one at a time, in the order of arrival. The
/// loop does not wake up without a reason. If it is idle, it sleeps in `epoll_wait`; after ``expectInput()`` it polls
/// without sleeping, for at most 500 µs.
///
/// ### Task executor
///
/// The loop is also a task executor, for `Task(executorPreference:)`. In Swift 6.3 a resumed continuation returns to
/// its actor by way of the global executor. This detour switches threads twice and loses the order in which several
/// continuations were resumed. If the task prefers the loop, it returns to the actor directly. A program whose loop
/// takes all such jobs (`takeGlobalJobs()`) needs no preferences.
///
/// In other programs, a task without this preference passes through the loop's job queue each time it awaits an actor's
/// method, even if the method does not suspend. Other jobs may run in between. So if a condition decides whether a task
/// has to wait, check it in the closure that gets the continuation, and not before.
///
/// ### Thread
///
/// The thread starts with the first job, and ends only after ``stop()``, when no job is left. A program therefore has
/// one loop or a few, and shares them. If a job arrives after ``stop()``, it starts the thread again, so that no method
/// of an actor waits for an executor that has ended. If the system cannot start a thread, the process ends, because
/// everything that waits on the loop would wait forever.
///
/// ### Main thread
///
/// `shareMainThread()` lets the main thread run the loop and the main actor's jobs, so that going from one to the other
/// does not involve switching threads. If a job of the main actor blocks the main thread for more than a few
/// milliseconds, the loop's own thread stands in. So "the loop's thread" is whichever of the two threads is running the
/// loop; they never run it at the same time.
///
/// ### Deadlines
///
/// Deadlines are instants of `ContinuousClock`, which keeps running while the system sleeps. `epoll_wait` does not count
/// the time that the system sleeps. If a deadline passes during the sleep, it fires with the next event, or when the rest
/// of the wait is over.
///
/// The class is unchecked `Sendable` because everything outside `shared` is used only on the loop's thread.
/// ``checkIsolated()`` verifies the thread at each entry from outside.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    private struct Shared {
        var jobs: [Job] = []
        var isRunning = false
        var isStopping = false
        /// Whether the thread is waiting or is about to wait. Only then does a new job need the wakeup descriptor.
        var isWaiting = false
        /// The main thread's share of the loop; nil if it has none.
        var main: MainThreadShare?
    }

    enum Job {
        case task(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    /// The next step of a thread.
    private enum Step {
        case jobs, mainJobs(MainThread, setsAlarm: Bool), wait, handOver(MainThread)
    }

    /// Number of rounds of jobs before descriptors get their turn, so that jobs that add further jobs do not starve the
    /// input.
    private static let roundsBeforePolling = 16
    /// Time after which descriptors get their turn even if fewer rounds have run.
    private static let timeBeforePolling = Duration.milliseconds(5)

    private let shared = Lock(Shared())
    private let wakeup: CInt
    private let thread = Atomic<UInt>(0)
    private var descriptors: DescriptorSet
    private var timers = TimerQueue()
    private var busyPoll = BusyPoll()
    /// Number of calls of ``expectInput()`` since the last wait.
    private var expectedInputs = 0
    /// Number of expected inputs above which the loop sleeps without polling. In that case, messages are on their way
    /// in both directions, and several arrive at once while the loop sleeps.
    private static let fewInputs = 2
    /// Closures that run when no job is left.
    private var endings: [() -> Void] = []
    /// Whether jobs of the main actor may come between the loop's. It is set once, and read without the lock in each round.
    private let sharesMainThread = Atomic<Bool>(false)

    /// Creates a loop. Its thread starts with the first job.
    ///
    /// - Throws: The error from `epoll_create1(2)` or `eventfd(2)` if the process has no descriptor left.
    public init() throws(Errno) {
        descriptors = try DescriptorSet()
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

    /// Runs the loop on the calling thread until ``stop()``, for a program whose main thread is the loop.
    ///
    /// Begin the program's work in `begin`, because a job that is added before this call makes the loop start a
    /// separate thread.
    ///
    /// - Parameter begin: The first job of the loop.
    /// - Returns: False if the loop is already running on another thread. The call then returns at once, and `begin`
    ///   does not run.
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

    /// Ends the loop's thread once the jobs that it holds have run. Watches and timers no longer fire, and the timers
    /// are released.
    ///
    /// First close everything that depends on the loop, such as connections. An answer that has not arrived by then
    /// never will.
    public func stop() {
        shared.withLock { $0.isStopping = $0.main == nil }
        wake()
    }

    /// Runs the loop until it has been stopped, or until the main thread wants it.
    ///
    /// - Parameter main: The main thread, if it is the calling one.
    /// - Returns: The main thread, which now has the loop; nil if the loop has been stopped.
    @discardableResult
    private func turn(on main: MainThread? = nil) -> MainThread? {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        var round: [Job] = []
        while true {
            let hasMore: Bool
            switch runJobs(&round, on: main) {
            case .handOver(let main): return main
            case .wait: hasMore = false
            case .jobs, .mainJobs: hasMore = true
            }
            let ended: TimerQueue? = shared.withLock { shared in
                guard shared.isStopping, shared.jobs.isEmpty else { return nil }
                shared.isRunning = false
                shared.isWaiting = false
                thread.store(0, ordering: .relaxed)
                defer { timers = TimerQueue() }
                return timers
            }
            // A handler may hold its loop, so release the timers that no longer fire here, outside the lock.
            if ended != nil { return nil }
            // Because `wait` returns an array, handlers may add and cancel watches and timers during the iteration.
            for (watch, events) in wait(hasMore: hasMore) where watch.isEnabled {
                watch.handler?(events)
            }
            if timers.isEmpty { continue }
            // Collect the due timers before the first handler runs. Otherwise timers could starve the input: a timer
            // that a handler adds, even for a time in the past, must not fire before the next look at the descriptors.
            let now = ContinuousClock.now
            for timer in timers.popDue(by: now) { timers.takeHandler(timer)?() }
        }
    }

    /// Waits for descriptors. If there are jobs to run, the wait ends at once; otherwise it ends when a descriptor is
    /// ready or a deadline has passed.
    private func wait(hasMore: Bool) -> [(DescriptorWatch, DescriptorEvents)] {
        if hasMore { return descriptors.wait(milliseconds: 0) }
        defer { expectedInputs = 0 }
        guard (1...Self.fewInputs).contains(expectedInputs) else {
            return descriptors.wait(milliseconds: timers.millisecondsToNext())
        }
        let start = ContinuousClock.now
        defer { busyPoll.waitEnded(after: .now - start) }
        let ready = descriptors.waitBusily(until: start + busyPoll.window)
        return ready.isEmpty ? descriptors.wait(milliseconds: timers.millisecondsToNext()) : ready
    }

    /// Runs the jobs that have arrived, in order. In between, the main thread runs those of the main actor.
    ///
    /// - Parameter round: An empty array, which the caller reuses so that a turn does not allocate memory.
    /// - Returns: `wait` if no job is left. Otherwise, the loop must not sleep.
    private func runJobs(_ round: inout [Job], on main: MainThread?) -> Step {
        let start = ContinuousClock.now
        var step = Step.wait
        for _ in 0..<Self.roundsBeforePolling {
            // The next job may belong to the main actor and take a long time.
            if sharesMainThread.load(ordering: .relaxed) { runEndings() }
            step = takeJobs(&round, on: main, after: step)
            switch step {
            case .handOver: return step
            case .wait:
                if endings.isEmpty { return step }
                runEndings()
                step = .jobs
            case .mainJobs(let main, let setsAlarm): runMainJobs(&round, on: main, setsAlarm: setsAlarm)
            case .jobs:
                for job in round {
                    switch job {
                    case .task(let job): perform(job)
                    case .closure(let body): body()
                    }
                }
                clear(&round)
            }
            if ContinuousClock.now - start > Self.timeBeforePolling { break }
        }
        runEndings()
        return step
    }

    /// Runs a job of a task. If it says that the executor is not the one that the task prefers, the task passes through
    /// the queue each time it returns to an actor.
    private func perform(_ job: UnownedJob) {
        if Self.takesGlobalJobs.load(ordering: .relaxed) {
            job.runSynchronously(on: asUnownedSerialExecutor())
        } else {
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        }
    }

    /// Runs the closures of ``executeAfterJobs(_:)``, which may add jobs.
    private func runEndings() {
        if endings.isEmpty { return }
        let ready = endings
        endings = []
        for body in ready { body() }
    }

    /// Takes all of the loop's jobs or all of the main actor's jobs; if there are both, alternates between the two.
    private func takeJobs(_ round: inout [Job], on main: MainThread?, after last: Step) -> Step {
        shared.withLock { shared in
            if let main {
                let isTurn = if case .jobs = last { true } else { shared.jobs.isEmpty }
                if isTurn, let setsAlarm = shared.main?.takeJobs(&round) {
                    shared.isWaiting = false
                    thread.store(0, ordering: .relaxed)
                    return .mainJobs(main, setsAlarm: setsAlarm)
                }
            } else if shared.main?.handOver() == true, let main = shared.main?.thread {
                shared.isWaiting = false
                thread.store(0, ordering: .relaxed)
                return .handOver(main)
            }
            swap(&shared.jobs, &round)
            shared.isWaiting = round.isEmpty
            return round.isEmpty ? .wait : .jobs
        }
    }

    /// Keeps the memory for the next round, but frees it after a large burst.
    private func clear(_ round: inout [Job]) {
        round.removeAll(keepingCapacity: round.count <= 4096)
    }

    // MARK: The main thread

    /// Lets the main thread run the loop and the main actor's jobs, from the time when the program's async `main`
    /// first waits until the process ends.
    ///
    /// It also runs the blocks of libdispatch's main queue. While it is blocked, the loop's own thread runs the loop.
    /// The process's signals go to that thread, so they do not interrupt the main actor's calls. After this call,
    /// ``stop()`` does nothing.
    ///
    /// If `main` has waited already, or is not async, the main thread stays as it is. Call this on the main actor, for
    /// only one loop of the process, and not for a loop that ``runOnCurrentThread(beginning:)`` runs.
    ///
    /// - Throws: The error from `eventfd(2)` or `timerfd_create(2)` if the process has no descriptor left.
    package func shareMainThread() throws(Errno) {
        try MainThread(of: self).replaceMainExecutor()
    }

    /// Shares the loop with the main thread, which may run it from now on.
    func share(with main: MainThread) {
        sharesMainThread.store(true, ordering: .relaxed)
        shared.withLock { $0.main = MainThreadShare(thread: main) }
    }

    /// Runs the loop on the calling thread, which is the main one, until the process ends.
    func run(on main: MainThread) {
        let isRunning = shared.withLock { shared in
            defer { shared.isRunning = true }
            if !shared.isRunning { shared.main?.turner = nil }
            return shared.isRunning
        }
        if !isRunning { startThread { self.standIn(for: main) } }
        takeBack(main)
        turn(on: main)
    }

    /// Runs the main actor's jobs. Meanwhile the loop's own thread may run the loop.
    private func runMainJobs(_ round: inout [Job], on main: MainThread, setsAlarm: Bool) {
        if setsAlarm { main.setAlarm() }
        for job in round {
            switch job {
            case .task(let job): job.runSynchronously(on: main.asUnownedSerialExecutor())
            case .closure(let body): body()
            }
        }
        clear(&round)
        takeBack(main)
    }

    /// Gives the loop to the main thread.
    private func takeBack(_ main: MainThread) {
        let (isTaken, mustWake) = shared.withLock { shared in
            if shared.main?.takeBack() == true { return (true, false) }
            defer { shared.isWaiting = false }
            return (false, shared.isWaiting)
        }
        if mustWake { wake() }
        if !isTaken { main.waitForLoop() }
        thread.store(UInt(pthread_self()), ordering: .relaxed)
    }

    /// Runs the loop whenever a job of the main actor blocks the main thread.
    private func standIn(for main: MainThread) {
        main.receiveSignals()
        while true {
            main.waitForAlarm()
            switch shared.withLock({ $0.main?.alarm() }) {
            case .standIn:
                turn()
                main.giveLoop()
            case .wait: main.setAlarm()
            case .sleep, nil: break
            }
        }
    }

    /// Whether it is the main thread that runs the loop.
    var isTurnedByMainThread: Bool { shared.withLock { $0.main?.turner == .main } }

    /// Adds a job of the main actor, which the main thread will run.
    func addMain(_ job: Job) {
        let onLoop = isOnThread
        let mustWake = shared.withLock { shared in
            shared.main?.jobs.append(job)
            guard shared.isWaiting, !onLoop, shared.main?.turner == .main else { return false }
            shared.isWaiting = false
            return true
        }
        if mustWake { wake() }
    }

    // MARK: Jobs

    /// Whether one of the loops runs the process's jobs that belong to no executor.
    private static let takesGlobalJobs = Atomic<Bool>(false)

    /// Makes the loop run all jobs that belong to no executor, until the process ends. Each resumed continuation is
    /// such a job on its way back to its actor.
    ///
    /// This is for a program whose tasks neither block nor compute for long outside of its actors. Its tasks need no
    /// preference for a loop, which the runtime would look up under a lock each time a task returns to an actor.
    package func takeGlobalJobs() {
        Self.takesGlobalJobs.store(true, ordering: .relaxed)
        // From now on the runtime holds the object.
        replace_global_executor(
            { job, context in
                guard let job, let context else { return }
                let loop = Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue()
                loop.add(.task(unsafeBitCast(job, to: UnownedJob.self)))
            },
            Unmanaged.passRetained(self).toOpaque()
        )
    }

    /// Starts a task of an actor on this loop. Its suspended parts continue in the order in which they are resumed.
    @discardableResult
    package func startTask<Success: Sendable>(
        @_inheritActorContext _ body: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        guard Self.takesGlobalJobs.load(ordering: .relaxed) else {
            return Task(executorPreference: self, operation: body)
        }
        return Task(operation: body)
    }

    /// Starts a task like ``startTask(_:)``, and runs it up to its first suspension.
    @discardableResult
    package func startTaskImmediately<Success: Sendable>(
        @_inheritActorContext _ body: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        guard Self.takesGlobalJobs.load(ordering: .relaxed) else {
            return Task.immediate(executorPreference: self, operation: body)
        }
        return Task.immediate(operation: body)
    }

    /// Whether the current task continues on the loop directly when its continuation is resumed.
    package var isPreferredByCurrentTask: Bool {
        Self.takesGlobalJobs.load(ordering: .relaxed)
            || withUnsafeCurrentTask { $0?.unownedTaskExecutor == asUnownedTaskExecutor() }
    }

    /// Adds a job of an actor on this loop.
    public func enqueue(_ job: consuming ExecutorJob) {
        add(.task(UnownedJob(job)))
    }

    /// Runs a closure on the loop's thread, after the jobs that were added before.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        add(.closure(body))
    }

    /// Runs a closure on the loop's thread when no job is left, or before the loop looks at the descriptors, whichever
    /// comes first, so that the work of several jobs can be finished together. Call this on the loop's thread.
    public func executeAfterJobs(_ body: @escaping () -> Void) {
        checkIsolated()
        endings.append(body)
    }

    /// Runs a closure on the loop's thread and returns its result.
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

    /// Shows ThreadSanitizer that one thread's work happens before another's. ThreadSanitizer does not see this order
    /// if a continuation is resumed before its task waits.
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
        if mustStart { startThread { self.runOwnThread() } }
        if mustWake { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, MemoryLayout.size(ofValue: one))
    }

    private func runOwnThread() {
        guard let main = turn() else { return }
        main.giveLoop()
        standIn(for: main)
    }

    private func startThread(_ body: @escaping @Sendable () -> Void) {
        if let failure = Reactor.startThread("event loop", body) {
            // End the process: everything that waits on the loop would wait forever, and no caller could receive an
            // error.
            fatalError("the event loop's thread cannot be started: \(failure)")
        }
    }

    // MARK: Isolation

    var isOnThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Returns whether the calling thread is the loop's.
    public func isIsolatingCurrentContext() -> Bool? { isOnThread }

    /// Stops the process if the calling thread is not the loop's.
    public func checkIsolated() {
        precondition(isOnThread, "not on the event loop's thread")
    }

    // MARK: Descriptors and deadlines (on the loop's thread)

    /// Calls `handler` on the loop's thread each time the descriptor is ready for `events`, until the watch is
    /// cancelled.
    ///
    /// The descriptor is still yours; cancel the watch before you close it. Call this on the loop's thread.
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

    /// Makes the loop poll for input, for at most 500 µs, before it next sleeps.
    ///
    /// Call this on the loop's thread after sending a message, if the answer usually arrives sooner than the thread
    /// could fall asleep and wake up. The loop adapts the time to the length of earlier waits, and yields the processor
    /// between polls. After more than two such calls in one turn, it does not poll.
    public func expectInput() {
        checkIsolated()
        expectedInputs += 1
    }

    /// Calls `handler` once, on the loop's thread, when `deadline` has passed. Call this on the loop's thread.
    ///
    /// - Returns: The timer's ID, for ``cancelTimer(_:)``. Once the timer has fired or been cancelled, it keeps nothing
    ///   alive.
    @discardableResult
    public func schedule(at deadline: ContinuousClock.Instant, _ handler: @escaping () -> Void) -> TimerID {
        checkIsolated()
        return timers.add(deadline, handler)
    }

    /// Cancels a timer, unless it has already fired. Call this on the loop's thread.
    public func cancelTimer(_ id: TimerID) {
        checkIsolated()
        timers.cancel(id)
    }
}
