import DBus
import OpenURLBus
import RFC1808
import Testing
import URLHandlerTesting

@testable import URLHandler

/// The driver takes a delegate through every sequence, as calls over the bus would.
@MainActor @Suite(.timeLimit(.minutes(10))) struct HandlerDriverTests {
    private let delegate = RecordingDelegate()

    @Test func eachEventReturnsItsStepsAndTheState() async throws {
        let driver = HandlerDriver(delegate: delegate)
        let saving = ["shouldSaveApplicationState", "willEncodeRestorableState"]
        let launch = await driver.launch()
        #expect(launch.steps == ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"])
        #expect(launch.state == .active)
        let background = await driver.enterBackground()
        #expect(background.steps == ["willResignActive", "didEnterBackground"] + saving)
        #expect(background.state == .background)
        #expect(await driver.enterForeground().steps == ["willEnterForeground", "didBecomeActive"])
        #expect(await driver.receiveMemoryWarning().steps == ["didReceiveMemoryWarning"])
        #expect(await driver.notify("clock", "12:00").steps == ["didReceiveNotification"])
        #expect(delegate.notifications == ["clock 12:00"])
        let end = await driver.terminate()
        #expect(end.steps == saving + ["willTerminate"])
        #expect(end.state == .notRunning)
    }

    /// The word `later` comes from a router that is newer than the library.
    @Test(arguments: [.known(.message), .unknown("later")] as [Reported<LaunchReason>])
    func wakeLaunchesIntoTheBackgroundForItsReason(reason: Reported<LaunchReason>) async throws {
        let driver = HandlerDriver(delegate: delegate)
        let launch = await driver.wake(reason, notifications: ["clock": "12:00"])
        #expect(
            launch.steps == [
                "willFinishLaunching", "didFinishLaunching", "didReceiveNotification", "didEnterBackground",
                "shouldSaveApplicationState", "willEncodeRestorableState",
            ]
        )
        #expect(launch.state == .background)
        #expect(delegate.launches.map(\.reason) == [reason, reason])
        #expect(delegate.launches.allSatisfy { $0.url == nil })
        #expect(await driver.wake().steps == ["shouldSaveApplicationState", "willEncodeRestorableState"])
        await driver.enterForeground()
        let active = await driver.wake(notifications: ["clock": "13:00"])
        #expect(active.steps == ["didReceiveNotification"])
        #expect(active.state == .active)
        #expect(delegate.notifications == ["clock 12:00", "clock 13:00"])
        #expect(delegate.launches.count == 2)
    }

    @Test func interruptionEndsInTheForegroundOrInTheBackground() async throws {
        let driver = HandlerDriver(delegate: delegate)
        #expect(await driver.interrupt().state == .notRunning)
        await driver.launch()
        let interruption = await driver.interrupt()
        #expect(interruption.steps == ["willResignActive"])
        #expect(interruption.state == .inactive)
        #expect(await driver.interrupt().steps == [])
        let opened = try await driver.open("app:x")
        #expect(opened.steps == ["open"])
        #expect(opened.state == .inactive)
        let end = await driver.resume()
        #expect(end.steps == ["didBecomeActive"])
        #expect(end.state == .active)
        #expect(await driver.resume().steps == [])
        await driver.interrupt()
        let background = await driver.enterBackground()
        #expect(background.steps.first == "didEnterBackground")
        #expect(background.state == .background)
        let wakeUp = await driver.resume()
        #expect(wakeUp.steps == ["willEnterForeground", "didBecomeActive"])
        #expect(wakeUp.state == .active)
    }

    @Test func pushArrivesInEveryState() async throws {
        let driver = HandlerDriver(delegate: delegate)
        let push = RemoteNotification([1, 2, 3])
        let launch = await driver.push(push)
        #expect(
            launch.steps == [
                "willFinishLaunching", "didFinishLaunching", "didReceiveRemoteNotification", "didEnterBackground",
                "shouldSaveApplicationState", "willEncodeRestorableState",
            ]
        )
        #expect(try launch.outcome.get() == [:])
        #expect(delegate.launches.map(\.reason) == [.known(.push), .known(.push)])
        #expect(delegate.launches.map(\.remoteNotification) == [push, push])
        await driver.enterForeground()
        #expect(await driver.push(push).steps == ["didReceiveRemoteNotification"])
        delegate.pushError = RemoteError("com.example.Full", "no room")
        let refused = await driver.push(push)
        #expect(throws: OpenURLError(.declined, "com.example.Full: no room")) { try refused.outcome.get() }
        #expect(delegate.pushes == [push, push, push])
    }

    @Test func delegateWithoutTheMethodRefusesPushes() async throws {
        final class Delegate: ApplicationDelegate {}
        let refused = await HandlerDriver(delegate: Delegate()).push(RemoteNotification([1]))
        let error = #expect(throws: OpenURLError.self) { try refused.outcome.get() }
        #expect(error?.message.contains("does not implement application(_:didReceiveRemoteNotification:)") == true)
    }

    @Test func clickOnANotificationLaunchesTheHandler() async throws {
        let driver = HandlerDriver(delegate: delegate)
        let tea = LocalNotification("Tea")
        let launch = try await driver.click(tea)
        #expect(
            launch.steps == [
                "willFinishLaunching", "didFinishLaunching", "didReceiveLocalNotification", "didBecomeActive",
            ]
        )
        #expect(launch.state == .active)
        #expect(delegate.launches.map(\.reason) == [.known(.notification), .known(.notification)])
        #expect(delegate.launches.map(\.localNotification?.text) == ["Tea", "Tea"])
        await driver.enterBackground()
        let click = try await driver.click(tea)
        #expect(click.steps == ["willEnterForeground", "didReceiveLocalNotification", "didBecomeActive"])
        #expect(delegate.calls.suffix(2).map(\.state) == [.inactive, .active])
        #expect(await driver.receive(tea).steps == ["didReceiveLocalNotification"])
        #expect(delegate.localNotifications.map(\.isClicked) == [true, true, false])
        var withURL = tea
        withURL.url = "app:tea"
        #expect(try await driver.click(withURL).steps == ["open"])
        #expect(delegate.senders.last == "com.example.test")
    }

    @Test func driverKeepsScheduledNotifications() async throws {
        let driver = HandlerDriver(delegate: delegate)
        var tea = LocalNotification("Tea", at: .after(.seconds(60)))
        tea.identifier = "tea"
        #expect(try await driver.application.scheduleLocalNotification(tea) == "tea")
        let milk = try await driver.application.presentLocalNotificationNow(tea.scheduled(as: ""))
        let next = HandlerDriver(delegate: delegate, after: driver)
        #expect(next.scheduledNotifications.map(\.identifier) == [milk, "tea"])
        #expect(next.scheduledNotifications.map(\.deliveryTime) == [nil, tea.deliveryTime])
        try await next.application.cancelLocalNotification(milk)
        #expect(try await next.application.scheduledLocalNotifications == [tea])
        try await next.application.cancelAllLocalNotifications()
        #expect(next.scheduledNotifications == [])
    }

    @Test func withoutARouterThereAreNoNotifications() async throws {
        let application = delegate.application
        await #expect(throws: OpenURLError.self) {
            try await application.scheduleLocalNotification(LocalNotification("a"))
        }
        await #expect(throws: OpenURLError.self) { try await application.scheduledLocalNotifications }
    }

    @Test func taskIsPerformedInEveryState() async throws {
        let driver = HandlerDriver(delegate: delegate)
        let launch = await driver.performTask("sync")
        #expect(
            launch.steps == [
                "willFinishLaunching", "didFinishLaunching", "performTask", "didEnterBackground",
                "shouldSaveApplicationState", "willEncodeRestorableState",
            ]
        )
        #expect(launch.taskResult == .newData)
        #expect(delegate.launches.map(\.reason) == [.known(.task), .known(.task)])
        #expect(delegate.launches.map(\.task) == ["sync", "sync"])
        await driver.enterForeground()
        delegate.taskResult = .success(.noData)
        let fetch = await driver.performFetch()
        #expect(fetch.steps == ["performTask"])
        #expect(fetch.taskResult == .noData)
        delegate.taskResult = .failure(RemoteError("com.example.Full", "no room"))
        let failed = await driver.performTask("backup")
        #expect(throws: OpenURLError(.declined, "com.example.Full: no room")) { try failed.outcome.get() }
        #expect(failed.taskResult == nil)
        #expect(delegate.tasks == ["sync", "the fetch", "backup"])
    }

    @Test func delegateWithoutTheMethodsFailsInTasks() async throws {
        final class Delegate: ApplicationDelegate {}
        let driver = HandlerDriver(delegate: Delegate())
        for (result, method) in [
            (await driver.performTask("sync"), "application(_:performTask:)"),
            (await driver.performFetch(), "applicationPerformFetch(_:)"),
        ] {
            let error = #expect(throws: OpenURLError.self) { try result.outcome.get() }
            #expect(error?.message.contains("does not implement \(method)") == true)
        }
    }

    @Test func driverKnowsTheScheduledTasks() async throws {
        let driver = HandlerDriver(delegate: delegate)
        let application = driver.application
        try await application.scheduleTask(named: "sync", every: .seconds(3600), requiring: [.network])
        try await application.scheduleTask(named: "backup", after: .milliseconds(1500))
        try await application.setMinimumBackgroundFetchInterval(Application.backgroundFetchIntervalMinimum)
        #expect(driver.scheduledTasks.count == 3)
        #expect(driver.scheduledTasks["sync"]?.interval == 3_600_000)
        #expect(driver.scheduledTasks["sync"]?.requirements == [.network])
        #expect(driver.scheduledTasks["backup"]?.delay == 1500)
        #expect(driver.scheduledTasks["fetch"]?.interval == 900_000)
        #expect(try await application.scheduledTasks.map(\.name) == ["backup", "fetch", "sync"])
        #expect(HandlerDriver(delegate: delegate, after: driver).scheduledTasks.count == 3)
        try await application.setMinimumBackgroundFetchInterval(nil)
        try await application.cancelTask(named: "sync")
        #expect(Array(driver.scheduledTasks.keys) == ["backup"])
        try await application.cancelTask(named: "")
        #expect(driver.scheduledTasks.isEmpty)
    }

    @Test func urlArrivesWithItsContext() async throws {
        let driver = HandlerDriver(delegate: delegate)
        await driver.enterBackground()
        let result = try await driver.open(
            "app:x",
            from: "com.example.sender",
            annotation: "note",
            inBackground: true,
            notifications: ["clock": "12:00"]
        )
        #expect(
            result.steps == [
                "didReceiveNotification", "open", "shouldSaveApplicationState", "willEncodeRestorableState",
            ]
        )
        #expect(result.state == .background)
        #expect(try result.outcome.get() == [:])
        #expect(delegate.urls == ["app:x"])
        #expect(delegate.senders == ["com.example.sender"])
        #expect(delegate.annotations == ["note"])
    }

    @Test func delegateKnowsThatASenderWaits() async throws {
        let driver = HandlerDriver(delegate: delegate)
        try await driver.open("app:first", wantsReply: true)
        try await driver.open("app:second")
        #expect(delegate.urlsToAnswer == ["app:first"])
    }

    @Test func vetoIsTheOutcomeAndKeepsTheTrace() async throws {
        delegate.didAgrees = false
        let result = try await HandlerDriver("com.example.app", delegate: delegate).open("app:x")
        let error = OpenURLError(.launchVetoed, "didFinishLaunching of com.example.app refused the URL")
        #expect(throws: error) { try result.outcome.get() }
        #expect(result.trace.map(\.answer) == [true, false, true])
    }

    @Test func malformedURLIsAnErrorOfTheTest() async {
        await #expect(throws: GenericURL.ParseError.self) {
            try await HandlerDriver(delegate: delegate).open("no url\n")
        }
        #expect(delegate.names == [])
    }

    @Test func testDecidesTheExpirationOfBackgroundTasks() async {
        let driver = HandlerDriver(delegate: delegate)
        var expirations = 0
        _ = await driver.application.beginBackgroundTask(named: "work") { expirations += 1 }
        #expect(driver.openBackgroundTasks == 1)
        driver.expireBackgroundTasks()
        #expect(expirations == 1)
    }
}
