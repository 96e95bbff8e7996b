import Foundation
import OpenURLBus
import Testing

@testable import DBus
@testable import URLRouter

/// The file with the handlers' tasks.
@Suite(.timeLimit(.minutes(1))) struct TaskStoreTests {
    private let directory = TemporaryState()

    private var file: String { "\(directory.path)/tasks" }

    private func store(_ log: RecordedLog = RecordedLog()) -> TaskStore {
        TaskStore(path: file, on: directory.loop, log: log.logger)
    }

    private func task(_ handler: String = "com.example.app", _ name: String = "sync") -> ScheduledTask {
        var task = ScheduledTask(handler: handler, name: name, next: 1_800_000_000_000)
        task.interval = 3_600_000
        task.stretchedInterval = 5_400_000
        task.requirements = [.network, .idle]
        task.failures = 2
        task.error = RemoteError("com.example.Error", "no")
        return task
    }

    @Test func tasksComeBack() async throws {
        #expect(try await store().load() == [])
        try await store().save([task()])
        #expect(try await store().load() == [task()])
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    }

    @Test func damagedFileIsReportedAndHasNoTasks() async throws {
        try await store().save([task()])
        try Data("damaged".utf8).write(to: URL(filePath: file))
        let log = RecordedLog()
        #expect(try await store(log).load() == [])
        #expect(log.lines.contains { $0.contains("the scheduled tasks in") && $0.contains("are damaged") })
        #expect(try String(contentsOfFile: "\(file).damaged", encoding: .utf8) == "damaged")
    }

    @Test func taskWithImpossibleTimesIsLeftOut() async throws {
        var impossible = task("com.example.other")
        impossible.interval = .max
        try await store().save([impossible, task()])
        #expect(try await store().load() == [task()])
    }

    /// Nobody has a file that does not exist, so the first router that needs it gets it, with what is in it by then.
    @Test func missingFileBelongsToTheFirstThatNeedsIt() async throws {
        let (first, second) = (store(), store())
        #expect(try await first.load(toChange: false) == nil)
        #expect(!FileManager.default.fileExists(atPath: directory.path))
        #expect(try await second.load() == [])
        try await second.save([task()])
        await #expect(throws: RemoteError.self) { try await first.load() }
        await second.release()
        #expect(try await first.load() == [task()])
    }

    @Test func nextRouterGetsTheFileWhenItIsReleased() async throws {
        let first = store()
        try await first.save([task()])
        let second = store()
        let error = await #expect(throws: RemoteError.self) { try await second.load() }
        #expect(error?.message == "another router of this user, on another bus, is responsible for tasks")
        await first.release()
        #expect(try await second.load() == [task()])
    }

    @Test func fullListFitsIntoTheFile() async throws {
        let all = (0..<TasksInterface.tasks).map { number in
            var large = task(
                String(repeating: "h", count: 255),
                String(repeating: "n", count: TasksInterface.nameBytes - 4) + "\(1000 + number)"
            )
            large.error = RemoteError("com.example.Error", String(repeating: "e", count: ScheduledTask.errorBytes))
            large.requirements = TaskRequirement.allCases
            return large
        }
        try await store().save(all)
        #expect(try await store().load() == all)
    }
}
