import DBus
import OpenURLBus
import RFC1808
import Testing

@testable import URLHandler

/// The sequences of the delegate's methods, and the application's state during each method.
@MainActor @Suite(.timeLimit(.minutes(10))) struct ApplicationTests {
    private let delegate = RecordingDelegate()
    private let url: GenericURL
    private let context: OpenContext

    init() throws {
        url = try GenericURL("app://host/path?query")
        var context = OpenContext()
        context.sourceApplication = "com.example.sender"
        context.source.pid = 42
        context.annotation = "note"
        context.activationToken = "token"
        context.desktopStartupID = "startup"
        self.context = context
    }

    private func failure(_ delegate: any ApplicationDelegate) async -> OpenURLError? {
        let application = Application("com.example.app", delegate: delegate, blackboard: WatchdogBlackboard())
        return await failure(application)
    }

    private func failure(_ application: Application) async -> OpenURLError? {
        do throws(OpenURLError) {
            let answer = try await application.open(url, context)
            Issue.record("answered \(answer)")
            return nil
        } catch {
            return error
        }
    }

    private func call(_ name: String, _ state: HandlerState, from source: OpenContext.Source?) -> RecordingDelegate.Call
    {
        let tokens = source?.pid == nil ? [nil, nil] : ["token", "startup"]
        return RecordingDelegate.Call(name: name, state: state, source: source, tokens: tokens)
    }

    // MARK: Launching

    @Test func launchForAURLCallsBothLaunchMethodsThenOpenThenActivation() async throws {
        let application = delegate.application
        #expect(application.state == .notRunning)
        let answer = try await application.open(url, context)
        #expect(
            delegate.calls == [
                call("willFinishLaunching", .inactive, from: context.source),
                call("didFinishLaunching", .inactive, from: context.source),
                call("open", .inactive, from: context.source),
                call("didBecomeActive", .active, from: context.source),
            ]
        )
        var options = LaunchOptions()
        options.reason = .known(.url)
        options.url = url
        options.sourceApplication = "com.example.sender"
        options.annotation = "note"
        #expect(delegate.launches == [options, options])
        #expect(delegate.urls == ["app://host/path?query"])
        #expect(delegate.senders == ["com.example.sender"])
        #expect(delegate.annotations == ["note"])
        #expect(answer.isHandled)
        #expect(
            answer.trace.map(\.name) == ["willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive"]
        )
        #expect(answer.trace.map(\.answer) == [true, true, true, true])
        #expect(application.state == .active)
        #expect(application.source == nil)
        #expect(application.activationToken == nil)
        #expect(application.desktopStartupID == nil)
    }

    @Test(arguments: [(false, true), (true, false), (false, false)])
    func refusingLaunchMethodSkipsOnlyOpen(will: Bool, did: Bool) async throws {
        delegate.willAgrees = will
        delegate.didAgrees = did
        let application = delegate.application
        let phase = will ? "didFinishLaunching" : "willFinishLaunching"
        #expect(
            await failure(application) == OpenURLError(.launchVetoed, "\(phase) of com.example.app refused the URL")
        )
        #expect(delegate.names == ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"])
        #expect(application.state == .active)
        #expect(application.source == nil)

        let next = try await application.open(try GenericURL("app:next"), context)
        #expect(next.isHandled)
        #expect(delegate.urls == ["app:next"])
        #expect(delegate.names.count == 4)
    }

    @Test func launchWithoutAURLHasItsReasonAndHappensOnce() async throws {
        // The launch has no URL, so `willAgrees` cannot refuse a URL.
        delegate.willAgrees = false
        let application = delegate.application
        await application.handle(.activate)
        #expect(
            delegate.calls == [
                call("willFinishLaunching", .inactive, from: nil), call("didFinishLaunching", .inactive, from: nil),
                call("didBecomeActive", .active, from: nil),
            ]
        )
        var options = LaunchOptions()
        options.reason = .known(.activation)
        #expect(delegate.launches == [options, options])
        await application.handle(.activate)
        #expect(delegate.calls.count == 3)
        #expect(application.state == .active)
    }

    @Test func urlForARunningHandlerOnlyCallsOpen() async throws {
        let application = delegate.application
        await application.handle(.activate)
        let answer = try await application.open(url, context)
        #expect(delegate.calls.dropFirst(3) == [call("open", .active, from: context.source)])
        #expect(answer.trace.map(\.name) == ["open"])
        #expect(application.state == .active)
        #expect(application.source == nil)

        _ = try await application.open(try GenericURL("app:anonymous"), OpenContext())
        #expect(delegate.calls.last == call("open", .active, from: OpenContext.Source()))
        #expect(delegate.senders.last == .some(nil))
        #expect(delegate.annotations.last == .some(nil))
    }

    // MARK: Background and foreground

    private var inBackground: OpenContext {
        var context = context
        context.inBackground = true
        return context
    }

    @Test func launchIntoTheBackgroundDoesNotBecomeActive() async throws {
        let answer = try await delegate.application.open(url, inBackground)
        let names = ["willFinishLaunching", "didFinishLaunching", "open", "didEnterBackground"]
        #expect(answer.trace.map(\.name) == names)
        #expect(delegate.calls == names.map { call($0, .background, from: context.source) })
        #expect(delegate.application.state == .background)
    }

    @Test func refusedURLInTheBackgroundKeepsTheHandlerInTheBackground() async {
        delegate.didAgrees = false
        let application = delegate.application
        do throws(OpenURLError) {
            _ = try await application.open(url, inBackground)
            Issue.record("a refusal is no answer")
        } catch {
            #expect(error == OpenURLError(.launchVetoed, "didFinishLaunching of com.example.app refused the URL"))
        }
        #expect(delegate.names == ["willFinishLaunching", "didFinishLaunching", "didEnterBackground"])
        #expect(application.state == .background)
    }

    @Test func transitionToTheBackgroundAndBackHappensOnce() async {
        let application = delegate.application
        await application.handle(.activate)
        for event: LifecycleEvent in [.enterBackground, .enterBackground, .activate, .activate] {
            await application.handle(event)
        }
        #expect(
            delegate.calls.dropFirst(3) == [
                call("willResignActive", .active, from: nil), call("didEnterBackground", .background, from: nil),
                call("willEnterForeground", .background, from: nil), call("didBecomeActive", .active, from: nil),
            ]
        )
    }

    @Test func urlInTheBackgroundComesAfterMissedNotifications() async throws {
        let application = delegate.application
        await application.handle(.enterBackground)
        #expect(delegate.names == ["willFinishLaunching", "didFinishLaunching", "didEnterBackground"])
        var context = context
        context.notifications = ["locale": "fi", "clock": "12:00"]
        let answer = try await application.open(url, context)
        #expect(
            answer.trace.map(\.name) == [
                "willEnterForeground", "didReceiveNotification", "didReceiveNotification", "open", "didBecomeActive",
            ]
        )
        #expect(
            delegate.calls.dropFirst(3).map(\.state) == [.background, .inactive, .inactive, .inactive, .active]
        )
        #expect(delegate.notifications == ["clock 12:00", "locale fi"])
    }

    @Test func urlForTheBackgroundKeepsTheState() async throws {
        let application = delegate.application
        await application.handle(.enterBackground)
        let answer = try await application.open(url, inBackground)
        #expect(answer.trace.map(\.name) == ["open"])
        #expect(application.state == .background)
        await application.handle(.activate)
        _ = try await application.open(url, inBackground)
        #expect(application.state == .active)
    }

    @Test func runningHandlerReceivesNotifications() async {
        let application = delegate.application
        await application.handle(.receiveMemoryWarning)
        await application.handle(.notify, notifications: ["clock": "12:00"])
        #expect(delegate.names == [])
        await application.handle(.activate)
        #expect(await application.handle(.receiveMemoryWarning).map(\.name) == ["didReceiveMemoryWarning"])
        #expect(
            await application.handle(.notify, notifications: ["clock": "12:00"]).map(\.name)
                == ["didReceiveNotification"]
        )
    }

    // MARK: Answers

    @Test func answerHoldsTheReply() async throws {
        delegate.open = { .handled(reply: ["id": "7"]) }
        #expect(try await delegate.application.open(url, context).reply == ["id": "7"])
    }

    @Test func refusalIsADeclineWithItsReasonAndTheLaunchContinues() async throws {
        delegate.open = { .declined(reason: "not today") }
        #expect(await failure(delegate.application) == OpenURLError(.declined, "not today"))
        #expect(delegate.names.suffix(2) == ["open", "didBecomeActive"])
        delegate.open = { false }
        #expect(await failure(delegate.application) == OpenURLError(.declined, "com.example.app declined the URL"))
        #expect(delegate.application.source == nil)
    }

    @Test func thrownErrorIsADeclineWithItsDescription() async throws {
        delegate.open = { throw RemoteError("com.example.Error.Full", "the list is full") }
        let error = OpenURLError(.declined, "com.example.Error.Full: the list is full")
        #expect(await failure(delegate.application) == error)
        #expect(delegate.names.suffix(2) == ["open", "didBecomeActive"])
        #expect(await failure(delegate.application) == error)
        #expect(delegate.application.state == .active)
    }

    @Test func openResponseConvertsFromABoolean() {
        #expect(OpenResponse(true) == .handled(reply: [:]))
        #expect(OpenResponse(false) == .declined(reason: nil))
        #expect(OpenResponse(booleanLiteral: true) == true)
        #expect(OpenResponse(booleanLiteral: false) == false)
    }

    // MARK: The trace and the observed state

    @Test func traceCountsFromTheRoutersAcceptance() async throws {
        var context = context
        // This machine has been running for more than a second.
        context.accepted = TracePhase.now - 1_000_000
        let trace = try await delegate.application.open(url, context).trace
        #expect(trace.map(\.microseconds) == trace.map(\.microseconds).sorted())
        #expect(try #require(trace.first).microseconds >= 1_000_000)
        // A time from another clock does not produce negative numbers.
        context.accepted = .max
        #expect(try await delegate.application.open(url, context).trace.map(\.microseconds) == [0])
    }

    @Test func observerSeesTheStateAndTheRunningMethod() async throws {
        #expect(delegate.blackboard.state == .notRunning)
        _ = try await delegate.application.open(url, context)
        await delegate.application.handle(.terminate)
        #expect(
            delegate.seen == [
                "willFinishLaunching inactive", "didFinishLaunching inactive", "open inactive",
                "didBecomeActive active", "willTerminate active",
            ]
        )
        #expect(delegate.blackboard.state == .notRunning)
    }

    @Test func noMethodRunsBetweenURLs() async throws {
        _ = try await delegate.application.open(url, context)
        #expect(delegate.blackboard.phase.name == "")
        delegate.open = { throw CancellationError() }
        _ = await failure(delegate.application)
        #expect(delegate.blackboard.phase.name == "")
    }

    // MARK: Optional methods

    @Test func handleOpenIsCalledWithoutTheLongerMethod() async throws {
        final class Short: ApplicationDelegate {
            var urls: [GenericURL] = []
            func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse {
                urls.append(url)
                return .handled(reply: ["short": true])
            }
        }
        let short = Short()
        let application = Application("com.example.short", delegate: short, blackboard: WatchdogBlackboard())
        let answer = try await application.open(url, context)
        #expect(answer.reply == ["short": true])
        #expect(short.urls == [url])
        #expect(
            answer.trace.map(\.name) == ["willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive"]
        )
    }

    @Test func longerOpenMethodReplacesHandleOpen() async throws {
        _ = try await delegate.application.open(url, context)
        #expect(!delegate.names.contains("handleOpen"))
    }

    @Test func emptyDelegateLaunchesAndDeclines() async throws {
        final class Empty: ApplicationDelegate {}
        let application = Application("com.example.empty", delegate: Empty(), blackboard: WatchdogBlackboard())
        // The result is a decline, not a veto.
        let reason =
            "com.example.empty opens no URLs: its delegate does not implement "
            + "application(_:open:sourceApplication:annotation:); check the spelling of the method"
        #expect(await failure(application) == OpenURLError(.declined, reason))
        #expect(application.state == .active)
        await application.handle(.terminate)
        #expect(application.state == .notRunning)
    }

    // MARK: Ending

    @Test func willTerminateIsCalledOnceAndOnlyAfterALaunch() async {
        let application = delegate.application
        await application.handle(.terminate)
        #expect(delegate.calls.isEmpty)
        await application.handle(.activate)
        await application.handle(.terminate)
        await application.handle(.terminate)
        #expect(delegate.names.suffix(2) == ["didBecomeActive", "willTerminate"])
        #expect(delegate.calls.last?.state == .active)
        #expect(application.state == .notRunning)
    }

    @Test func endWhenIdleCallsTheTerminationHandler() {
        var ends = 0
        delegate.application.onTerminate { ends += 1 }
        delegate.application.endWhenIdle()
        #expect(ends == 1)
    }
}
