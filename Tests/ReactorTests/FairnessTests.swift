import Glibc
import Reactor
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// Work that must not keep the loop from its other work.
@Suite(.timeLimit(.minutes(10))) struct FairnessTests {
    @Test func timerForAPastTimeLetsJobsRun() async throws {
        let loop = try EventLoop()
        let impatience = Impatience()
        await loop.run { impatience.schedule(on: loop) }
        // This job runs only if the loop leaves its timers.
        await loop.run { impatience.hasEnded.store(true, ordering: .relaxed) }
        await loop.run {}
        loop.stop()
    }

    @Test func stoppedLoopReleasesItsTimers() async throws {
        weak var released: EventLoop?
        do {
            let loop = try EventLoop()
            released = loop
            _ = await loop.run {
                // The handler holds the loop, and would keep it.
                loop.schedule(at: .now + .seconds(3600)) { loop.stop() }
            }
            loop.stop()
        }
        try await eventually(released == nil) { $0 }
    }

    @Test func runningLoopDoesNotStartOnAnotherThread() async throws {
        let loop = try EventLoop()
        await loop.run {}
        // The test runs on another thread than the loop, so the call cannot take over the loop.
        let ran = loop.runOnCurrentThread { Issue.record("the loop began twice") }
        #expect(!ran)
        loop.stop()
    }

    @Test func ignoredSIGCHLDPreventsProcessStarts() async {
        await #expect(processExitsWith: .success) {
            signal(SIGCHLD, SIG_IGN)
            let loop = try EventLoop()
            let error: Errno? = await loop.run {
                do throws(Errno) {
                    _ = try ProcessHandle.spawn(
                        "/bin/true",
                        arguments: ["true"],
                        environment: [],
                        directory: "/",
                        on: loop
                    ) { _ in }
                    return nil
                } catch {
                    return error
                }
            }
            exit(error == .noChildProcess ? 0 : 1)
        }
    }
}

/// A timer for a past time whose handler schedules the next such timer.
private final class Impatience: Sendable {
    let hasEnded = Atomic(false)

    func schedule(on loop: EventLoop) {
        loop.schedule(at: .now - .seconds(1)) {
            if !self.hasEnded.load(ordering: .relaxed) { self.schedule(on: loop) }
        }
    }
}
