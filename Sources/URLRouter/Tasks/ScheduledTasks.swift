internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Runs the tasks that handlers have scheduled, at their times and under their conditions.
///
/// There is one alarm, for the time by which the first task must be run; then all tasks whose times have come are run. While
/// no task waits, the router watches nothing. This belongs to the router's actor.
final class ScheduledTasks {
    let handlers: KnownHandlers
    let callers: Callers
    private let sessions: HandlerSessions
    private let monitor: Monitor
    /// Nil if there is nowhere to store tasks.
    private let store: TaskStore?
    private let systemBus: SystemBus
    private lazy var conditions = TaskConditions(systemBus, sessions.shared.tasks) { [weak self] in self?.update() }

    /// The tasks that are scheduled.
    var entries: [Key: Entry] = [:]
    private var lastNumber: UInt64 = 0
    /// The tasks that handlers have.
    private(set) var running: Set<Key> = []
    /// Whether the tasks of earlier routers are known.
    private var isLoaded = false
    private var isStarted = false
    /// Tries again to read the tasks of earlier routers.
    private let retry: RestartableTimer
    /// Whether a change is on its way to the disk, and the changes that wait for it, each of a call.
    private(set) var isChanging = false
    private(set) var turns: [CheckedContinuation<Void, Never>] = []
    private var alarm: WallClockAlarm?
    /// The clock's time when the alarm was made, or when the clock was last set, and when that was. Nil without an alarm.
    private var clock: (time: UInt64, at: ContinuousClock.Instant)?

    /// Number of handlers that may have a task at the same time.
    private static let handlersAtOnce = 4

    /// A task's name among those of all handlers.
    struct Key: Hashable, Comparable {
        let handler: String
        let name: String

        static func < (first: Key, second: Key) -> Bool {
            (first.handler, first.name) < (second.handler, second.name)
        }
    }

    struct Entry {
        var task: ScheduledTask
        /// Distinguishes the task from an earlier one with its name.
        let number: UInt64
    }

    init(
        _ handlers: KnownHandlers,
        _ sessions: HandlerSessions,
        _ callers: Callers,
        _ monitor: Monitor,
        _ systemBus: SystemBus,
        _ store: TaskStore?
    ) {
        self.handlers = handlers
        self.sessions = sessions
        self.callers = callers
        self.monitor = monitor
        self.systemBus = systemBus
        self.store = store
        retry = RestartableTimer(on: sessions.shared.loop)
    }

    var log: Logger { sessions.shared.log }

    var now: UInt64 { UInt64(clamping: WallClock.milliseconds) }

    // MARK: Storage

    /// Reads the tasks of earlier routers, unless they are known.
    ///
    /// - Parameter toChange: whether they will be changed.
    /// - Throws: `failed` with the reason. The next call tries again.
    func load(toChange: Bool = false) async throws(RemoteError) {
        guard !isLoaded, let stored = try await store?.load(toChange: toChange) else { return }
        // In the meantime, another call may have read them, and changed some.
        guard !isLoaded else { return }
        for var task in stored {
            task.limitWait(from: now)
            entries[Key(handler: task.handler, name: task.name)] = newEntry(task)
        }
        isLoaded = true
        update()
    }

    /// Makes a change after those that have begun before, so that it starts from what is on disk.
    func inTurn<Result, Failure: Error>(_ change: () async throws(Failure) -> Result) async throws(Failure) -> Result {
        // The change may have ended before the closure runs, and then nothing would end the wait.
        while isChanging { await withCheckedContinuation { isChanging ? turns.append($0) : $0.resume() } }
        isChanging = true
        defer {
            isChanging = false
            if !turns.isEmpty { turns.removeFirst().resume() }
        }
        return try await change()
    }

    func newEntry(_ task: ScheduledTask) -> Entry {
        lastNumber += 1
        return Entry(task: task, number: lastNumber)
    }

    /// Writes the tasks.
    ///
    /// - Throws: `failed` with the reason.
    func save() async throws(RemoteError) {
        guard let store else {
            throw RemoteError(.failed, "there is no directory for tasks; set HOME or XDG_STATE_HOME")
        }
        try await store.save(entries.sorted { $0.key < $1.key }.map(\.value.task))
    }

