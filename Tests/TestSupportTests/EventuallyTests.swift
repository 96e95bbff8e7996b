import Synchronization
import TestSupport
import Testing

/// The waits of the other tests.
@Suite(.timeLimit(.minutes(10))) struct EventuallyTests {
    private final class Counter: Sendable {
        private let reads = Atomic(0)

        func read() -> Int { reads.add(1, ordering: .relaxed).newValue }
    }

    /// Returns the texts of the issues that a body records.
    private func issues(_ body: () async throws -> Void) async throws -> [String] {
        let texts = Mutex<[String]>([])
        try await withKnownIssue {
            try await body()
        } matching: { issue in
            texts.withLock { $0.append("\(issue)") }
            return true
        }
        return texts.withLock { $0 }
    }

    @Test func valueIsReadUntilItSatisfiesTheCondition() async throws {
        let counter = Counter()
        #expect(try await eventually(counter.read()) { $0 > 3 } == 4)
    }

    @Test func failureShowsTheLastValue() async throws {
        let issues = try await issues { try await eventually(within: .milliseconds(20), "red") { $0 == "green" } }
        #expect(issues.count == 1)
        #expect(issues[0].contains("after 0.02 seconds the value is \"red\""), "\(issues)")
    }

    @Test func nextElementSatisfiesTheCondition() async throws {
        let (numbers, continuation) = AsyncStream<Int>.makeStream()
        for number in 1...5 { continuation.yield(number) }
        #expect(try await numbers.next { $0 % 2 == 0 } == 2)
        #expect(try await numbers.next { $0 % 2 == 0 } == 4)
    }

    @Test func missingElementShowsTheLastOne() async throws {
        let (numbers, continuation) = AsyncStream<Int>.makeStream()
        for number in 1...5 { continuation.yield(number) }
        let late = try await issues { try await numbers.next(within: .milliseconds(20)) { $0 > 5 } }
        #expect(late.count == 1 && late[0].contains("the last element is 5"), "\(late)")
        continuation.finish()
        let ended = try await issues { try await numbers.next { $0 > 5 } }
        #expect(ended.count == 1 && ended[0].contains("the last element is missing"), "\(ended)")
    }
}
