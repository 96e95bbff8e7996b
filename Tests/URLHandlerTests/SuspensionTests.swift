import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// The behaviour of a handler's process around its suspension.
@Suite(.timeLimit(.minutes(10))) struct SuspensionTests {
    @Test func idleHandlerInTheBackgroundReleasesItsNameUntilItContinues() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        try await handler.enterBackground()
        #expect(try await handler.suspend())
        #expect(await handler.nextOwner() == nil)
        kill(handler.pid, SIGSTOP)
        kill(handler.pid, SIGCONT)
        #expect(await handler.nextOwner() == handler.owner)

        var context = OpenContext()
        context.notifications = ["clock": "12:00"]
        let answer = try await handler.open("app:x", context)
        #expect(
            answer.trace.map(\.name) == ["willEnterForeground", "didReceiveNotification", "open", "didBecomeActive"]
        )
        #expect(
            try handler.log().dropFirst() == [
                "willFinishLaunching", "didFinishLaunching", "didEnterBackground", "willEnterForeground",
                "notification clock 12:00", "open app:x", "didBecomeActive",
            ]
        )
    }

    @Test func handlerThatWasNotStoppedTakesItsNameBackToo() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        try await handler.enterBackground()
        #expect(try await handler.suspend())
        #expect(await handler.nextOwner() == nil)
        kill(handler.pid, SIGCONT)
        #expect(await handler.nextOwner() == handler.owner)
        #expect(try await handler.suspend())
    }

    @Test func handlerOutsideTheBackgroundKeepsItsName() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        // The handler has not launched yet.
        #expect(try await !handler.suspend())
        _ = try await handler.open("app:x")
        #expect(try await !handler.suspend())
        #expect(try await handler.router.owner(of: HandlerProcess.id) == handler.owner)
        // While the handler has its name, the signal has no meaning.
        kill(handler.pid, SIGCONT)
        try await handler.enterBackground()
        #expect(try await handler.suspend())
        // No other event came before.
        #expect(await handler.nextOwner() == nil)
    }

    @Test func busyHandlerKeepsItsName() async throws {
        let handler = try await HandlerProcess("hang=open")
        defer { handler.stop() }
        try await handler.enterBackground()
        var context = OpenContext()
        context.inBackground = true
        let opening = Task { [context] in try await handler.open("app:x", context) }
        try await eventually(handler.log()) { $0.contains("open app:x") }
        // The main actor of the handler is blocked, but its event loop answers.
        #expect(try await !handler.suspend())
        let (phase, microseconds) = try await handler.call(HandlerInterface.progress, Empty()).values
        #expect(phase == "open")
        #expect(microseconds > 0)
        opening.cancel()
    }

    @Test func handlerThatWaitsInOpenAnswersACheck() async throws {
        let handler = try await HandlerProcess("stall=open")
        defer { handler.stop() }
        let opening = Task { try await handler.open("app:x") }
        try await eventually(handler.log()) { $0.contains("open app:x") }
        _ = try await handler.call(HandlerInterface.check, Empty())
        #expect(try await handler.call(HandlerInterface.progress, Empty()).values.0 == "open")
        opening.cancel()
    }

    @Test func handlerThatHangsInOpenDoesNotAnswerACheck() async throws {
        let handler = try await HandlerProcess("hang=open")
        defer { handler.stop() }
        let opening = Task { try await handler.open("app:x") }
        try await eventually(handler.log()) { $0.contains("open app:x") }
        await #expect(throws: CallError.timedOut) {
            try await handler.router.call(
                HandlerInterface.check,
                on: handler.byConnection,
                Empty(),
                timeout: .milliseconds(300)
            )
        }
        opening.cancel()
    }

    @Test func handlerWithABackgroundTaskKeepsItsName() async throws {
        let handler = try await HandlerProcess("task=upload")
        defer { handler.stop() }
        try await handler.enterBackground()
        #expect(try await !handler.suspend())
        _ = try await handler.call(HandlerInterface.notify, ["endTask": true])
        #expect(try await handler.suspend())
    }

    @Test func onlyTheRouterMaySuspend() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        try await handler.enterBackground()
        let stranger = try await Connection.open(.address(handler.bus.address), on: try handler.bus.makeLoop())
        await expectRefusal("Suspend") {
            try await stranger.call(HandlerInterface.suspend, on: handler.byName, handler.makeLifeline())
        }
        await stranger.close()
    }

    private func expectRefusal(_ method: String, _ body: () async throws -> Void) async {
        let message = "only the router may call \(method) of com.example.app; ask the router"
        await #expect(throws: CallError.remote(OpenURLError(.notAllowed, message).dbusError)) { try await body() }
    }

    @Test func onlyTheRouterMovesTheHandler() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        #expect(try await handler.open("app:1").isHandled)
        let stranger = try await Connection.open(.address(handler.bus.address), on: try handler.bus.makeLoop())
        for method in [
            HandlerInterface.enterBackground, HandlerInterface.receiveMemoryWarning,
            HandlerInterface.expireBackgroundTasks, HandlerInterface.check, HandlerInterface.terminate,
        ] {
            await expectRefusal(method.name.rawValue) { try await stranger.call(method, on: handler.byName, Empty()) }
        }
        await expectRefusal("Progress") {
            _ = try await stranger.call(HandlerInterface.progress, on: handler.byName, Empty())
        }
        await expectRefusal("Notify") {
            try await stranger.call(HandlerInterface.notify, on: handler.byName, ["locale": "fi"])
        }
        #expect(try await stranger.get(HandlerInterface.state, on: handler.byName) == "active")
        // Every program may send URLs, and ask for the window.
        let input = DeliveredURL("app:2", OpenContext())
        #expect(try await stranger.call(HandlerInterface.open, on: handler.byName, input).isHandled)
        await stranger.close()
    }

    @Test(arguments: ["local", "listed"]) func urlsComeFromTheRouterAlone(_ reach: String) async throws {
        let handler = try await HandlerProcess(on: try await PrivateBus(), [], reach: reach)
        defer { handler.stop() }
        let stranger = try await Connection.open(.address(handler.bus.address), on: try handler.bus.makeLoop())
        let advice = "open the URL with 'openurl' or org.openurl.Router1"
        let error = OpenURLError(.notAllowed, "com.example.app takes URLs only from the router; \(advice)")
        let refusal = CallError.remote(error.dbusError)
        await #expect(throws: refusal) {
            try await stranger.call(HandlerInterface.open, on: handler.byName, DeliveredURL("app:1", OpenContext()))
        }
        await #expect(throws: refusal) {
            try await stranger.call(FreedesktopApplication.open, on: handler.byName, Arguments(["app:1"], [:]))
        }
        #expect(try await handler.open("app:2").isHandled)
        // The first call of a router that takes the name over comes after the news about the name.
        try await handler.router.releaseName(RouterService.name)
        for round in 0..<30 {
            let next = try await Connection.open(.address(handler.bus.address), on: try handler.bus.makeLoop())
            let input = DeliveredURL("app:\(round)", OpenContext())
            #expect(try await next.requestName(RouterService.name) == .owned)
            #expect(try await next.call(HandlerInterface.open, on: handler.byConnection, input).isHandled)
            #expect(try await handler.open("app:old").isHandled)
            // The bus learns of a closed socket some time later.
            try await next.releaseName(RouterService.name)
            await next.close()
        }
        await stranger.close()
    }

    @Test func callsDuringTheSuspensionAreAnsweredOrNotDelivered() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        for round in 0..<30 {
            try await handler.enterBackground()
            async let answer = handler.suspend()
            var wasTaken = true
            do throws(CallError) {
                let input = DeliveredURL("app:\(round)", OpenContext())
                #expect(try await handler.router.call(HandlerInterface.open, on: handler.byName, input).isHandled)
            } catch .remote(let error) {
                // Unlike a real installation, the test has no service file with which the bus could start the handler.
                #expect(error.name == "org.freedesktop.DBus.Error.ServiceUnknown" || error.name == .nameHasNoOwner)
                wasTaken = false
            }
            let isReady = try await answer
            #expect(wasTaken || isReady)
            kill(handler.pid, SIGCONT)
            try await eventually(await handler.router.owner(of: HandlerProcess.id)) { $0 != nil }
        }
    }

    @Test func handlerWhoseNameIsTakenMeanwhileEnds() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        try await handler.enterBackground()
        #expect(try await handler.suspend())
        #expect(try await handler.router.requestName(HandlerProcess.id) == .owned)
        kill(handler.pid, SIGCONT)
        #expect(try await handler.status() == 1)
        let complaint = "while it was suspended, another process took its name on the bus"
        #expect(try handler.complaints() == ["com.example.app: \(complaint)"])
    }

    @Test func stoppedHandlerContinuesWhenTheRouterDies() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        try await handler.enterBackground()
        #expect(try await handler.suspend())
        #expect(await handler.nextOwner() == nil)
        kill(handler.pid, SIGSTOP)
        handler.cutLifeline()
        #expect(await handler.nextOwner() == handler.owner)
        #expect(try await handler.open("app:x").isHandled)
    }

    // MARK: Other messages of the lifecycle

    @Test func expirationDoesNotWaitForTheRunningEvent() async throws {
        let handler = try await HandlerProcess("task=upload", "stall=open")
        defer { handler.stop() }
        try await handler.enterBackground()
        let opening = Task { try await handler.open("app:x") }
        try await eventually(handler.log()) { $0.contains("open app:x") }
        _ = try await handler.call(HandlerInterface.expireBackgroundTasks, Empty())
        #expect(try handler.log().last == "expired upload")
        opening.cancel()
    }

    @Test func memoryWarningAndNotificationReachARunningHandler() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        _ = try await handler.open("app:x")
        _ = try await handler.call(HandlerInterface.receiveMemoryWarning, Empty())
        _ = try await handler.call(HandlerInterface.notify, ["locale": "fi", "clock": "12:00"])
        #expect(
            try handler.log().suffix(3) == [
                "didReceiveMemoryWarning", "notification clock 12:00", "notification locale fi",
            ]
        )
        #expect(try await handler.router.get(HandlerInterface.state, on: handler.byConnection) == "active")
    }

    @Test func nextProcessRestoresTheSavedState() async throws {
        let first = try await HandlerProcess("state=today")
        defer { first.stop() }
        try await first.enterBackground()
        let file = first.bus.directory.appending(path: "XDG_STATE_HOME/openurl/com.example.app.state")
        #expect(FileManager.default.fileExists(atPath: file.path))
        kill(first.pid, SIGKILL)
        #expect(try await first.status() == 128 + SIGKILL)

        let second = try await HandlerProcess(on: first.bus, [])
        let answer = try await second.open("app:x")
        #expect(try second.log().contains("restored today"))
        #expect(
            answer.trace.map(\.name) == [
                "willFinishLaunching", "shouldRestoreApplicationState", "didDecodeRestorableState",
                "didFinishLaunching",
                "open", "didBecomeActive",
            ]
        )
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func stateIsDeletedAfterTwoLaunchesThatAreKilled() async throws {
        let first = try await HandlerProcess("state=poison")
        defer { first.stop() }
        try await first.enterBackground()
        kill(first.pid, SIGKILL)
        #expect(try await first.status() == 128 + SIGKILL)

        for launch in 1...2 {
            let next = try await HandlerProcess(on: first.bus, ["hang=didDecodeRestorableState"])
            let opening = Task { try await next.open("app:x") }
            try await eventually(next.log()) { $0.count { $0 == "didDecodeRestorableState" } >= launch }
            kill(next.pid, SIGKILL)
            #expect(try await next.status() == 128 + SIGKILL)
            await #expect(throws: CallError.self) { try await opening.value }
            #expect(try next.complaints() == [])
        }

        let last = try await HandlerProcess(on: first.bus, [])
        #expect(try await last.open("app:y").isHandled)
        #expect(try last.log().filter { $0.hasPrefix("restored") } == ["restored poison", "restored poison"])
        #expect(
            try last.complaints() == [
                "com.example.app: its state was deleted, because two launches with it have failed"
            ]
        )
    }
}
