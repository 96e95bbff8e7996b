import Foundation
import Glibc
import OpenURLBus
import Reactor
import SQLite
import Testing

@testable import DBus
@testable import URLRouter

/// The log of requests in its file.
@Suite(.timeLimit(.minutes(10))) struct RequestLogTests {
    private let directory = TemporaryState()
    private let log = RecordedLog()
    private static let day: UInt64 = 86_400 * 1_000_000

    private var path: String { "\(directory.path)/openurl/log.sqlite" }

    private func open(capacity: Int = MonitorInterface.capacity) -> RequestLog {
        RequestLog(path: path, capacity: capacity, on: directory.loop, log: log.logger)
    }

    private func entry(_ time: UInt64, url: String = "app:x", failing: Bool = false) -> MonitorEntry {
        var entry = MonitorEntry(time: time, kind: .open)
        entry.url = url
        entry.handler = "com.example.app"
        entry.source = "/usr/bin/source"
        entry.trace = [TracePhase("open", microseconds: 5)]
        entry.microseconds = 7
        if failing { entry.error = OpenURLError(.declined, "no").dbusError }
        return entry
    }

    private func times(
        _ log: RequestLog,
        _ change: (inout MonitorFilter) -> Void = { _ in }
    ) async throws(RemoteError) -> [UInt64] {
        var filter = MonitorFilter()
        change(&filter)
        return try await log.entries(filter, at: 0).map(\.time)
    }

    @Test func nextRouterReadsTheEntriesUnchanged() async throws {
        var full = entry(3)
        full.kind = .unknown("later")
        full.requestID = "r3"
        full.callerClass = .known(.user)
        full.pid = .max
        full.rule = "it has claimed the scheme"
        full.decision = .known(.allow)
        full.decisionReason = ""
        full.attempt = 200
        full.way = .known(.launched)
        full.trace.append(TracePhase("ä", microseconds: .max, answer: false))
        full.microseconds = .max
        let entries = [entry(1), entry(2, failing: true), full]
        await open().add(entries, at: 3)
        #expect(try await open().entries(MonitorFilter(), at: 3) == entries.reversed())
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(log.lines == [])
    }

    @Test func aLaterEntryPushesTheFirstOneOut() async throws {
        let log = open()
        let count = UInt64(MonitorInterface.capacity)
        await log.add((1...count).map { entry($0) }, at: count)
        #expect(try await times(log) { $0.before = 3 } == [2, 1])
        await log.add([entry(count + 1)], at: count)
        #expect(try await times(log) { $0.before = 3 } == [2])
        #expect(try await times(log) { $0.limit = 1 } == [count + 1])
    }

    /// A router counts only its own entries at first, and then all of them.
    @Test func entriesOfAnotherRouterCountSoon() async throws {
        let (log, other) = (open(capacity: 10), open(capacity: 10))
        await log.add([entry(1)], at: 1)
        await other.add((2...9).map { entry($0) }, at: 9)
        await log.add((10...18).map { entry($0) }, at: 18)
        #expect(try await times(log).count == 18)
        await log.add([entry(19)], at: 19)
        await log.add([entry(20)], at: 20)
        #expect(try await times(log) == (11...20).reversed())
    }

    @Test func entriesGoAfterThirtyDays() async throws {
        let log = open()
        let now = 100 * Self.day
        await log.add([entry(69 * Self.day), entry(70 * Self.day), entry(71 * Self.day)], at: 71 * Self.day)
        #expect(try await times(log) == [71 * Self.day, 70 * Self.day, 69 * Self.day])
        // They are not shown any longer, and the next entry removes them.
        let shown = try await log.entries(MonitorFilter(), at: now).map(\.time)
        #expect(shown == [71 * Self.day, 70 * Self.day])
        await log.add([entry(now)], at: now)
        #expect(try await times(log) == [now, 71 * Self.day, 70 * Self.day])
    }

    @Test(
        arguments: [
            // The last request's time, the clock's time, and the time of the next request.
            (0, 5, 5), (5, 5, 6), (7, 5, 8), (1_000_005, 5, 1_000_006), (1_000_006, 5, 5),
        ] as [(UInt64, UInt64, UInt64)]
    )
    func timeFollowsAClockThatIsSetBack(_ last: UInt64, _ now: UInt64, _ time: UInt64) {
        #expect(Monitor.time(after: last, at: now) == time)
    }

    @Test func filterSelectsEntries() async throws {
        let log = open()
        var activated = entry(4)
        activated.url = nil
        activated.handler = "com.example.other"
        activated.source = "com.example.source"
        activated.requestID = "r4"
        await log.add([entry(1), entry(2, url: "MAILTO:a"), entry(3, failing: true), activated], at: 4)
        #expect(try await times(log) { $0.scheme = "mailto" } == [2])
        #expect(try await times(log) { $0.handler = "com.example.other" } == [4])
        #expect(try await times(log) { $0.requestID = "r4" } == [4])
        #expect(try await times(log) { $0.isForFailures = true } == [3])
        #expect(try await times(log) { $0.since = 3 } == [4, 3])
        #expect(try await times(log) { $0.before = 3 } == [2, 1])
        for source in ["source", "/usr/bin/source"] {
            #expect(try await times(log) { $0.source = source } == [3, 2, 1])
        }
        #expect(try await times(log) { $0.source = "com.example.source" } == [4])
        #expect(try await times(log) { $0.source = "ource" } == [])
    }

    @Test func pageIsLimited() async throws {
        let log = open()
        await log.add((1...200).map { entry($0) }, at: 200)
        #expect(try await times(log).count == MonitorInterface.pageSize)
        #expect(try await times(log) { $0.limit = 5 } == [200, 199, 198, 197, 196])
        #expect(try await times(log) { $0.limit = 1000 }.count == MonitorInterface.pageSize)
    }

    /// A page of the largest entries fits into a message that clients read.
    @Test func largestPageCanBeRead() throws {
        let long = String(repeating: "x", count: 5000)
        var request = ObservedRequest(time: 1, kind: .open, url: "app:/\(long)", fallback: [])
        request.requestID = long
        request.handler = String(repeating: "x", count: 255)
        request.source = OpenContext.Source()
        request.source?.executable = long
        request.trace = (0..<80).map { TracePhase(long, microseconds: $0) }
        request.outcome = ObservedRequest.Outcome(microseconds: 1, error: OpenURLError(.declined, long))
        var reasons = ChoiceReasons()
        let page = Array(repeating: request.entry(&reasons), count: MonitorInterface.pageSize)
        let message = try Message(.signal("a.b", "C", from: "/", page, limit: .max))
        let read: [MonitorEntry] = try message.contents(limit: ConnectionLimits().bodyBytes)
        #expect(read == page)
    }

    /// An entry that no message could carry would hide the whole page.
    @Test(arguments: ["X'6C01'", "X''", "X'01' || entry", "entry || X'00'"])
    func unreadableEntryIsNotShown(_ bytes: String) async throws {
        let log = open()
        await log.add([entry(1), entry(2), entry(3, url: "app:\0")], at: 3)
        try Database(path: path, .existing).execute("UPDATE entries SET entry = \(bytes) WHERE time = 1")
        #expect(try await times(log) == [2])
    }

    @Test func damagedFileGivesWayToANewOne() async throws {
        try URL(filePath: path).deletingLastPathComponent().createDirectory()
        try Data(repeating: 7, count: 5000).write(to: URL(filePath: path))
        let log = open()
        await log.add([entry(1)], at: 1)
        #expect(try await times(log) == [1])
    }

    @Test func linkIsNotFollowed() async throws {
        try URL(filePath: path).deletingLastPathComponent().createDirectory()
        let target = "\(directory.path)/target"
        #expect(symlink(target, path) == 0)
        let log = open()
        await log.add([entry(1)], at: 1)
        #expect(access(target, F_OK) != 0)
        let error = await #expect(throws: RemoteError.self) { try await times(log) }
        #expect(error?.message.hasSuffix("it is a link, which is not followed; remove it") == true)
        #expect(self.log.lines.contains { $0.contains("it is a link") })
    }

    /// Another user could put a log of its own there.
    @Test func directoryThatOthersMayChangeIsNotUsed() async throws {
        let folder = URL(filePath: path).deletingLastPathComponent()
        try folder.createDirectory()
        #expect(chmod(folder.path, 0o777) == 0)
        let log = open()
        await log.add([entry(1)], at: 1)
        #expect(access(path, F_OK) != 0)
        let error = await #expect(throws: RemoteError.self) { try await times(log) }
        #expect(error?.message.hasSuffix("its directory can be changed by other users") == true)
    }

    @Test func environmentTurnsTheLogOff() {
        func log(_ environment: [String: String]) -> RequestLog? {
            RequestLog(environment: environment, on: directory.loop, log: self.log.logger)
        }
        #expect(log(["HOME": "/home/x"]) != nil)
        #expect(log(["HOME": "/home/x", "OPENURL_LOG": "off"]) == nil)
        #expect(log([:]) == nil)
    }
}

extension URL {
    fileprivate func createDirectory() throws {
        try FileManager.default.createDirectory(at: self, withIntermediateDirectories: true)
    }
}
