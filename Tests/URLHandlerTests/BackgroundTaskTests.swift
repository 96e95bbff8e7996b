import DBus
import OpenURLBus
import Synchronization
import Testing

@testable import URLHandler

/// Background tasks with a router and without a router.
@MainActor @Suite(.timeLimit(.minutes(10))) struct BackgroundTaskTests {
    private let blackboard = WatchdogBlackboard()
    private let router = StandInTimekeeper()

    private func application(_ timekeeper: (any BackgroundTimekeeper)? = nil) -> Application {
        Application("com.example.app", delegate: RecordingDelegate(), blackboard: blackboard, timekeeper: timekeeper)
    }

    @Test func taskIsOpenFromItsBeginningToItsEnd() async {
        let application = application()
        #expect(blackboard.openTasks == 0)
        let first = await application.beginBackgroundTask(named: "first")
        let second = await application.beginBackgroundTask(named: "second")
        #expect(first != second)
        #expect(blackboard.openTasks == 2)
        application.endBackgroundTask(first)
        application.endBackgroundTask(first)
        #expect(blackboard.openTasks == 1)
        application.endBackgroundTask(second)
        #expect(blackboard.openTasks == 0)
    }

    @Test func timeIsUnlimitedWithoutARouter() async {
        #expect(await application().backgroundTimeRemaining == nil)
    }

    @Test func routerGetsTheBeginningAndTheEndByItsOwnNumber() async {
        let application = application(router)
        let task = await application.beginBackgroundTask(named: "upload")
        #expect(router.log == ["begin upload"])
        application.endBackgroundTask(task)
        application.endBackgroundTask(task)
        #expect(router.log == ["begin upload", "end 7"])
        #expect(await application.backgroundTimeRemaining == .seconds(180))
    }

    @Test func taskWithoutATimeLimitIsStillOpen() async {
        router.grant = .unlimited
        let application = application(router)
        let task = await application.beginBackgroundTask(named: "upload")
        #expect(blackboard.openTasks == 1)
        application.endBackgroundTask(task)
        #expect(router.log == ["begin upload"])
        #expect(blackboard.openTasks == 0)
    }

    @Test func taskThatTheRouterRefusesExpiresAtOnce() async {
        router.grant = .refused
        let application = application(router)
        var hasExpired = false
        let task = await application.beginBackgroundTask(named: "late") { hasExpired = true }
        #expect(hasExpired)
        #expect(blackboard.openTasks == 0)
        application.endBackgroundTask(task)
        #expect(router.log == ["begin late"])
    }

    /// The next router may know a task from the records of the one before, or may give it the same number again.
    @Test(arguments: [7, 9] as [UInt32]) func newRouterHasEachTaskOnce(earlier: UInt32) async {
        let application = application(router)
        router.grant = .begun(earlier)
        let task = await application.beginBackgroundTask(named: "upload")
        router.grant = .begun(9)
        await application.backgroundTasks.renew()
        #expect(router.log == ["begin upload", "begin upload"] + (earlier == 9 ? [] : ["end 7"]) + ["end earlier"])
        application.endBackgroundTask(task)
        #expect(router.log.last == "end 9")
    }

    @Test func newRouterLearnsTheTasksThatNoRouterKnows() async {
        router.grant = .unlimited
        let application = application(router)
        let first = await application.beginBackgroundTask(named: "first")
        let second = await application.beginBackgroundTask(named: "second")
        application.endBackgroundTask(first)
        router.grant = .begun(3)
        for _ in 0..<2 { await application.backgroundTasks.renew() }
        application.endBackgroundTask(second)
        #expect(
            router.log == [
                "begin first", "begin second", "begin second", "end earlier", "begin second", "end earlier", "end 3",
            ]
        )
    }

    /// A task may begin while the handler tells a new router of its tasks, so that the router counts the task twice.
    @Test func taskEndsUnderAllItsNumbers() async {
        let application = application(router)
        router.meanwhile = { [router] in
            router.grant = .begun(8)
            await application.backgroundTasks.renew()
        }
        let task = await application.beginBackgroundTask(named: "upload")
        application.endBackgroundTask(task)
        #expect(router.log == ["begin upload", "begin upload", "end earlier", "end 8", "end 7"])
    }

    @Test func expirationHandlersRunOnceAndInOrder() async {
        let application = application()
        var expired: [String] = []
        for name in ["first", "ended", "second"] {
            let task = await application.beginBackgroundTask(named: name) { expired.append(name) }
            if name == "ended" { application.endBackgroundTask(task) }
        }
        _ = await application.beginBackgroundTask(named: "without a handler")
        application.backgroundTasks.expire()
        application.backgroundTasks.expire()
        #expect(expired == ["first", "second"])
        // A task that the handler does not end stays open. The router ends the process for that reason.
        #expect(blackboard.openTasks == 3)
    }

    @Test func expirationHandlerMayEndItsTaskAndOthers() async {
        let application = application()
        let begun = Begun()
        for _ in 0..<2 {
            let task = await application.beginBackgroundTask(named: "work") {
                begun.expirations += 1
                for task in begun.tasks { application.endBackgroundTask(task) }
            }
            begun.tasks.append(task)
        }
        application.backgroundTasks.expire()
        #expect(begun.expirations == 1)
        #expect(blackboard.openTasks == 0)
    }
}

/// The tasks that a test has begun.
@MainActor private final class Begun {
    var tasks: [BackgroundTaskIdentifier] = []
    var expirations = 0
}

/// A timekeeper that records its calls.
private final class StandInTimekeeper: BackgroundTimekeeper {
    private struct Content {
        var log: [String] = []
        var grant = BackgroundTaskGrant.begun(7)
        var meanwhile: (@MainActor @Sendable () async -> Void)?
    }

    private let content = Mutex(Content())

    var log: [String] { content.withLock { $0.log } }
    var grant: BackgroundTaskGrant {
        get { content.withLock { $0.grant } }
        set { content.withLock { $0.grant = newValue } }
    }

    /// Happens once, while the next task begins.
    var meanwhile: (@MainActor @Sendable () async -> Void)? {
        get { content.withLock { $0.meanwhile } }
        set { content.withLock { $0.meanwhile = newValue } }
    }

    func begin(_ name: String) async -> BackgroundTaskGrant {
        let (grant, meanwhile) = content.withLock { content in
            content.log.append("begin \(name)")
            defer { content.meanwhile = nil }
            return (content.grant, content.meanwhile)
        }
        await meanwhile?()
        return grant
    }

    func finishMode() {
        content.withLock { $0.log.append("finish the mode") }
    }

    func end(_ number: UInt32) {
        content.withLock { $0.log.append("end \(number)") }
    }

    func endEarlierTasks() {
        content.withLock { $0.log.append("end earlier") }
    }

    func remaining() async -> Duration? { .seconds(180) }
}