    // MARK: Times and conditions

    /// Starts to run tasks, including those that an earlier router has left. Returns at once.
    func start() {
        isStarted = true
        sessions.shared.tasks.start { [self] in
            do throws(RemoteError) {
                try await load()
            } catch {
                log.notice("no tasks are run for now: \(error.message)")
                if isStarted { retry.start(in: Self.pause) { [weak self] in self?.start() } }
            }
            update()
        }
    }

    /// How long the router waits until it tries again to read the tasks.
    private static let pause = Duration.seconds(60)

    /// Starts no more tasks, and leaves them to the next router. It runs those again that have no answer yet.
    func stop() async {
        isStarted = false
        retry.cancel()
        setAlarm(nil)
        conditions.follow([])
        await inTurn { await store?.release() }
    }

    /// Starts the tasks that may run now, and prepares for the others.
    func update() {
        guard isStarted else { return }
        // Neither a task's time nor the end of a quarantine may come between two looks at the clock: nothing would start
        // the task afterwards.
        let now = now
        let owners = Set(entries.values.lazy.map(\.task).filter { $0.next <= now }.map(\.handler))
        let quarantines: [String: UInt64] = owners.reduce(into: [:]) { result, owner in
            result[owner] = sessions.quarantine(of: owner).map { UInt64($0 / .milliseconds(1)) }
        }
        startDue(at: now, quarantines)
        let waiting = entries.filter { !running.contains($0.key) }.values.map(\.task)
        let due = waiting.filter { $0.next <= now }
        conditions.follow(Set(due.flatMap(\.requirements)))
        let quarantineEnd = due.compactMap { quarantines[$0.handler] }.min().map { now + $0 }
        // Only an alarm that is set reports that the clock was set, which moves all tasks.
        setAlarm([waiting.wakeUp(at: now), quarantineEnd].compactMap(\.self).min() ?? (entries.isEmpty ? nil : .max))
    }

    private func startDue(at now: UInt64, _ quarantines: [String: UInt64]) {
        let due = entries.filter { $0.value.task.next <= now && !running.contains($0.key) }
            .sorted { ($0.value.task.next, $0.key) < ($1.value.task.next, $1.key) }
        for (key, entry) in due
        where quarantines[entry.task.handler] == nil && mayStart(entry.task) && begin(key) {
            sessions.shared.tasks.start { [self] in _ = await run(key, entry) }
        }
    }

    /// Returns whether a task that is due may be started, unless its handler is in quarantine.
    private func mayStart(_ task: ScheduledTask) -> Bool {
        let busy = Set(running.map(\.handler))
        return busy.count < Self.handlersAtOnce && !busy.contains(task.handler)
            && task.requirements.allSatisfy(conditions.isTrue)
    }

    private func setAlarm(_ time: UInt64?) {
        guard let time else {
            alarm?.cancel()
            (alarm, clock) = (nil, nil)
            return
        }
        if alarm == nil {
            do throws(Errno) {
                alarm = try WallClockAlarm(on: sessions.shared.loop) { [weak self] event in
                    if event == .clockWasSet { self?.clockWasSet() }
                    self?.update()
                }
                clock = (now, .now)
            } catch {
                log.error("tasks are not run at their times: no alarm can be set: \(error)")
            }
        }
        alarm?.set(Int64(clamping: time))
    }

    /// Moves the times of all tasks by as much as the clock has been set, because they wait for a time to pass, and not for
    /// what the clock shows.
    private func clockWasSet() {
        guard let earlier = clock else { return }
        clock = (now, .now)
        let passed = Int64(earlier.at.duration(to: .now) / .milliseconds(1))
        // Every wake-up from sleep is reported too, without a jump.
        let jump = Int64(now) - Int64(earlier.time) - passed
        guard jump.magnitude >= 1000 else { return }
        for key in entries.keys { entries[key]?.task.move(by: jump) }
        sessions.shared.tasks.start { [self] in
            do throws(RemoteError) {
                try await inTurn { () async throws(RemoteError) in try await save() }
            } catch {
                log.error("the times of tasks cannot be stored after the clock was set: \(error.message)")
            }
        }
    }

