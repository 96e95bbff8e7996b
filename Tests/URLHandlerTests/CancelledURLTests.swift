import DBus
import OpenURLBus
import RFC1808
import Testing
import URLHandlerTesting

@testable import URLHandler

/// A URL that is cancelled, and the reports about a URL.
@MainActor @Suite(.timeLimit(.minutes(5))) struct CancelledURLTests {
    /// A delegate that waits for its cancellation.
    private final class Waiting: ApplicationDelegate {
        let began: AsyncStream<Void>
        private let begin: AsyncStream<Void>.Continuation
        private(set) var steps: [String] = []
        var launches: () -> Void = {}
        var answersAnyway = false
        /// The error that the work throws when it is cancelled; nil for `CancellationError`.
        var ownError: (any Error)?

        init() {
            (began, begin) = AsyncStream.makeStream()
        }

        func application(_ application: Application, didFinishLaunchingWithOptions options: LaunchOptions) -> Bool {
            launches()
            steps.append("launched \(Task.isCancelled)")
            return true
        }

        func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse {
            begin.yield()
            do {
                try await Task.sleep(for: .seconds(600))
            } catch {
                steps.append("cancelled")
                if answersAnyway { return true }
                throw ownError ?? error
            }
            return true
        }

        func applicationDidBecomeActive(_ application: Application) {
            steps.append("active \(Task.isCancelled)")
        }
    }

    /// A delegate that reports from several tasks.
    private final class Reporting: ApplicationDelegate {
        func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse {
            application.reportProgress(0.25, "begun")
            await withTaskGroup { group in
                group.addTask { application.reportProgress(0.5, "in a child") }
            }
            // Another task has no URL.
            await Task.detached { application.reportProgress(0.75, "elsewhere") }.value
            application.reportProgress(.nan)
            application.reportProgress(3, "done")
            return true
        }
    }

    private struct Ignored: ProgressSink {
        func add(_ report: ProgressReport) {}
        func end() {}
    }

    private let delegate = Waiting()
    private let cancelled = OpenURLError(.cancelled, "com.example.test stopped its work on the URL")

    private func openAndCancel() async throws -> EventResult {
        let driver = HandlerDriver(delegate: delegate)
        let task = Task { try await driver.open("app:x") }
        for await _ in delegate.began { break }
        task.cancel()
        return try await task.value
    }

    @Test func taskOfTheDelegateIsCancelledAndNoOther() async throws {
        let result = try await openAndCancel()
        #expect(result.outcome == .failure(cancelled))
        #expect(delegate.steps.first == "launched false")
        #expect(delegate.steps.dropFirst().first == "cancelled")
        #expect(result.state == .active)
    }

    @Test func answerOfACancelledDelegateCounts() async throws {
        delegate.answersAnyway = true
        #expect(try await openAndCancel().outcome == .success([:]))
    }

    @Test func ownErrorOfACancelledDelegateIsTheCancellation() async throws {
        delegate.ownError = RemoteError("com.example.Stopped", "the work has stopped")
        #expect(try await openAndCancel().outcome == .failure(cancelled))
    }

    @Test func senderCancelsDuringTheLaunch() async throws {
        let driver = HandlerDriver(delegate: delegate)
        let task = Task { try await driver.open("app:x") }
        delegate.launches = { task.cancel() }
        let result = try await task.value
        #expect(result.outcome == .failure(cancelled))
        #expect(result.steps == ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"])
        #expect(delegate.steps == ["launched false", "active false"])
    }

    @Test func urlThatIsCancelledDuringTheLaunchDoesNotReachTheDelegate() async throws {
        let arrived = ArrivedURL("1", reports: Ignored())
        delegate.launches = { arrived.cancel() }
        let application = Application("com.example.test", delegate: delegate)
        let (outcome, trace) = await application.handle(try GenericURL("app:x"), OpenContext(), arrived)
        #expect(outcome == .failure(cancelled))
        #expect(trace.map(\.name) == ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"])
        #expect(delegate.steps == ["launched false", "active false"])
    }

    @Test func urlsOfOneNameAreCancelledTogether() {
        let urls = ArrivedURLs()
        let (first, second, other) = (
            ArrivedURL("1", reports: Ignored()), ArrivedURL("1", reports: Ignored()),
            ArrivedURL("2", reports: Ignored())
        )
        for url in [first, second, other] { urls.add(url) }
        urls.remove(first)
        urls.cancel("1")
        urls.cancel("3")
        #expect([first, second, other].map(\.isCancelled) == [false, true, false])
    }

    @Test func urlsOfOneNameAreForgottenInAnyOrder() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let urls = ArrivedURLs()
            let all = (0..<3).map { _ in ArrivedURL("1", reports: Ignored()) }
            for url in all { urls.add(url) }
            urls.remove(all[order[0]])
            urls.remove(all[order[1]])
            urls.cancel("1")
            #expect(all.map(\.isCancelled) == (0..<3).map { $0 == order[2] })
            urls.remove(all[order[2]])
            let last = ArrivedURL("1", reports: Ignored())
            urls.add(last)
            urls.remove(last)
            urls.cancel("1")
            #expect(!last.isCancelled)
        }
    }

    @Test func reportsBelongToTheURLOfTheirTask() async throws {
        let result = try await HandlerDriver(delegate: Reporting()).open("app:x")
        #expect(
            result.progress == [
                ProgressReport(0.25, "begun"), ProgressReport(0.5, "in a child"), ProgressReport(1, "done"),
            ]
        )
        let application = Application("com.example.test", delegate: Reporting())
        // There is no URL, so nothing happens.
        application.reportProgress(0.5)
    }
}
