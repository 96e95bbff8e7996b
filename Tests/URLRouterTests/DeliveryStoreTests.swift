import Foundation
import Glibc
import Logging
import OpenURLBus
import Reactor
import SQLite
import Testing

@testable import DBus
@testable import URLRouter

/// The deliveries in a database file.
@Suite(.timeLimit(.minutes(10))) struct DeliveryStoreTests {
    private let directory = TemporaryState()
    private let log = RecordedLog()

    private func store() throws -> DeliveryStore {
        DeliveryStore(path: directory.queue, on: directory.loop, log: log.logger)
    }

    private func delivery(_ url: String, of sender: String = "com.example.sender") -> Delivery {
        var options = OpenOptions()
        options.annotation = .dictionary(["k": "v"], key: "s", value: "s")
        options.isQueued = true
        var context = OpenContext()
        context.sourceApplication = sender
        context.source.callerClass = .known(.handler)
        context.source.application = sender
        context.hops = 2
        return Delivery(url: url, handler: "com.example.app", options: options, context: context)
    }

    private func waiting(_ id: Int64, _ due: Int64) -> DeliveryStore.Waiting {
        DeliveryStore.Waiting(
            id: id,
            handler: "com.example.app",
            sender: "the handler com.example.sender",
            due: due
        )
    }

    @Test func nextStoreReadsAcceptedDeliveries() async throws {
        let first = try store()
        let id = try await first.accept(delivery("app:1"), at: 5000)
        #expect(try await first.accept(delivery("app:2"), at: 6000) > id)
        await first.giveBack()
        let next = try store()
        #expect(Set(try await next.waiting() ?? []) == [waiting(id, 5000), waiting(id + 1, 6000)])
        let begun = try #require(try await next.begin(id))
        #expect(begun.delivery == delivery("app:1"))
        #expect(begun.attempt == 1)
        #expect(try await next.begin(id)?.attempt == 2)
        try await next.succeed(id, .taken, at: 0)
        #expect(try await next.begin(id) == nil)
        await next.giveBack()
        #expect(try await store().waiting()?.map(\.id) == [id + 1])
    }

    @Test func onlyOneProcessMayDeliver() async throws {
        let first = try store()
        let second = try store()
        #expect(try await first.waiting() != nil)
        #expect(try await second.waiting() == nil)
        // Both stores accept deliveries. The store with the right to deliver reads the deliveries of both.
        _ = try await second.accept(delivery("app:1"), at: 0)
        await first.giveBack()
        #expect(try await second.waiting()?.count == 1)
    }

    @Test func linkInThePlaceOfTheFileIsNotFollowed() async throws {
        let first = try store()
        _ = try await first.accept(delivery("app:1"), at: 0)
        await first.giveBack()
        let target = "\(directory.queue).target"
        try #require(rename(directory.queue, target) == 0 && symlink(target, directory.queue) == 0)
        let second = try store()
        let error = await #expect(throws: DeliveryStoreError.self) {
            _ = try await second.accept(delivery("app:2"), at: 0)
        }
        #expect(error?.reason == "it is a link, which is not followed; remove it")
    }

    /// Another user could put a queue of its own there.
    @Test func directoryThatOthersMayChangeIsNotUsed() async throws {
        let first = try store()
        _ = try await first.accept(delivery("app:1"), at: 0)
        await first.giveBack()
        let folder = URL(filePath: directory.queue).deletingLastPathComponent().path
        try #require(chmod(folder, 0o777) == 0)
        let second = try store()
        let error = await #expect(throws: DeliveryStoreError.self) { _ = try await second.waiting() }
        #expect(error?.reason == "its directory can be changed by other users")
        try #require(chmod(folder, 0o700) == 0)
        #expect(try await store().waiting()?.count == 1)
    }

    @Test func numbersOfADeletedFileAreNotReused() async throws {
        let id = try await store().accept(delivery("app:1"), at: 0)
        try directory.remove()
        #expect(try await store().accept(delivery("app:2"), at: 0) > id)
    }

    @Test func unstorableDeliveryDoesNotAffectOthers() async throws {
        let store = try store()
        var options = OpenOptions()
        options.annotation = .unixFD(UnixFD(owning: dup(STDERR_FILENO)))
        let bad = Delivery(url: "app:bad", handler: "com.example.app", options: options, context: OpenContext())
        let accepted = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask {
                    do {
                        _ = try await store.accept(number == 7 ? bad : delivery("app:\(number)"), at: 0)
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(0) { $1 ? $0 + 1 : $0 }
        }
        #expect(accepted == 19)
    }

    // MARK: Limits

    private func limited(_ change: (inout DeliveryStoreLimits) -> Void) throws -> DeliveryStore {
        var limits = DeliveryStoreLimits()
        change(&limits)
        return DeliveryStore(path: directory.queue, limits: limits, on: directory.loop, log: log.logger)
    }

    @Test func fullStoreRefusesDeliveriesUntilThereIsRoom() async throws {
        // One caller gets two of four places.
        let store = try limited { $0.deliveries = 4 }
        let first = try await store.accept(delivery("app:1"), at: 0)
        _ = try await store.accept(delivery("app:2"), at: 0)
        let reason =
            "it has 2 URLs of the handler com.example.sender, and one sender gets at most half of the room that is left"
        let full = DeliveryStoreError(path: directory.queue, reason: reason, isFull: true)
        await #expect(throws: full) { try await store.accept(delivery("app:3"), at: 0) }
        // A dead letter also counts towards the limit.
        _ = try await store.fail(first, OpenURLError(.declined, "no"), due: nil)
        await #expect(throws: full) { try await store.accept(delivery("app:3"), at: 0) }
        #expect(try await store.drop(first))
        _ = try await store.accept(delivery("app:3"), at: 0)
        // Deliveries of an earlier process count towards the limit.
        let next = try limited { $0.deliveries = 4 }
        await #expect(throws: full) { try await next.accept(delivery("app:4"), at: 0) }
        // A limit that is lower than before leaves no room at all.
        let lower = try limited { $0.deliveries = 2 }
        let none = DeliveryStoreError(path: directory.queue, reason: "it is full", isFull: true)
        await #expect(throws: none) { try await lower.accept(delivery("app:4", of: "com.example.other"), at: 0) }
    }

    @Test func storedBytesAreLimited() async throws {
        let store = try limited { $0.bytes = 4096 }
        _ = try await store.accept(delivery("app:1"), at: 0)
        let long = delivery("app:" + String(repeating: "x", count: 4096))
        await #expect(throws: DeliveryStoreError.self) { try await store.accept(long, at: 0) }
        _ = try await store.accept(delivery("app:2"), at: 0)
    }

    /// Returns the number of deliveries that a store accepts from a sender.
    private func accepted(_ sender: String, by store: DeliveryStore) async -> Int {
        var count = 0
        do throws(DeliveryStoreError) {
            while true {
                _ = try await store.accept(delivery("app:\(count)", of: sender), at: 0)
                count += 1
            }
        } catch {
            #expect(error.isFull)
            #expect(error.description.contains("URLs of the handler \(sender)"), "\(error)")
        }
        return count
    }

    @Test func callerGetsHalfOfWhatIsLeft() async throws {
        let store = try limited { $0.deliveries = 8 }
        #expect(await accepted("com.example.greedy", by: store) == 4)
        #expect(await accepted("com.example.second", by: store) == 2)
        // The next store counts what the file holds.
        let next = try limited { $0.deliveries = 8 }
        #expect(await accepted("com.example.greedy", by: next) == 0)
        #expect(await accepted("com.example.third", by: next) == 1)
        // A caller whose URLs are gone has its share again.
        for url in try await next.list(after: 0, limit: 4) { #expect(try await next.drop(try #require(Int64(url.id)))) }
        #expect(await accepted("com.example.greedy", by: next) == 2)
    }

    @Test func callerIsAHandlerOrAProgram() {
        var context = OpenContext()
        func caller() -> String { Delivery(url: "", handler: "", options: OpenOptions(), context: context).caller }
        #expect(caller() == "unknown programs")
        context.source.executable = "/usr/bin/openurl"
        context.source.callerClass = .known(.user)
        #expect(caller() == "/usr/bin/openurl")
        context.source.application = "com.example.sender"
        context.source.callerClass = .known(.handler)
        #expect(caller() == "the handler com.example.sender")
        context.source.callerClass = .known(.sandboxed)
        #expect(caller() == "the sandbox of com.example.sender")
    }

    @Test func lifetimeFollowsTheTimeOfADelivery() async throws {
        let zone = Lock(TimeZoneRules.tokyo)
        let store = DeliveryStore(
            path: directory.queue,
            zone: { zone.withLock { $0 } },
            on: directory.loop,
            log: log.logger
        )
        let now = WallClock.milliseconds
        let (hours, minute) = (Int64(9 * 3_600_000), Int64(60_000))
        // This is in ten minutes in Tokyo.
        let time = try #require(WallClockTime(seconds: (now + hours) / 1000 + 600))
        var options = OpenOptions()
        options.deliveryTime = .wallClock(time)
        options.lifetime = .milliseconds(minute)
        let sent = Delivery(url: "app:1", handler: "com.example.app", options: options, context: OpenContext())
        let due = now + 600_000
        let id = try await store.accept(sent, at: now, due: due, keepingSoonest: nil).id
        #expect(try await store.nextExpiry(after: now) == due + minute)
        zone.withLock { $0 = .utc }
        try await store.reviewSchedules(at: now)
        let change = try #require(try await store.nextExpiry(after: now)) - due - minute
        #expect(abs(change - hours) <= 1000)
        #expect(try await store.expired(at: due + 2 * minute).isEmpty)
        #expect(try await store.list(after: 0, limit: 1).map(\.id) == ["\(id)"])
    }

    /// Makes the tables those of the first version.
    private static let firstVersion = """
        ALTER TABLE deliveries DROP COLUMN caller; ALTER TABLE deliveries DROP COLUMN name; DROP TABLE replies;
        ALTER TABLE deliveries DROP COLUMN at; ALTER TABLE deliveries DROP COLUMN every;
        ALTER TABLE deliveries DROP COLUMN turn; ALTER TABLE deliveries DROP COLUMN notify;
        ALTER TABLE deliveries DROP COLUMN lifetime; ALTER TABLE deliveries DROP COLUMN expires;
        ALTER TABLE deliveries DROP COLUMN round; ALTER TABLE deliveries DROP COLUMN nonce;
        DROP TABLE received; DROP TABLE identity;
        PRAGMA user_version = 1
        """

    @Test func fileWithoutCallersIsUsedFurther() async throws {
        let id = try await store().accept(delivery("app:1"), at: 0)
        try Database(path: directory.queue, .existing).execute(
            Self.firstVersion
        )
        let store = try limited { $0.deliveries = 4 }
        #expect(await accepted("com.example.second", by: store) == 1)
        #expect(try await store.begin(id)?.delivery == delivery("app:1"))
    }

    @Test func fileIsChangedOnceByProcessesThatOpenItTogether() async throws {
        _ = try await store().accept(delivery("app:1"), at: 0)
        let file = DeliveryFile(path: directory.queue)
        for _ in 1...50 {
            try Database(path: directory.queue, .existing).execute(
                Self.firstVersion
            )
            let failures = Lock<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                do throws(SQLiteError) {
                    #expect(try file.open() != nil)
                } catch {
                    failures.withLock { $0.append(error.message) }
                }
            }
            try #require(failures.withLock { $0 } == [])
        }
    }

    @Test func callerGetsHalfOfTheBytesThatAreLeft() async throws {
        let store = try limited { $0.bytes = 4096 }
        let half = delivery("app:" + String(repeating: "x", count: 2100))
        await #expect(throws: DeliveryStoreError.self) { try await store.accept(half, at: 0) }
        _ = try await store.accept(delivery("app:1"), at: 0)
    }

    private func kill(_ url: String, of sender: String, by store: DeliveryStore) async throws {
        let id = try await store.accept(delivery(url, of: sender), at: 0)
        #expect(try await store.fail(id, OpenURLError(.declined, "no"), due: nil) == .dead)
    }

    @Test func oldestDeadLettersAreRemoved() async throws {
        let store = try limited { $0.deadLetters = 4 }
        for number in 1...4 { try await kill("app:\(number)", of: "com.example.sender", by: store) }
        #expect(try await store.list(after: 0, limit: 10).map(\.url) == ["app:3", "app:4"])
        let line = "removed 1 of the queue's oldest dead letters, because their sender has too many"
        #expect(log.lines.contains { $0.hasSuffix(line) })
    }

    @Test func deadLettersOfOneSenderRemoveNoneOfAnother() async throws {
        let store = try limited { $0.deadLetters = 4 }
        try await kill("app:important", of: "com.example.other", by: store)
        for number in 1...9 { try await kill("app:\(number)", of: "com.example.sender", by: store) }
        #expect(try await store.list(after: 0, limit: 10).map(\.url) == ["app:important", "app:9"])
        // A sender for which nothing is left keeps its newest one.
        for sender in ["com.example.third", "com.example.fourth"] {
            for number in 1...2 { try await kill("app:\(sender)\(number)", of: sender, by: store) }
        }
        #expect(
            try await store.list(after: 0, limit: 10).map(\.url)
                == ["app:important", "app:9", "app:com.example.third2", "app:com.example.fourth2"]
        )
    }

    // MARK: Replies

    private func taken(_ text: String) -> OpenResult {
        var result = OpenResult.taken
        result.reply = ["text": .string(text)]
        return result
    }

    /// Accepts a delivery and stores the reply to it.
    private func reply(_ text: String, to sender: String, at now: Int64, by store: DeliveryStore) async throws -> Int64
    {
        let id = try await store.accept(delivery("app:\(text)", of: sender), at: now)
        try await store.succeed(id, taken(text), at: now)
        return id
    }

    private func kept(_ id: Int64, at now: Int64, by store: DeliveryStore) async throws -> String? {
        guard case .delivered(let result) = try await store.outcome(of: id, at: now) else { return nil }
        return result.reply["text"]?.string
    }

    @Test func replyIsKeptForADay() async throws {
        let store = try store()
        let id = try await reply("a", to: "com.example.sender", at: 1000, by: store)
        #expect(try await store.list(after: 0, limit: 10) == [])
        let next = try self.store()
        #expect(try await kept(id, at: 1000, by: next) == "a")
        #expect(try await next.caller(of: id) == "the handler com.example.sender")
        let day: Int64 = 86_400_000
        #expect(try await kept(id, at: 1000 + day, by: next) == "a")
        #expect(try await kept(id, at: 1001 + day, by: next) == nil)
        // The next reply removes it from the file.
        _ = try await reply("b", to: "com.example.sender", at: 1001 + day, by: next)
        #expect(try await kept(id, at: 1000, by: next) == nil)
    }

    @Test func outcomeIsKnownBeforeAndAfterTheDelivery() async throws {
        let store = try store()
        #expect(try await store.outcome(of: 7, at: 0) == nil)
        let id = try await store.accept(delivery("app:1"), at: 0)
        guard case .some(.none) = try await store.outcome(of: id, at: 0) else {
            Issue.record("a waiting delivery has an outcome")
            return
        }
        #expect(try await store.fail(id, OpenURLError(.declined, "no"), due: nil) == .dead)
        guard case .dead(OpenURLError(.declined, "no"))? = try await store.outcome(of: id, at: 0) else {
            Issue.record("a dead letter has no outcome")
            return
        }
    }

    @Test func replyOfADroppedDeliveryIsNotKept() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        #expect(try await store.drop(id))
        try await store.succeed(id, taken("a"), at: 0)
        #expect(try await store.outcome(of: id, at: 0) == nil)
    }

    @Test func oldRepliesOfACallerGiveWay() async throws {
        let store = try limited { $0.replies = 4 }
        var ids: [Int64] = []
        for number in 1...3 { ids.append(try await reply("\(number)", to: "com.example.a", at: 0, by: store)) }
        // One caller gets half of what is left.
        let other = try await reply("other", to: "com.example.b", at: 0, by: store)
        #expect(try await kept(ids[0], at: 0, by: store) == nil)
        #expect(try await kept(ids[2], at: 0, by: store) == "3")
        #expect(try await kept(other, at: 0, by: store) == "other")
    }

    @Test func largeReplyIsNotKeptWithoutRoom() async throws {
        let store = try limited { $0.replyBytes = 4096 }
        let large = try await reply(String(repeating: "x", count: 4096), to: "com.example.a", at: 0, by: store)
        #expect(try await store.outcome(of: large, at: 0) == nil)
        let small = try await reply("small", to: "com.example.a", at: 0, by: store)
        #expect(try await kept(small, at: 0, by: store) == "small")
    }

    @Test func descriptorOfAReplyIsLeftOut() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        var result = taken("a")
        result.reply["file"] = .unixFD(UnixFD(owning: dup(STDERR_FILENO)))
        try await store.succeed(id, result, at: 0)
        guard case .delivered(let kept) = try await store.outcome(of: id, at: 0) else {
            Issue.record("there is no reply")
            return
        }
        #expect(kept.reply == ["text": "a"])
    }

    @Test func listHasTheNameOfTheRequest() async throws {
        let store = try store()
        let plain = try await store.accept(delivery("app:1"), at: 0)
        var options = OpenOptions()
        options.requestID = RequestID(rawValue: "login-7")
        _ = try await store.accept(
            Delivery(url: "app:2", handler: "com.example.app", options: options, context: OpenContext()),
            at: 0
        )
        #expect(try await store.list(after: 0, limit: 10).map(\.requestID) == ["\(plain)", "login-7"])
    }

    @Test func longErrorIsTruncated() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        _ = try await store.fail(id, OpenURLError(.declined, String(repeating: "x", count: 100_000)), due: nil)
        #expect(try await store.list(after: 0, limit: 10).first?.error?.message.count == 1024)
    }

    @Test func listIsReturnedInPages() async throws {
        let store = try store()
        for number in 1...5 { _ = try await store.accept(delivery("app:\(number)"), at: 0) }
        let page = try await store.list(after: 0, limit: 2)
        #expect(page.map(\.url) == ["app:1", "app:2"])
        let last = try #require(page.last.flatMap { Int64($0.id) })
        #expect(try await store.list(after: last, limit: 10).map(\.url) == ["app:3", "app:4", "app:5"])
    }

    @Test func postponedDeliveryDoesNotCountAsAnAttempt() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        _ = try await store.begin(id)
        let after = try await store.fail(id, OpenURLError(.launchFailed, "later"), due: 1, counts: false)
        #expect(after == .waiting(due: 1))
        #expect(try await store.begin(id)?.attempt == 1)
        _ = try await store.fail(id, OpenURLError(.declined, "no"), due: nil)
        // A dead letter is not delivered again.
        #expect(try await store.begin(id) == nil)
        #expect(try await store.fail(id + 1, OpenURLError(.declined, "no"), due: nil) == .gone)
    }

    @Test func numbersAreNeverReused() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        try await store.succeed(id, .taken, at: 0)
        #expect(try await store.accept(delivery("app:2"), at: 0) > id)
    }

    @Test func simultaneousDeliveriesGetDistinctNumbers() async throws {
        let store = try store()
        let ids = try await withThrowingTaskGroup(of: (Int, Int64).self) { group in
            for number in 0..<200 {
                group.addTask { (number, try await store.accept(delivery("app:\(number)"), at: 0)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let urls = Dictionary(uniqueKeysWithValues: try await store.list(after: 0, limit: 1000).map { ($0.id, $0.url) })
        #expect(urls.count == 200)
        for (number, id) in ids { #expect(urls["\(id)"] == "app:\(number)") }
    }

    @Test func failureIsListedUntilItIsRetriedOrDropped() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 1000)
        _ = try await store.begin(id)
        _ = try await store.fail(id, OpenURLError(.launchFailed, "why"), due: 2001)
        var entry = QueuedURL(
            id: "\(id)",
            url: "app:1",
            handler: "com.example.app",
            state: .waiting,
            attempts: 1,
            accepted: 1
        )
        entry.requestID = "\(id)"
        entry.next = 3
        entry.error = RemoteError("org.openurl.Error.LaunchFailed", "why")
        #expect(try await store.list(after: 0, limit: 1000) == [entry])
        _ = try await store.fail(id, OpenURLError(.declined, "no"), due: nil)
        #expect(try await store.list(after: 0, limit: 1000).map(\.state) == [.dead])
        #expect(try await store.waiting() == [])
        #expect(try await store.retry(id, at: 9000)?.handler == "com.example.app")
        #expect(try await store.waiting() == [waiting(id, 9000)])
        #expect(try await store.begin(id)?.attempt == 1)
        #expect(try await store.drop(id))
        #expect(try await store.list(after: 0, limit: 1000) == [])
        #expect(try await !store.drop(id))
        #expect(try await store.retry(id, at: 0) == nil)
    }

    @Test func deliveryThatEndsEveryRouterBecomesADeadLetter() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        for _ in 1...RetryDelay.attempts { #expect(try await store.begin(id) != nil) }
        #expect(try await store.begin(id) == nil)
        let entry = try #require(try await store.list(after: 0, limit: 1).first)
        #expect(entry.state == .dead)
        #expect(entry.error?.message == "the router exited during each of 8 attempts")
    }

    @Test func damagedDeliveryBecomesADeadLetter() async throws {
        let store = try store()
        let id = try await store.accept(delivery("app:1"), at: 0)
        try Database(path: directory.queue, .existing).execute("UPDATE deliveries SET request = x'00'")
        #expect(try await store.begin(id) == nil)
        let entry = try #require(try await store.list(after: 0, limit: 1000).first)
        #expect(entry.state == .dead)
        #expect(entry.error?.message == "the stored request is damaged: the bytes are not a message")
    }

    /// Values that no router writes.
    private static let extremes = [
        "-9223372036854775808", "9223372036854775807", "1e300", "-1e300", "'soon'", "x'00ff'", "char(0)", "''",
    ]
    private static let columns = [
        "due", "accepted", "attempts", "url", "handler", "request", "error", "message", "caller",
    ]

    @Test(arguments: extremes, columns)
    func extremeValueOfARowIsHarmless(value: String, column: String) async throws {
        let first = try store()
        let damaged = try await first.accept(delivery("app:1"), at: 0)
        let good = try await first.accept(delivery("app:2"), at: 0)
        await first.giveBack()
        try Database(path: directory.queue, .existing)
            .execute(
                """
                UPDATE deliveries SET error = 'org.openurl.Error.Declined' WHERE id = \(damaged);
                UPDATE deliveries SET \(column) = \(value) WHERE id = \(damaged)
                """
            )
        let next = try store()
        let waiting = try #require(try await next.waiting())
        #expect(Set(waiting.map(\.id)) == [damaged, good])
        #expect(waiting.allSatisfy { (0...253_402_300_799_999).contains($0.due) })
        let listed = try await next.list(after: .min, limit: 10)
        #expect(listed.map(\.id) == ["\(damaged)", "\(good)"])
        // A message can carry the list.
        _ = try MessageArchive.bytes(of: listed, limit: 1 << 20)
        // Attempts end, whatever number the row had.
        for _ in 0...RetryDelay.attempts { _ = try await next.begin(damaged) }
        #expect(try await next.begin(damaged) == nil)
        #expect(try await next.begin(good)?.delivery == delivery("app:2"))
        _ = try await next.accept(delivery("app:3"), at: 0)
        #expect(try await next.drop(damaged))
    }

    @Test func pageOfLongURLsEndsEarly() async throws {
        let store = try store()
        let long = "app:" + String(repeating: "x", count: 1 << 20)
        for _ in 0..<8 { _ = try await store.accept(delivery(long), at: 0) }
        let page = try await store.list(after: .min, limit: 128)
        #expect(page.count == 4)
        let last = try #require(page.last.flatMap { Int64($0.id) })
        #expect(try await store.list(after: last, limit: 128).count == 4)
    }

    // MARK: The file

    @Test func queriesCreateNoFile() async throws {
        let store = try store()
        #expect(try await store.list(after: 0, limit: 1000) == [])
        #expect(try await store.waiting() == [])
        #expect(try await !store.drop(1))
        #expect(access(directory.queue, F_OK) != 0)
    }

    @Test func fileBelongsToTheUserOnly() async throws {
        _ = try await store().accept(delivery("app:1"), at: 0)
        let store = try store()
        _ = try await store.accept(delivery("app:2"), at: 0)
        let names = try directory.names()
        #expect(names.count > 1)
        for name in names {
            var status = stat()
            #expect(stat("\(directory.path)/state/\(name)", &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
        withExtendedLifetime(store) {}
    }

    @Test func damagedFileIsKeptAndReplaced() async throws {
        try directory.write("this is no database, and never was one")
        let store = try store()
        await #expect(throws: DeliveryStoreError.self) { try await store.waiting() }
        let kept = try directory.names().filter { $0.hasPrefix("queue.sqlite.damaged-") }
        #expect(kept.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.count == 1)
        #expect(log.lines.contains { $0.contains("it is kept as") })
        _ = try await store.accept(delivery("app:1"), at: 0)
        #expect(try await store.list(after: 0, limit: 1000).map(\.url) == ["app:1"])
    }

    @Test func fileOfALaterVersionIsKept() async throws {
        _ = try await store().accept(delivery("app:1"), at: 0)
        try Database(path: directory.queue, .existing).execute("PRAGMA user_version = 99")
        let store = try store()
        let failure = DeliveryStoreError(path: directory.queue, reason: "it belongs to a later version")
        await #expect(throws: failure) { try await store.list(after: 0, limit: 1000) }
        await #expect(throws: failure) { try await store.accept(delivery("app:2"), at: 0) }
        #expect(failure.description == "the queue \(directory.queue) cannot be used: it belongs to a later version")
    }

    @Test func unwritableDeliveriesAreNotAccepted() async throws {
        // A file stands in place of the directory.
        try directory.write("x", to: "openurl")
        let store = DeliveryStore(path: directory.path + "/openurl/queue.sqlite", on: directory.loop, log: log.logger)
        await #expect(throws: DeliveryStoreError.self) { try await store.accept(delivery("app:1"), at: 0) }
        // A descriptor has no meaning in a file, so the store refuses it too.
        var options = OpenOptions()
        options.annotation = .unixFD(UnixFD(owning: dup(STDERR_FILENO)))
        let descriptor = Delivery(url: "app:1", handler: "com.example.app", options: options, context: OpenContext())
        let good = try self.store()
        await #expect(throws: DeliveryStoreError.self) { try await good.accept(descriptor, at: 0) }
    }

    @Test func environmentDeterminesThePath() async throws {
        let loop = directory.loop
        for variable in ["XDG_STATE_HOME", "HOME"] {
            let place = variable == "HOME" ? "\(directory.path)/.local/state" : directory.path
            let found = DeliveryStore(environment: [variable: directory.path], on: loop, log: log.logger)
            let store = try #require(found)
            _ = try await store.accept(delivery("app:1"), at: 0)
            #expect(access("\(place)/openurl/queue.sqlite", F_OK) == 0)
        }
        #expect(DeliveryStore(environment: [:], on: loop, log: log.logger) == nil)
        #expect(DeliveryStore(environment: ["HOME": "relative"], on: loop, log: log.logger) == nil)
    }
}

/// A temporary directory for a queue.
final class TemporaryState: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "openurl-\(UUID().uuidString)").path
    var queue: String { "\(path)/state/queue.sqlite" }
    /// The event loop of the stores, which stops with the test.
    let loop: EventLoop

    init() {
        do {
            loop = try EventLoop()
        } catch {
            fatalError("no descriptor is left: \(error)")
        }
    }

    deinit {
        loop.stop()
        guard FileManager.default.fileExists(atPath: path) else { return }
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Issue.record(error)
        }
    }

    func write(_ text: String, to name: String = "state/queue.sqlite") throws {
        let file = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func remove() throws { try FileManager.default.removeItem(atPath: path) }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: "\(path)/state") }
}

extension OpenResult {
    /// The result of a delivery that a handler has taken.
    static var taken: OpenResult { OpenResult(handler: "com.example.app", way: .active, reply: [:], trace: []) }
}

extension DeliveryStore {
    /// Stores a delivery, and returns its number.
    func accept(_ delivery: Delivery, at now: Int64, due: Int64? = nil) async throws(DeliveryStoreError) -> Int64 {
        try await accept(delivery, at: now, due: due, keepingSoonest: nil).id
    }
}
