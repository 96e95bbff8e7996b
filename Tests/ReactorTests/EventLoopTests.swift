import Glibc
import Reactor
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// Runs `body` on the loop's thread and waits until it calls `done` there.
func onLoop<T: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable (_ done: @escaping (T) -> Void) -> Void) async
    -> T
{
    let value = await withCheckedContinuation { continuation in
        loop.execute { body { continuation.resume(returning: $0) } }
    }
    // This call makes the order visible to ThreadSanitizer: `done` wrote the value before this thread reads the value.
    await loop.run {}
    return value
}

func socketPair() throws -> (CInt, CInt) {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw Errno(rawValue: errno)
    }
    return (ends[0], ends[1])
}

private actor Counter {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var order: [Int] = []

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    func add(_ number: Int) {
        loop.preconditionIsolated()
        order.append(number)
    }

    func addAll(_ count: Int) {
        for number in 0..<count {
            Task { add(number) }
        }
    }

    func isOnLoop() -> Bool? { loop.isIsolatingCurrentContext() }
}

@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
    @Test func actorOnTheLoopRunsOnItsThread() async throws {
        let loop = try EventLoop()
        let counter = Counter(loop)
        #expect(await counter.isOnLoop() == true)
        #expect(loop.isIsolatingCurrentContext() == false)
        loop.stop()
    }

    @Test func jobsRunInOrderOfArrival() async throws {
        let loop = try EventLoop()
        let counter = Counter(loop)
        await counter.addAll(1000)
        try await eventually(await counter.order.count) { $0 == 1000 }
        #expect(await counter.order == Array(0..<1000))
        loop.stop()
    }

    @Test func closuresAfterJobsRunWhenNoJobIsLeft() async throws {
        let loop = try EventLoop()
        let order = Mutex<[String]>([])
        @Sendable func note(_ step: String) { order.withLock { $0.append(step) } }
        await onLoop(loop) { done in
            loop.executeAfterJobs {
                note("after the jobs")
                loop.executeAfterJobs {
                    note("after the later job")
                    done(())
                }
                loop.execute { note("later job") }
            }
            loop.execute {
                note("job")
                loop.execute { note("job of a job") }
            }
        }
        let steps = ["job", "job of a job", "after the jobs", "later job", "after the later job"]
        #expect(order.withLock { $0 } == steps)
        loop.stop()
    }

    /// Jobs that always add another job do not keep the closures waiting.
    @Test func closuresAfterJobsRunAmongJobsWithoutEnd() async throws {
        let loop = try EventLoop()
        let hasEnded = Atomic<Bool>(false)
        @Sendable func addJob() {
            loop.execute { if !hasEnded.load(ordering: .relaxed) { addJob() } }
        }
        await onLoop(loop) { done in
            addJob()
            loop.executeAfterJobs { done(()) }
        }
        hasEnded.store(true, ordering: .relaxed)
        loop.stop()
    }

    @Test func jobsFromManyThreadsAllRun() async throws {
        let loop = try EventLoop()
        let counter = Counter(loop)
        await withTaskGroup(of: Void.self) { group in
            for start in 0..<8 {
                group.addTask { for number in 0..<500 { await counter.add(start * 500 + number) } }
            }
        }
        #expect(await counter.order.sorted() == Array(0..<4000))
        loop.stop()
    }

    @Test func runReturnsOrThrowsTheResultOfItsClosure() async throws {
        let loop = try EventLoop()
        #expect(await loop.run { 5 } == 5)
        await #expect(throws: Errno.badFileDescriptor) {
            try await loop.run { () throws(Errno) in throw .badFileDescriptor }
        }
        loop.stop()
    }

    @Test func timersFireInOrderOfTheirDeadlines() async throws {
        let loop = try EventLoop()
        let order: [Int] = await onLoop(loop) { done in
            var order: [Int] = []
            let now = ContinuousClock.now
            for number in [3, 1, 2] {
                loop.schedule(at: now + .milliseconds(number)) {
                    order.append(number)
                    if order.count == 3 { done(order) }
                }
            }
        }
        #expect(order == [1, 2, 3])
        loop.stop()
    }

    @Test func cancelledTimerDoesNotFire() async throws {
        let loop = try EventLoop()
        let fired: [Int] = await onLoop(loop) { done in
            var fired: [Int] = []
            let now = ContinuousClock.now
            var second: TimerID?
            loop.schedule(at: now) {
                fired.append(1)
                if let second { loop.cancelTimer(second) }
            }
            second = loop.schedule(at: now) { fired.append(2) }
            let early = loop.schedule(at: now) { fired.append(3) }
            loop.cancelTimer(early)
            loop.cancelTimer(early)
            loop.schedule(at: now + .milliseconds(2)) { done(fired) }
        }
        #expect(fired == [1])
        loop.stop()
    }

    @Test func manyCancelledTimersDoNotAffectOthers() async throws {
        let loop = try EventLoop()
        let fired: Int = await onLoop(loop) { done in
            var fired = 0
            let later = ContinuousClock.now + .milliseconds(1)
            for number in 0..<10_000 {
                let timer = loop.schedule(at: later) { fired += 1 }
                if number % 100 != 0 { loop.cancelTimer(timer) }
            }
            loop.schedule(at: later + .milliseconds(1)) { done(fired) }
        }
        #expect(fired == 100)
        loop.stop()
    }

    @Test func timerThatIsAlwaysDueDoesNotBlockDescriptors() async throws {
        let loop = try EventLoop()
        let (a, b) = try socketPair()
        let turns: Int = await onLoop(loop) { done in
            var turns = 0
            var isDone = false
            func again() {
                turns += 1
                if !isDone { loop.schedule(at: .now, again) }
            }
            var watch: DescriptorWatch?
            watch = loop.watch(a, for: .readable) { _ in
                watch?.cancel()
                isDone = true
                done(turns)
            }
            loop.schedule(at: .now) {
                again()
                _ = write(b, "x", 1)
            }
        }
        #expect(turns > 0)
        close(a)
        close(b)
        loop.stop()
    }

    @Test func descriptorIsWatchedUntilTheCancellation() async throws {
        let loop = try EventLoop()
        let (a, b) = try socketPair()
        let events: [DescriptorEvents] = await onLoop(loop) { done in
            var events: [DescriptorEvents] = []
            var watch: DescriptorWatch?
            watch = loop.watch(a, for: [.readable]) { ready in
                events.append(ready)
                var byte: UInt8 = 0
                if read(a, &byte, 1) == 1, byte == UInt8(ascii: "1") { shutdown(b, CInt(SHUT_RDWR)) }
                guard events.count == 2 else { return }
                watch?.cancel()
                watch?.cancel()
                loop.schedule(at: .now + .milliseconds(2)) { done(events) }
            }
            _ = write(b, "1", 1)
        }
        #expect(events.count == 2)
        #expect(events[0] == .readable)
        #expect(events[1].contains(.hangup))
        close(a)
        close(b)
        loop.stop()
    }

    @Test func watchesOfOneDescriptorSeeTheirOwnEvents() async throws {
        let loop = try EventLoop()
        let (a, b) = try socketPair()
        let log: [String] = await onLoop(loop) { done in
            var log: [String] = []
            var reader: DescriptorWatch?
            var writer: DescriptorWatch?
            reader = loop.watch(a, for: .readable) { ready in
                log.append("read \(ready == .readable)")
                // A cancelled watch gets no call, even for an event that the loop saw in the same turn.
                writer?.cancel()
                reader?.cancel()
                loop.schedule(at: .now + .milliseconds(2)) { done(log) }
            }
            writer = loop.watch(a, for: .writable) { _ in log.append("write") }
            writer?.isEnabled = false
            loop.schedule(at: .now + .milliseconds(1)) {
                log.append("enabled")
                _ = write(b, "1", 1)
                writer?.isEnabled = true
            }
        }
        #expect(log == ["enabled", "read true"])
        close(a)
        close(b)
        loop.stop()
    }

    /// The kernel watches neither a descriptor that is closed nor a regular file.
    @Test func watchOfAnUnsuitableDescriptorGetsAnError() async throws {
        let loop = try EventLoop()
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        for descriptor in [file, CInt.max] {
            let events: DescriptorEvents = await onLoop(loop) { done in
                var watch: DescriptorWatch?
                watch = loop.watch(descriptor, for: .readable) { events in
                    watch?.cancel()
                    done(events)
                }
            }
            #expect(events == .error)
        }
        loop.stop()
    }

    @Test func everyReadyDescriptorGetsItsTurn() async throws {
        let loop = try EventLoop()
        // One wait of the loop reports fewer.
        let pairs = try (0..<150).map { _ in try socketPair() }
        for pair in pairs { _ = write(pair.1, "1", 1) }
        let seen: Set<CInt> = await onLoop(loop) { done in
            var seen: Set<CInt> = []
            // The descriptors stay readable, so those that were reported may be reported again before the others.
            for (socket, _) in pairs {
                _ = loop.watch(socket, for: .readable) { _ in
                    if seen.insert(socket).inserted, seen.count == pairs.count { done(seen) }
                }
            }
            loop.schedule(at: .now + .seconds(20)) { if seen.count < pairs.count { done(seen) } }
        }
        #expect(seen.count == pairs.count)
        loop.stop()
        for pair in pairs {
            close(pair.0)
            close(pair.1)
        }
    }

    @Test func handlerMayAddAWatchAndChangeItsEvents() async throws {
        let loop = try EventLoop()
        let (a, b) = try socketPair()
        let events: DescriptorEvents = await onLoop(loop) { done in
            var first: DescriptorWatch?
            first = loop.watch(a, for: .writable) { _ in
                first?.cancel()
                var second: DescriptorWatch?
                second = loop.watch(b, for: .readable) { ready in
                    second?.cancel()
                    done(ready)
                }
                second?.events = .writable
            }
        }
        #expect(events == .writable)
        close(a)
        close(b)
        loop.stop()
    }

    @Test func cancelledWatchesAndEndedLoopsHoldNoReferences() async throws {
        final class Held: Sendable {}
        let (a, b) = try socketPair()
        weak var cancelled: Held?
        weak var gone: Held?
        do {
            let loop = try EventLoop()
            let (first, second) = (Held(), Held())
            (cancelled, gone) = (first, second)
            await loop.run { [first, second] in
                var ended: DescriptorWatch?
                ended = loop.watch(a, for: .readable) { _ in withExtendedLifetime((ended, first)) {} }
                ended?.cancel()
                var left: DescriptorWatch?
                left = loop.watch(b, for: .readable) { _ in withExtendedLifetime((left, second)) {} }
            }
            loop.stop()
        }
        // The loop's thread holds the last reference to the loop and ends after this point.
        try await eventually(gone == nil) { $0 }
        #expect(cancelled == nil)
        close(a)
        close(b)
    }

    @Test func watchesMayOutnumberDescriptors() async throws {
        // The limit applies to the whole process, so the test runs in a child process.
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let (a, b) = try socketPair()
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let count = 200
            let seen: Int = await onLoop(loop) { done in
                var seen = 0
                var watches: [DescriptorWatch] = []
                for _ in 0..<count {
                    watches.append(
                        loop.watch(a, for: .readable) { _ in
                            seen += 1
                            guard seen == count else { return }
                            for watch in watches { watch.cancel() }
                            watches = []
                            done(seen)
                        }
                    )
                }
                _ = write(b, "1", 1)
            }
            #expect(seen == count)
        }
    }

    @Test func stoppedLoopRunsLaterJobs() async throws {
        let loop = try EventLoop()
        let counter = Counter(loop)
        for round in 0..<50 {
            await counter.add(round)
            loop.stop()
        }
        #expect(await counter.order == Array(0..<50))
    }

    @Test func callingThreadMayRunTheLoop() async throws {
        let loop = try EventLoop()
        let ended = Lock(false)
        let thread = Task.detached {
            await withCheckedContinuation { continuation in
                runOnThread {
                    loop.runOnCurrentThread()
                    ended.withLock { $0 = true }
                    continuation.resume()
                }
            }
        }
        // The first of the two calls starts the loop. The loop then runs the second call, or the second call returns at
        // once.
        let result = await loop.run { loop.isIsolatingCurrentContext() == true }
        loop.stop()
        await thread.value
        #expect(result)
        #expect(ended.withLock { $0 })
    }

    @Test func interruptedWaitContinues() async throws {
        let loop = try EventLoop()
        signal(SIGUSR1) { _ in }
        let thread = await loop.run { UInt(pthread_self()) }
        for _ in 0..<100 { pthread_kill(pthread_t(thread), SIGUSR1) }
        let fired: Bool = await onLoop(loop) { done in loop.schedule(at: .now + .milliseconds(1)) { done(true) } }
        #expect(fired)
        loop.stop()
    }
}

private func runOnThread(_ body: @escaping @Sendable () -> Void) {
    var id = pthread_t()
    let box = Unmanaged.passRetained(Lock(body))
    pthread_create(
        &id,
        nil,
        { argument in
            let body = argument.map { Unmanaged<Lock<@Sendable () -> Void>>.fromOpaque($0).takeRetainedValue() }
            body?.withLock { $0 }()
            return nil
        },
        box.toOpaque()
    )
    pthread_detach(id)
}
