import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// What a sleep, a shutdown, a lock and the end of the login session do to handlers, with a system bus of the test's own.
@Suite(.timeLimit(.minutes(10))) struct LoginSessionTests {
    private static let first = "com.example.first"
    private static let second = "com.example.second"
    private static let inhibitor = "sleep:shutdown openurl delay"

    /// Starts a router on a machine, with an active handler whose inhibitor logind has.
    private func router(on machine: LoginMachine, _ arguments: [String] = []) async throws -> RouterProcess {
        let router = try await RouterProcess(
            [Self.first: arguments, Self.second: []],
            variables: machine.variables
        )
        _ = try await router.open("first:x")
        try await eventually(await machine.inhibitors()) { $0 == [Self.inhibitor] }
        return router
    }

    /// Returns the last events of the handler that became active first.
    private func events(_ router: RouterProcess, _ count: Int) throws -> [String] {
        Array(try router.log(of: Self.first).suffix(count))
    }

    // MARK: Sleep and shutdown

    @Test func sleepTakesTheHandlerToTheBackgroundAndItComesBack() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine, ["state=draft"])
        defer { router.stop() }
        let states = try await router.states()
        try await machine.sleep()
        let pause = try await machine.pauses.next { _ in true }.body
        // A logind waits for five seconds if nobody releases the inhibitor.
        #expect(pause < 4900, "\(pause) ms")
        #expect(try events(router, 3) == ["willResignActive", "didEnterBackground", "willEncodeRestorableState"])
        let state = router.bus.directory.appending(path: "XDG_STATE_HOME/openurl/\(Self.first).state")
        #expect(FileManager.default.fileExists(atPath: state.path))
        #expect(try await machine.inhibitors() == [])
        try await states.wait(for: "background", of: Self.first)
        try await machine.wake()
        try await states.wait(for: "active", of: Self.first)
        try await eventually(events(router, 2)) { $0 == ["willEnterForeground", "didBecomeActive"] }
        try await eventually(await machine.inhibitors()) { $0 == [Self.inhibitor] }
    }

    /// Nobody reports the end of the sleep then.
    @Test func endOfTheSystemBusEndsTheSleep() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        try await machine.sleep()
        _ = try await machine.pauses.next { _ in true }
        try await eventually(events(router, 1)) { $0 == ["didEnterBackground"] }
        machine.stop()
        try await eventually(events(router, 2)) { $0 == ["willEnterForeground", "didBecomeActive"] }
    }

    @Test func handlerThatHangsDelaysTheSleepForTwoSecondsAtMost() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine, ["hang=didEnterBackground"])
        defer { router.stop() }
        try await machine.sleep()
        let pause = try await machine.pauses.next { _ in true }.body
        #expect(pause >= 1900 && pause < 4900, "\(pause) ms")
    }

    @Test func shutdownThatIsCancelledBringsTheHandlerBack() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        let states = try await router.states()
        try await machine.shutDown()
        _ = try await machine.pauses.next { _ in true }
        #expect(try events(router, 2) == ["willResignActive", "didEnterBackground"])
        try await states.wait(for: "background", of: Self.first)
        try await machine.wake()
        try await states.wait(for: "active", of: Self.first)
    }

    @Test func handlerThatWasReplacedMeanwhileDoesNotComeBack() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        try await machine.sleep()
        _ = try await machine.pauses.next { _ in true }
        _ = try await router.open("second:x")
        try await machine.wake()
        // The inhibitor is back after the router has heard of the end of the sleep.
        try await eventually(await machine.inhibitors()) { $0 == [Self.inhibitor] }
        #expect(try await router.status(of: Self.second).state == .known(.active))
        #expect(try events(router, 1) == ["didEnterBackground"])
    }

    @Test func handlerThatHasExitedIsNotStarted() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        try await machine.sleep()
        _ = try await machine.pauses.next { _ in true }
        try await router.lifecycle(LifecycleInterface.terminate, Self.first)
        let count = try router.log(of: Self.first).count
        try await machine.wake()
        _ = try await router.open("second:x")
        try await eventually(await machine.inhibitors()) { $0 == [Self.inhibitor] }
        #expect(try router.log(of: Self.first).count == count)
        #expect(try await router.status(of: Self.first).state == .known(.notRunning))
    }

    // MARK: The screen's lock

    @Test func lockedScreenInterruptsTheHandler() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        let states = try await router.states()
        // Another user's session.
        try await machine.lock("c9")
        try await machine.lock()
        try await states.wait(for: "inactive", of: Self.first)
        try await eventually(events(router, 2)) { $0 == ["didBecomeActive", "willResignActive"] }
        _ = try await router.open("first:y")
        #expect(try await router.status(of: Self.first).state == .known(.inactive))
        try await machine.unlock()
        try await states.wait(for: "active", of: Self.first)
        try await eventually(events(router, 3)) { $0 == ["willResignActive", "open first:y", "didBecomeActive"] }
    }

    @Test func desktopThatLocksTheScreenByItselfInterruptsTheHandler() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        let states = try await router.states()
        try await machine.setLockedHint(true)
        try await states.wait(for: "inactive", of: Self.first)
        try await machine.setLockedHint(false)
        try await states.wait(for: "active", of: Self.first)
        try await eventually(events(router, 2)) { $0 == ["willResignActive", "didBecomeActive"] }
    }

    @Test func nextRouterKnowsThatTheScreenIsLocked() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        try await machine.setLockedHint(true)
        try await eventually(events(router, 1)) { $0 == ["willResignActive"] }
        try await router.restart()
        try await eventually(events(router, 3)) { $0 == ["willResignActive", "didBecomeActive", "willResignActive"] }
        #expect(try await router.status(of: Self.first).state == .known(.inactive))
        try await machine.setLockedHint(false)
        try await eventually(events(router, 1)) { $0 == ["didBecomeActive"] }
    }

    @Test func handlerComesBackWhenTheScreenIsUnlockedAfterTheSleep() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        let states = try await router.states()
        try await machine.lock()
        try await states.wait(for: "inactive", of: Self.first)
        try await machine.sleep()
        _ = try await machine.pauses.next { _ in true }
        try await states.wait(for: "background", of: Self.first)
        try await machine.wake()
        #expect(try events(router, 2) == ["willResignActive", "didEnterBackground"])
        try await machine.unlock()
        try await states.wait(for: "active", of: Self.first)
        try await eventually(events(router, 4)) {
            $0 == ["willResignActive", "didEnterBackground", "willEnterForeground", "didBecomeActive"]
        }
    }

    // MARK: The session

    @Test func endOfTheSessionTakesTheHandlerToTheBackground() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await router(on: machine)
        defer { router.stop() }
        let states = try await router.states()
        try await machine.endSession()
        try await states.wait(for: "background", of: Self.first)
        #expect(try events(router, 2) == ["willResignActive", "didEnterBackground"])
        // The inhibitor is only for handlers in the foreground.
        try await eventually(await machine.inhibitors()) { $0 == [] }
        // The router follows the next session.
        try await machine.login("c2")
        _ = try await router.open("first:y")
        try await eventually(await machine.inhibitors()) { $0 == [Self.inhibitor] }
        // The router reads the hint when it begins to follow a session, but nothing repeats a request to lock the screen.
        try await machine.setLockedHint(true, "c2")
        try await states.wait(for: "active", of: Self.first)
        try await states.wait(for: "inactive", of: Self.first)
        try await machine.unlock("c2")
        try await states.wait(for: "active", of: Self.first)
        try await machine.lock("c2")
        try await states.wait(for: "inactive", of: Self.first)
    }

    @Test func systemBusIsNotUsedBeforeAHandlerIsActive() async throws {
        let machine = try await LoginMachine()
        defer { machine.stop() }
        let router = try await RouterProcess([Self.first: []], variables: machine.variables)
        defer { router.stop() }
        var options = OpenOptions()
        options.inBackground = true
        _ = try await router.open("first:x", options)
        #expect(try await machine.connections() == 0)
        _ = try await router.open("first:y")
        try await eventually(await machine.inhibitors()) { $0 == [Self.inhibitor] }
        #expect(try await machine.connections() == 1)
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        try await eventually(await machine.inhibitors()) { $0 == [] }
    }

    @Test func systemBusWithoutLogindIsFine() async throws {
        let bus = try await PrivateBus(isSecond: true)
        defer { bus.stop() }
        let router = try await RouterProcess(
            [Self.first: []],
            variables: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address]
        )
        defer { router.stop() }
        #expect(try await router.open("first:x").way == .launched)
        #expect(try await router.open("first:y").way == .active)
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        for text in ["system bus", "login session", "cannot be delayed"] { #expect(!log.contains(text), "\(log)") }
    }
}
