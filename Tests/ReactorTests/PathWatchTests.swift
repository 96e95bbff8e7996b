import Foundation
import Glibc
import SystemPackage
import Testing

@testable import Reactor

/// A temporary directory and a watch of paths inside the directory, on an event loop of its own.
private actor WatchedDirectory {
    nonisolated let loop: EventLoop
    nonisolated let root: String
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private var watch: PathWatch?
    private var reports = 0

    init(_ names: [String]) async throws {
        root = FileManager.default.temporaryDirectory.appending(path: "path-watch-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        loop = try EventLoop()
        try start()
        set(names)
    }

    deinit {
        loop.stop()
        unlinkTree(root)
    }

    private func start() throws {
        watch = try PathWatch(on: loop) { [weak self] in self?.assumeIsolated { $0.reports += 1 } }
    }

    func set(_ names: [String]) {
        watch?.paths = Set(names.map { $0.hasPrefix("/") ? $0 : path($0) })
    }

    func cancel() {
        watch?.cancel()
    }

    /// Returns whether a cancelled watch, and with the watch its descriptor, is freed with the last reference.
    func isForgotten() -> Bool {
        weak let watch = watch
        self.watch = nil
        return watch == nil
    }

    nonisolated func path(_ name: String) -> String { "\(root)/\(name)" }

    /// Runs `body` and waits until the watch has read all events of the kernel. The kernel queues an event before the
    /// system call that causes the event returns.
    ///
    /// - Returns: The number of reported changes.
    @discardableResult
    func reports(after body: @Sendable (WatchedDirectory) throws -> Void) async throws -> Int {
        await settle()
        let before = reports
        try body(self)
        var reported: Int
        repeat {
            reported = reports
            await settle()
        } while reports > reported
        return reports - before
    }

    /// Waits until the loop has checked its descriptors. The loop checks descriptors before timers.
    private func settle() async {
        await withCheckedContinuation { continuation in loop.schedule(at: .now) { continuation.resume() } }
    }

    var failures: [Errno] { watch?.failures.map(\.error) ?? [] }

    var descriptor: CInt { watch?.descriptor ?? -1 }

    /// The number of watches that the kernel holds for the descriptor.
    func watchCount() throws -> Int {
        try String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)
            .split(separator: "\n").count { $0.hasPrefix("inotify ") }
    }

    // MARK: Files

    nonisolated func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
    }

    nonisolated func write(_ text: String, to name: String) throws {
        let file = try FileDescriptor.open(
            FilePath(path(name)),
            .writeOnly,
            options: [.create, .truncate],
            permissions: .ownerReadWrite
        )
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    nonisolated func move(_ name: String, to other: String) throws {
        guard rename(path(name), path(other)) == 0 else { throw Errno(rawValue: errno) }
    }

    nonisolated func link(_ name: String, to target: String) throws {
        guard symlink(target, path(name)) == 0 else { throw Errno(rawValue: errno) }
    }

    nonisolated func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: path(name))
    }
}

private func unlinkTree(_ path: String) {
    do {
        try FileManager.default.removeItem(atPath: path)
    } catch {
        Issue.record(error)
    }
}

