import Glibc
import Testing

@testable import Reactor

/// A loop that runs the jobs of the process that belong to no executor. Each test changes its process, so it has one of its own.
@Suite(.timeLimit(.minutes(10))) struct GlobalJobsTests {
    @Test func resumedContinuationComesBackToTheLoop() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            loop.takeGlobalJobs()
            let isOnLoop = Task {
                await withCheckedContinuation { continuation in
                    _ = startThread("resumer") { continuation.resume() }
                }
                return loop.isOnThread
            }
            if await !isOnLoop.value { exit(1) }
        }
    }

    @Test func jobsGoToTheUsualThreadsByDefault() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            if await Task(operation: { loop.isOnThread }).value { exit(1) }
        }
    }
}