    /// Returns a task as callers see it now.
    func shown(_ key: Key, _ task: ScheduledTask) -> ScheduledTask {
        var task = task
        if running.contains(key) {
            task.state = .known(.running)
        } else if task.next <= now {
            task.state = .known(.waiting)
            task.unmet = task.requirements.filter { !conditions.isTrue($0) }
        }
        return task
    }

    // MARK: Runs

    /// Notes that a task is about to run.
    ///
    /// - Returns: false if it is running already.
    func begin(_ key: Key) -> Bool { running.insert(key).inserted }

    /// Runs a task after ``begin(_:)``, and notes the outcome unless another task has its name by then. Returns the
    /// handler's answer.
    func run(_ key: Key, _ entry: Entry) async -> Result<Reported<TaskResult>, OpenURLError> {
        let outcome = await attempt(entry.task)
        await inTurn {
            // A router that is ending does not know whether the next one has the file.
            if isStarted, entries[key]?.number == entry.number { await note(outcome, of: key) }
        }
        // Until the outcome is noted, the task is still due, and would be run again.
        running.remove(key)
        update()
        return outcome
    }

    private func attempt(_ task: ScheduledTask) async -> Result<Reported<TaskResult>, OpenURLError> {
        guard let handler = handlers.registry.handler(named: task.handler), handler.canBeWoken else {
            return .failure(OpenURLError(unknownHandler: task.handler))
        }
        var context = WakeContext(.known(.task))
        context.task = task.name
        let observed = monitor.observe(.wake, nil)
        observed?.note { $0.handler = task.handler }
        let request = OpenRequest(waking: context, observed: observed)
        request.account = "the handler \(task.handler)"
        let session = sessions.obtain(for: handler)
        do throws(OpenURLError) {
            try await session.wake(request)
            let result = request.wakeAnswer.result
            if case .unknown(let word) = result, result != .absent {
                let words = Reported<TaskResult>.words.joined(separator: ", ")
                throw OpenURLError(
                    .invalidReply,
                    "\(session.id) answered with the result '\(printable(word.cut(toBytes: 64)))'; it must be one of \(words)"
                )
            }
            observed?.end(nil)
            return .success(result)
        } catch {
            observed?.end(error)
            return .failure(OpenURLError(error.code, session.withoutSecrets(error.text)))
        }
    }

    private func note(_ outcome: Result<Reported<TaskResult>, OpenURLError>, of key: Key) async {
        guard var task = entries[key]?.task else { return }
        let staysScheduled: Bool
        switch outcome {
        case .success(.known(.failed)):
            staysScheduled = fail(&task, OpenURLError(.declined, "the handler says that the task has failed"))
        case .success(let result): staysScheduled = task.end(hasNewData: result != .known(.noData), at: now)
        case .failure(let error): staysScheduled = fail(&task, error)
        }
        if staysScheduled { entries[key]?.task = task } else { entries[key] = nil }
        do throws(RemoteError) {
            try await save()
        } catch {
            // A later router may run it again.
            let metadata: Logger.Metadata = ["handler": "\(key.handler)"]
            log.error("the outcome of a task cannot be stored: \(error.message)", metadata: metadata)
        }
    }

    private func fail(_ task: inout ScheduledTask, _ error: OpenURLError) -> Bool {
        let error = OpenURLError(error.code, error.text.cut(toBytes: ScheduledTask.errorBytes))
        let isLast = task.failures + 1 >= ScheduledTask.attempts
        // Without its handler, a repeated task would be tried for ever.
        let isRunAgain = task.fail(error, at: now) && !(isLast && error.code == .noHandler)
        let name = printable(task.name)
        let metadata: Logger.Metadata = ["handler": "\(task.handler)"]
        if isRunAgain {
            log.notice("its task '\(name)' has failed: \(error.text)", metadata: metadata)
        } else {
            log.warning("its task '\(name)' is given up: \(error.text)", metadata: metadata)
        }
        return isRunAgain
    }
}