@Suite(.timeLimit(.minutes(10))) struct PathWatchTests {
    @Test func changesInADirectoryAreReported() async throws {
        let directory = try await WatchedDirectory(["d"])
        try directory.makeDirectory("d")
        #expect(try await directory.reports { try $0.write("a", to: "d/file") } == 1)
        #expect(try await directory.reports { try $0.write("b", to: "d/file") } == 1)
        #expect(try await directory.reports { try $0.move("d/file", to: "d/other") } == 1)
        #expect(try await directory.reports { chmod($0.path("d/other"), 0o400) } == 1)
        #expect(try await directory.reports { try $0.move("d/other", to: "away") } == 1)
        #expect(try await directory.reports { try $0.move("away", to: "d/back") } == 1)
        #expect(try await directory.reports { try $0.remove("d/back") } == 1)
        #expect(try await directory.reports { try $0.link("d/link", to: "/nowhere") } == 1)
        #expect(try await directory.reports { try $0.makeDirectory("d/sub") } == 1)
        // Changes below a subdirectory and reads are not reported.
        #expect(try await directory.reports { try $0.write("a", to: "d/sub/file") } == 0)
        #expect(
            try await directory.reports { _ = try FileManager.default.subpathsOfDirectory(atPath: $0.path("d")) } == 0
        )
        #expect(await directory.failures == [])
    }

    @Test func manyChangesCauseOneReport() async throws {
        let directory = try await WatchedDirectory(["."])
        let reports = try await directory.reports { directory in
            for number in 0..<200 { try directory.write("x", to: "file\(number)") }
        }
        #expect(reports == 1)
    }

    @Test func directoryMayAppearLater() async throws {
        let directory = try await WatchedDirectory(["a/b/c"])
        #expect(try await directory.reports { try $0.makeDirectory("x") } == 0)
        #expect(try await directory.reports { try $0.makeDirectory("a") } == 1)
        #expect(try await directory.reports { try $0.makeDirectory("a/x") } == 0)
        #expect(try await directory.reports { try $0.makeDirectory("a/b/c") } == 1)
        #expect(try await directory.reports { try $0.write("x", to: "a/b/c/file") } == 1)
        // The ancestors are no longer of interest once the watched path exists.
        #expect(try await directory.reports { try $0.makeDirectory("a/b/other") } == 0)
    }

    @Test func removedDirectoryIsAwaitedAgain() async throws {
        let directory = try await WatchedDirectory(["a/b"])
        try directory.makeDirectory("a/b")
        for step in ["a/b", "a"] {
            #expect(try await directory.reports { try $0.remove(step) } > 0)
            #expect(try await directory.reports { try $0.makeDirectory("a/b") } > 0)
            #expect(try await directory.reports { try $0.write("x", to: "a/b/file") } == 1)

            #expect(try await directory.reports { try $0.move(step, to: "moved") } > 0)
            #expect(
                try await directory.reports { try $0.write("x", to: step == "a" ? "moved/b/file" : "moved/file") } == 0
            )
            #expect(try await directory.reports { try $0.makeDirectory("a/b") } > 0)
            #expect(try await directory.reports { try $0.write("x", to: "a/b/file") } == 1)
            try directory.remove("moved")
        }
    }

    @Test func removedDirectoryThatIsStillOpenIsNoticed() async throws {
        let directory = try await WatchedDirectory(["a/b/c"])
        try directory.makeDirectory("a/b/c")
        let open = try FileDescriptor.open(FilePath(directory.path("a/b/c")), .readOnly)
        #expect(try await directory.reports { try $0.remove("a") } > 0)
        #expect(try await directory.reports { try $0.makeDirectory("a/b/c") } > 0)
        #expect(try await directory.reports { try $0.write("x", to: "a/b/c/file") } == 1)
        try open.close()
    }

    @Test func directoryMayBeReplacedByALinkAndBack() async throws {
        let directory = try await WatchedDirectory(["a/b"])
        try directory.makeDirectory("a/b")
        try directory.makeDirectory("elsewhere/b")
        #expect(
            try await directory.reports {
                try $0.remove("a")
                try $0.link("a", to: "elsewhere")
            } > 0
        )
        #expect(try await directory.reports { try $0.write("x", to: "elsewhere/b/file") } == 1)
        #expect(try await directory.reports { try $0.move("elsewhere", to: "third") } > 0)
        #expect(try await directory.reports { try $0.write("x", to: "third/b/file") } == 0)
        #expect(try await directory.reports { try $0.makeDirectory("elsewhere/b") } > 0)
        #expect(try await directory.reports { try $0.write("x", to: "elsewhere/b/file") } == 1)

        // The test replaces the link in one step, so the path exists throughout.
        #expect(
            try await directory.reports {
                try $0.link("new", to: $0.path("third/../third"))
                try $0.move("new", to: "a")
            } > 0
        )
        #expect(try await directory.reports { try $0.write("x", to: "elsewhere/b/file") } == 0)
        #expect(try await directory.reports { try $0.write("y", to: "third/b/file") } == 1)
        #expect(
            try await directory.reports {
                try $0.remove("a")
                try $0.makeDirectory("a/b")
            } > 0
        )
        #expect(try await directory.reports { try $0.write("x", to: "a/b/file") } == 1)
    }

    @Test func fileIsWatchedLikeADirectory() async throws {
        let directory = try await WatchedDirectory(["config/list", "config/link"])
        #expect(try await directory.reports { try $0.makeDirectory("config") } == 1)
        #expect(try await directory.reports { try $0.write("a", to: "config/other") } == 0)
        #expect(try await directory.reports { try $0.write("a", to: "config/list") } > 0)
        #expect(try await directory.reports { try $0.write("b", to: "config/list") } > 0)
        #expect(try await directory.reports { try $0.write("b", to: "config/other") } == 0)
        #expect(try await directory.reports { try $0.move("config/other", to: "config/list") } > 0)
        #expect(try await directory.reports { try $0.write("c", to: "config/list") } > 0)
        #expect(try await directory.reports { try $0.remove("config/list") } > 0)
        #expect(try await directory.reports { try $0.link("config/link", to: "../target") } > 0)
        #expect(try await directory.reports { try $0.write("c", to: "target") } > 0)
        #expect(try await directory.reports { try $0.write("d", to: "target") } > 0)
    }

    @Test func lostEventsCountAsAChange() async throws {
        let directory = try await WatchedDirectory(["d", "e"])
        try await directory.reports {
            for name in ["d", "e"] { try $0.makeDirectory(name) }
            for name in ["d/a", "d/b"] { try $0.write("x", to: name) }
        }
        let limit = try #require(
            Int(
                String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            )
        )
        // The kernel merges two equal events in a row, so the test alternates between two files. The changes after the
        // loop are the lost events.
        let reports = try await directory.reports { directory in
            for _ in 0...limit / 2 {
                chmod(directory.path("d/a"), 0o600)
                chmod(directory.path("d/b"), 0o600)
            }
            try directory.move("e", to: "f")
            try directory.makeDirectory("e")
        }
        // The loop's other work has its turn between two reports.
        #expect(reports > 1)
        #expect(try await directory.reports { try $0.write("x", to: "e/file") } == 1)
        #expect(try await directory.reports { try $0.write("x", to: "f/file") } == 0)
    }

    @Test func twoPathsToOneDirectoryAreBothFollowed() async throws {
        let directory = try await WatchedDirectory(["one", "two", "one/sub/file"])
        try directory.makeDirectory("real/sub")
        try directory.link("one", to: "real")
        try directory.link("two", to: "./real/../real/.")
        #expect(try await directory.reports { try $0.write("x", to: "real/file") } == 1)
        #expect(try await directory.reports { try $0.write("x", to: "real/sub/file") } == 1)
        #expect(try await directory.reports { try $0.remove("one") } > 0)
        #expect(try await directory.reports { try $0.write("y", to: "real/file") } == 1)
        #expect(try await directory.reports { try $0.write("y", to: "real/sub/file") } == 0)
    }

    @Test func unwatchablePathsAreReported() async throws {
        let directory = try await WatchedDirectory([])
        try directory.link("loop", to: "loop/x")
        let long = String(repeating: "x", count: 300)
        await directory.set(["loop/y", long, "fine"])
        #expect(await Set(directory.failures) == [.tooManySymbolicLinkLevels, .fileNameTooLong])
        #expect(try await directory.reports { try $0.makeDirectory("fine") } == 1)
        // The watch succeeds as soon as the path can be watched.
        #expect(
            try await directory.reports {
                try $0.remove("loop")
                try $0.makeDirectory("loop/y")
            } > 0
        )
        #expect(await directory.failures == [.fileNameTooLong])
        #expect(try await directory.reports { try $0.write("x", to: "loop/y/file") } == 1)
        #expect(UnwatchedPath(path: "/x", error: .noSpace).description == "/x: No space left on device")
    }

    @Test func cancelledWatchLeavesNoDescriptor() async throws {
        let directory = try await WatchedDirectory(["a/b", "c"])
        let count = try await directory.watchCount()
        for _ in 0..<5 {
            try await directory.reports { try $0.makeDirectory("a/b") }
            try await directory.reports { try $0.link("c", to: "a") }
            try await directory.reports { try $0.move("a", to: "moved") }
            try await directory.reports { try $0.remove("moved") }
            try await directory.reports { try $0.remove("c") }
            await directory.set(["c", "d"])
            await directory.set(["a/b", "c"])
        }
        #expect(try await directory.watchCount() == count)
        await directory.cancel()
        #expect(try await directory.watchCount() == 0)
        #expect(try await directory.reports { try $0.makeDirectory("a/b") } == 0)
        await directory.cancel()
        #expect(await directory.isForgotten())
    }
}
