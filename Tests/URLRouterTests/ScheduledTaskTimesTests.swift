import OpenURLBus
import Testing

@testable import DBus
@testable import URLRouter

/// The rules for the times of tasks.
@Suite struct ScheduledTaskTimesTests {
    private static let minute: UInt64 = 60_000
    private static let now: UInt64 = 1_800_000_000_000

    private func task(_ name: String = "sync", _ change: (inout TaskOptions) -> Void = { _ in }) -> ScheduledTask {
        var options = TaskOptions()
        change(&options)
        return ScheduledTask("com.example.app", name, options, at: Self.now)
    }

    private func hourly(_ name: String = "sync") -> ScheduledTask { task(name) { $0.interval = 60 * Self.minute } }

    @Test func taskMayWaitATenthOfItsTimeForOthers() {
        let soon = task()
        #expect(soon.next == Self.now && soon.latest == Self.now)
        let later = task { $0.delay = 10 * Self.minute }
        #expect(later.next == Self.now + 10 * Self.minute)
        #expect(later.latest == Self.now + 11 * Self.minute)
        let tomorrow = task { $0.delay = 24 * 60 * Self.minute }
        #expect(tomorrow.latest == tomorrow.next + 5 * Self.minute)
    }

    @Test func oneWakeUpServesSeveralTasks() throws {
        let tasks = [60, 62, 64, 90].map { (minutes: UInt64) in task { $0.delay = minutes * Self.minute } }
        let first = try #require(tasks.wakeUp(at: Self.now))
        #expect(first == Self.now + 65 * Self.minute)
        #expect(tasks.filter { $0.next <= first }.count == 3)
        #expect(tasks.wakeUp(at: first) == Self.now + 95 * Self.minute)
        #expect(tasks.wakeUp(at: Self.now + 95 * Self.minute) == nil)
    }

    @Test func repeatedTaskBeginsAfterItsInterval() {
        #expect(hourly().next == Self.now + 60 * Self.minute)
        let early = task {
            $0.delay = 0
            $0.interval = 60 * Self.minute
        }
        #expect(early.next == Self.now)
    }

    @Test func conditionsAreWithoutRepetitions() {
        let task = task { $0.requirements = [.idle, .network, .idle] }
        #expect(task.requirements == [.network, .idle])
    }

    @Test func onlyARepeatedTaskStaysWhenItIsDone() {
        var once = task()
        let stays = once.end(hasNewData: true, at: Self.now)
        #expect(!stays)
        var hourly = hourly()
        let hourlyStays = hourly.end(hasNewData: false, at: Self.now + 90 * Self.minute)
        #expect(hourlyStays)
        #expect(hourly.next == Self.now + 120 * Self.minute)
        #expect(hourly.stretchedInterval == nil)
    }

    @Test func lateRunDoesNotMakeTheLaterOnesLate() {
        var hourly = hourly()
        let first = hourly.next
        let stays = hourly.end(hasNewData: true, at: first + 5 * Self.minute)
        #expect(stays && hourly.next == first + 60 * Self.minute)
        // After a night, and after a run that somebody has asked for, the time begins anew.
        for now in [hourly.next + 600 * Self.minute, hourly.next + 610 * Self.minute] {
            let stays = hourly.end(hasNewData: true, at: now)
            #expect(stays && hourly.next == now + 60 * Self.minute)
        }
    }

    @Test func damagedNumbersAreNotCalculatedWith() {
        let changes: [(inout ScheduledTask) -> Void] = [
            { $0.failures = .max }, { $0.failures = ScheduledTask.attempts }, { $0.interval = 0 },
            { $0.interval = 59_999 },
            { $0.stretchedInterval = 0 }, { $0.stretchedInterval = .max }, { $0.next = .max }, { $0.latest = .max },
        ]
        for change in changes {
            var task = hourly()
            change(&task)
            #expect(!task.isPossible)
        }
    }

    /// The clock may have been wrong when the task was stored.
    @Test func waitIsLimitedAtTheStartOfTheRouter() {
        var hourly = hourly()
        hourly.next += 80 * 365 * 24 * 60 * Self.minute
        hourly.limitWait(from: Self.now)
        #expect(hourly.next == Self.now + 60 * Self.minute)
        var once = task { $0.delay = 24 * 60 * Self.minute }
        once.limitWait(from: Self.now)
        #expect(once.next == Self.now + 24 * 60 * Self.minute)
    }

    @Test func timesMoveWithTheClock() {
        var hourly = hourly()
        hourly.move(by: -86_400_000)
        #expect(hourly.next == Self.now - 23 * 60 * Self.minute)
        #expect(hourly.latest == hourly.next + 5 * Self.minute)
        for jump in [Int64.min, .max] {
            hourly.move(by: jump)
            #expect(hourly.isPossible)
        }
    }

    @Test func fetchWithoutNewDataBecomesRarer() {
        var fetch = hourly(TasksInterface.fetch)
        for minutes in [90, 135, 202.5, 240, 240] {
            let stays = fetch.end(hasNewData: false, at: Self.now)
            #expect(stays)
            #expect(fetch.next == Self.now + UInt64(minutes * Double(Self.minute)))
        }
        let fetchStays = fetch.end(hasNewData: true, at: Self.now)
        #expect(fetchStays)
        #expect(fetch.next == Self.now + 60 * Self.minute)
    }

    @Test func failedTaskIsTriedAgainEightTimesInAll() {
        let error = OpenURLError(.declined, "no")
        var once = task()
        for minutes: UInt64 in [1, 2, 4, 8, 16, 32, 60] {
            let stays = once.fail(error, at: Self.now)
            #expect(stays)
            #expect(once.next == Self.now + minutes * Self.minute)
        }
        #expect(once.failures == 7)
        #expect(once.error?.message == "no")
        let staysAtLast = once.fail(error, at: Self.now)
        #expect(!staysAtLast)
    }

    @Test func repeatedTaskThatHasFailedWaitsForItsNextTurn() {
        var hourly = hourly()
        for _ in 0..<ScheduledTask.attempts {
            let stays = hourly.fail(OpenURLError(.timedOut, "late"), at: Self.now)
            #expect(stays)
        }
        #expect(hourly.failures == 0)
        #expect(hourly.next == Self.now + 60 * Self.minute)
        #expect(hourly.error?.message == "late")
        let stays = hourly.end(hasNewData: true, at: Self.now)
        #expect(stays)
        #expect(hourly.error == nil)
    }

    @Test func impossibleTimesAreNotCalculatedWith() {
        #expect(hourly().isPossible)
        for path in [\ScheduledTask.next, \.latest] {
            var task = hourly()
            task[keyPath: path] = .max
            #expect(!task.isPossible)
        }
        for path in [\ScheduledTask.interval, \.stretchedInterval] {
            var task = hourly()
            task[keyPath: path] = .max
            #expect(!task.isPossible)
        }
    }
}
