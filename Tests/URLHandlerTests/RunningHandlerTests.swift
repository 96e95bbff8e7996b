import DBus
import OpenURLBus
import RFC1808
import Synchronization
import Testing

@testable import URLHandler

/// The URLs of a handler in the foreground, which are opened without a change of tasks if the delegate does not wait.
@MainActor @Suite(.timeLimit(.minutes(10))) struct RunningHandlerTests {
    private final class Delegate: ApplicationDelegate {
        var body: @MainActor (Application) async throws -> OpenResponse = { _ in true }

        func application(
            _ application: Application,
            open url: GenericURL,
            sourceApplication: String?,
            annotation: Value?
        ) async throws -> OpenResponse {
            try await body(application)
        }
    }

    private final class Reports: ProgressSink {
        let log = Mutex<[String]>([])

        func add(_ report: ProgressReport) { log.withLock { $0.append(report.message) } }

        func end() async { log.withLock { $0.append("end") } }
    }

    private let delegate = Delegate()
    private let reports = Reports()
    private let answers = Answers()
    private let blackboard = WatchdogBlackboard()

    private final class Answers: Sendable {
        let all = Mutex<[Result<OpenAnswer, OpenURLError>]>([])
    }

    /// Returns an application in the foreground.
    private func running() async throws -> Application {
        let application = Application("com.example.app", delegate: delegate, blackboard: blackboard)
        _ = try await application.open(GenericURL("app:launch"), OpenContext())
        #expect(application.state == .active)
        return application
    }

    private func event(requestID: String = "7") throws -> OpenEvent {
        var context = OpenContext()
        context.requestID = requestID
        context.sourceApplication = "com.example.sender"
        return OpenEvent(try GenericURL("app:x"), context, ArrivedURL(requestID, reports: reports))
    }

    private func open(_ event: OpenEvent, in application: Application) -> EventQueue.Remainder? {
        application.open(event) { [answers] answer in answers.all.withLock { $0.append(answer) } }
    }

    private var replies: [[String: Value]?] {
        answers.all.withLock { all in all.map { try? $0.get().reply } }
    }

    @Test func delegateThatDoesNotWaitHasAnsweredAtOnce() async throws {
        let application = try await running()
        delegate.body = { application in .handled(reply: ["id": .string(application.requestID ?? "")]) }
        #expect(open(try event(), in: application) == nil)
        #expect(replies == [["id": "7"]])
        #expect(answers.all.withLock { $0.first.flatMap { try? $0.get().trace.map(\.name) } } == ["open"])
        #expect(application.requestID == nil)
        #expect(blackboard.phase.name == "")
    }

    @Test func waitOfTheDelegateIsTheRestOfTheEvent() async throws {
        let application = try await running()
        let (gate, opens) = AsyncStream<Void>.makeStream()
        delegate.body = { application in
            for await _ in gate { break }
            return .handled(reply: ["id": .string(application.requestID ?? "")])
        }
        let rest = try #require(open(try event(), in: application))
        #expect(replies == [])
        #expect(application.requestID == "7")
        #expect(blackboard.phase.name == "open")
        opens.yield()
        await rest()
        #expect(replies == [["id": "7"]])
        #expect(application.requestID == nil)
        #expect(blackboard.phase.name == "")
    }

    @Test func reportsReachTheRouterBeforeTheAnswer() async throws {
        let application = try await running()
        delegate.body = { application in
            application.reportProgress(0.5, "half")
            return true
        }
        let rest = try #require(open(try event(), in: application))
        #expect(replies == [])
        await rest()
        #expect(replies == [[:]])
        #expect(reports.log.withLock(\.self) == ["half", "end"])
    }

    @Test func urlThatWasCancelledInTheQueueDoesNotReachTheDelegate() async throws {
        let application = try await running()
        delegate.body = { _ in
            Issue.record("the delegate has got the URL")
            return true
        }
        let event = try event()
        event.arrived?.cancel()
        #expect(open(event, in: application) == nil)
        #expect(answers.all.withLock(\.self) == [.failure(application.cancellation)])
    }

    /// Otherwise, the process would stay outside the background, and never be suspended.
    @Test func firstURLLaunchesIntoTheBackgroundEvenIfItWasCancelled() async throws {
        let application = Application("com.example.app", delegate: delegate, blackboard: blackboard)
        delegate.body = { _ in
            Issue.record("the delegate has got the URL")
            return true
        }
        var context = OpenContext()
        context.inBackground = true
        let event = OpenEvent(try GenericURL("app:x"), context, ArrivedURL("7", reports: reports))
        event.arrived?.cancel()
        let rest = try #require(open(event, in: application))
        #expect(replies == [])
        await rest()
        #expect(blackboard.state == .background)
        #expect(answers.all.withLock(\.self) == [.failure(application.cancellation)])
    }

    @Test func cancelledTaskIsThatOfTheURLAlone() async throws {
        let application = try await running()
        delegate.body = { _ in
            try await Task.sleep(for: .seconds(3600))
            return true
        }
        let event = try event()
        let rest = try #require(open(event, in: application))
        event.arrived?.cancel()
        await rest()
        #expect(!Task.isCancelled)
        #expect(answers.all.withLock(\.self) == [.failure(application.cancellation)])
        delegate.body = { _ in true }
        #expect(open(try self.event(requestID: "8"), in: application) == nil)
        #expect(replies == [nil, [:]])
    }
}
