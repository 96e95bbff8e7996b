import Glibc
import Reactor
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(1))) struct HelperThreadTests {
    @Test func resultReturnsToTheLoop() async throws {
        let loop = try EventLoop()
        let task = Task(executorPreference: loop) {
            let result = try await HelperThread.run(for: .seconds(60), on: loop) {
                7
            } late: { _ in
            }
            return (result, loop.isIsolatingCurrentContext())
        }
        let (result, isOnLoop) = try await task.value
        #expect(result == 7)
        #expect(isOnLoop == true)
        loop.stop()
    }

    @Test func workThatBlocksDoesNotHoldTheLoopUp() async throws {
        let loop = try EventLoop()
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let (results, late) = AsyncStream.makeStream(of: Int.self)
        let task = Task(executorPreference: loop) {
            try await HelperThread.run(for: .milliseconds(50), on: loop) {
                var byte: UInt8 = 0
                return read(reader, &byte, 1)
            } late: {
                late.yield($0)
            }
        }
        // The loop runs other work meanwhile.
        #expect(await loop.run { true })
        #expect(try await task.value == nil)
        close(writer)
        var iterator = results.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        close(reader)
        loop.stop()
    }

    @Test func waitEndsWithItsTask() async throws {
        let loop = try EventLoop()
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (results, late) = AsyncStream.makeStream(of: Int.self)
        let task = Task(executorPreference: loop) {
            try await HelperThread.run(for: .seconds(3600), on: loop, endsWithTask: true) {
                begin.yield()
                var byte: UInt8 = 0
                return read(reader, &byte, 1)
            } late: {
                late.yield($0)
            }
        }
        var iterator = begun.makeAsyncIterator()
        await iterator.next()
        task.cancel()
        #expect(try await task.value == nil)
        close(writer)
        var lateResults = results.makeAsyncIterator()
        #expect(await lateResults.next() == 0)
        close(reader)
        loop.stop()
    }

    @Test func workOfACancelledTaskDoesNotRun() async throws {
        let loop = try EventLoop()
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        let task = Task(executorPreference: loop) {
            // The cancellation ends this loop.
            for await _ in never {}
            return try await HelperThread.run(for: .seconds(60), on: loop, endsWithTask: true) {
                Issue.record("the work runs")
                return 7
            } late: { _ in
            }
        }
        task.cancel()
        await #expect(throws: Errno.canceled) { try await task.value }
        end.finish()
        loop.stop()
    }
}

extension HelperThreadTests {
    /// Waits for work in a thread of its own. Other tests need those of the pool.
    private func wait(
        patience: Duration,
        _ work: @escaping @Sendable (_ progress: @Sendable () -> Void) -> Int
    ) async throws -> Int? {
        let loop = try EventLoop()
        defer { loop.stop() }
        return try await loop.run { () throws(Errno) -> Int? in
            try HelperThread.wait(patience: patience, work, late: {})
        }
    }

    @Test func blockedThreadWaitsAsLongAsThereIsProgress() async throws {
        let result = try await wait(patience: .seconds(3)) { progress in
            for _ in 0..<40 {
                usleep(100_000)
                progress()
            }
            return 7
        }
        #expect(result == 7)
    }

    @Test func threadThatComputesIsNotLeft() async throws {
        let result = try await wait(patience: .seconds(3)) { _ in
            let end = ContinuousClock.now + .seconds(4)
            var steps = 0
            while .now < end { steps += 1 }
            return steps
        }
        #expect(result != nil)
    }

    @Test func workWithoutProgressIsLeft() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        let (lates, late) = AsyncStream.makeStream(of: Void.self)
        let result: Int? = try HelperThread.wait(patience: .milliseconds(50)) { progress in
            progress()
            var byte: UInt8 = 0
            return read(reader, &byte, 1)
        } late: {
            late.yield()
        }
        #expect(result == nil)
        close(writer)
        var iterator = lates.makeAsyncIterator()
        await iterator.next()
        close(reader)
    }
}

@Suite(.timeLimit(.minutes(10))) struct DescriptorLimitTests {
    @Test func childrenGetTheLimitOfBefore() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 100, rlim_max: 200)
            let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            guard setrlimit(descriptors, &limit) == 0 else { exit(1) }
            DescriptorLimit.raise()
            guard DescriptorLimit.current == 200 else { exit(2) }
            let pid = try ProcessHandle.start(
                "/bin/sh",
                // The limit is set right after the start.
                arguments: ["sh", "-c", "until [ $(ulimit -Sn) = 100 ]; do sleep 0.01; done; [ $(ulimit -Hn) = 200 ]"],
                environment: ["PATH=/usr/bin:/bin"],
                directory: "/"
            )
            var status: CInt = 0
            waitpid(pid, &status, 0)
            exit(status == 0 ? 0 : 3)
        }
    }
}
