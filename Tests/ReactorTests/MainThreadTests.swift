import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Reactor

/// A loop that a thread of the test shares with its jobs, as the main thread of a program does with those of the main actor.
private final class SharedLoop: Sendable {
    let loop: EventLoop
    let main: MainThread
    private let thread = Atomic<UInt>(0)

    /// - Parameter isRunning: Whether the loop's own thread runs before the other thread arrives.
    init(isRunning: Bool = true) async throws {
        loop = try EventLoop()
        main = try MainThread(of: loop)
        if isRunning { await loop.run {} }
        // The thread never ends: the main thread of a program does not, either.
        try #require(startThread("main") { self.start() } == nil)
    }

    private func start() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        main.run()
    }

    /// Runs a closure as a job of the main actor, and returns its result.
    func runMain<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
        let value = await withCheckedContinuation { continuation in
            loop.addMain(.closure { continuation.resume(returning: body()) })
        }
        // The call makes the order visible to ThreadSanitizer.
        await loop.run {}
        return value
    }

    var isMainThread: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }
}

/// A gate at which a thread waits until the test opens it.
private final class Gate: Sendable {
    private let ends: (reading: CInt, writing: CInt)

    init() throws {
        let pair = try socketPair()
        ends = (pair.0, pair.1)
    }

    deinit {
        close(ends.reading)
        close(ends.writing)
    }

    func wait() {
        var byte: UInt8 = 0
        while read(ends.reading, &byte, 1) != 1, errno == EINTR {}
    }

    func open() {
        var byte: UInt8 = 1
        _ = write(ends.writing, &byte, 1)
    }
}

@Suite(.timeLimit(.minutes(10))) struct MainThreadTests {
    @Test(arguments: [true, false]) func loopAndMainActorShareOneThread(_ isRunning: Bool) async throws {
        let shared = try await SharedLoop(isRunning: isRunning)
        #expect(await shared.runMain { shared.isMainThread && shared.main.isIsolatingCurrentContext() == true })
        // The own thread may run the first jobs of the loop. It never comes back while nothing blocks.
        try await eventually(await shared.loop.run { shared.isMainThread }) { $0 }
        #expect(await shared.loop.run { shared.loop.isIsolatingCurrentContext() == true })
        #expect(await shared.loop.run { shared.main.isIsolatingCurrentContext() == false })
        #expect(await shared.runMain { shared.loop.isIsolatingCurrentContext() == false })
        #expect(shared.main.isIsolatingCurrentContext() == false)
    }

    @Test func blockedMainThreadLeavesTheLoopToTheOwnThread() async throws {
        let shared = try await SharedLoop()
        for _ in 0..<20 {
            let (gate, blocks) = (try Gate(), try Gate())
            let isDone = Lock(false)
            await withCheckedContinuation { continuation in
                shared.loop.addMain(
                    .closure {
                        continuation.resume()
                        gate.wait()
                        isDone.withLock { $0 = true }
                        blocks.open()
                    }
                )
            }
            // Jobs, timers and descriptors have their turn while the main thread is blocked.
            let (one, other) = try socketPair()
            let arrived: Bool = await onLoop(shared.loop) { done in
                var watch: DescriptorWatch?
                watch = shared.loop.watch(one, for: .readable) { _ in
                    watch?.cancel()
                    shared.loop.schedule(at: .now + .milliseconds(1)) { done(!shared.isMainThread) }
                }
                var byte: UInt8 = 1
                _ = write(other, &byte, 1)
            }
            #expect(arrived)
            #expect(!isDone.withLock { $0 })
            gate.open()
            blocks.wait()
            // The main thread takes the loop back, although no event wakes the own thread.
            #expect(await shared.runMain { shared.isMainThread })
            try await eventually(await shared.loop.run { shared.isMainThread }) { $0 }
            close(one)
            close(other)
        }
    }

    @Test func jobsOfBothKindsStayInOrderWhileThreadsChange() async throws {
        let shared = try await SharedLoop()
        let count = 2000
        let order = Lock((loop: [Int](), main: [Int]()))
        // Neither kind of job runs twice at the same time.
        let running = Lock((loop: 0, main: 0))
        let done = Lock(0)
        await withCheckedContinuation { continuation in
            for number in 0..<count {
                shared.loop.execute {
                    running.withLock { $0.loop += 1 }
                    let isAlone = running.withLock { $0.loop == 1 }
                    order.withLock { $0.loop.append(isAlone ? number : -1) }
                    running.withLock { $0.loop -= 1 }
                    shared.loop.addMain(
                        .closure {
                            running.withLock { $0.main += 1 }
                            // Some jobs block for longer than the main thread may keep the loop.
                            if number % 400 == 0 { usleep(20_000) }
                            let isAlone = running.withLock { $0.main == 1 } && shared.isMainThread
                            order.withLock { $0.main.append(isAlone ? number : -1) }
                            running.withLock { $0.main -= 1 }
                            let isLast = done.withLock {
                                $0 += 1
                                return $0 == count
                            }
                            if isLast { shared.loop.execute { continuation.resume() } }
                        }
                    )
                }
            }
        }
        #expect(order.withLock { $0.loop } == Array(0..<count))
        #expect(order.withLock { $0.main } == Array(0..<count))
    }

    @Test func jobsThatAddJobsStarveNeitherKindNorInput() async throws {
        let shared = try await SharedLoop()
        let job = EndlessJob()
        job.add(shared.loop.execute)
        job.add { shared.loop.addMain(.closure($0)) }
        for _ in 0..<10 {
            #expect(await shared.runMain { true })
            let fired: Bool = await onLoop(shared.loop) { done in
                shared.loop.schedule(at: .now + .milliseconds(1)) { done(true) }
            }
            #expect(fired)
        }
        job.isOver.store(true, ordering: .relaxed)
    }

    @Test func signalsArriveAtTheOwnThread() async throws {
        let shared = try await SharedLoop()
        #expect(await shared.runMain(blocksSIGTERM))
        let gate = try Gate()
        shared.loop.addMain(.closure { gate.wait() })
        // The job may come before the blocked one, on the thread that is not blocked yet.
        try await eventually(await shared.loop.run { shared.isMainThread }) { !$0 }
        #expect(await shared.loop.run { !blocksSIGTERM() })
        gate.open()
    }

    @Test func stopDoesNotEndASharedLoop() async throws {
        let shared = try await SharedLoop()
        shared.loop.stop()
        #expect(await shared.runMain { shared.isMainThread })
        try await eventually(await shared.loop.run { shared.isMainThread }) { $0 }
    }
}

/// A job that adds itself again until the test is over.
private final class EndlessJob: Sendable {
    let isOver = Atomic(false)

    func add(_ add: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        add { if !self.isOver.load(ordering: .relaxed) { self.add(add) } }
    }
}

@Sendable private func blocksSIGTERM() -> Bool {
    var set = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &set)
    return sigismember(&set, SIGTERM) == 1
}
