import DBus
import Foundation
import PrivateBus
import TestSupport
import Testing

/// A machine that sleeps in its imagination: a system bus of the test's own, with a logind in Python.
final class LoginMachine: Sendable {
    private static let name: BusName = "org.freedesktop.login1"
    private static let manager = RemoteObject(name, "/org/freedesktop/login1")

    let bus: PrivateBus
    private let connection: Connection
    /// How long each sleep or shutdown was delayed, in milliseconds.
    let pauses: SignalSequence<UInt32>

    /// The variables of a router on this machine.
    var variables: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": bus.address] }

    init() async throws {
        bus = try await PrivateBus(isSecond: true)
        connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let logind = ChildProcess()
        logind.executableURL = URL(filePath: "/usr/bin/python3")
        logind.arguments = [ScriptHandler.path(of: "logind"), bus.address]
        logind.environment = bus.environment
        try await RouterProcess.waitForOwner(of: Self.name, on: connection) { try logind.run() }
        pauses = try await connection.signals(Signal<UInt32>("org.openurl.Test.Machine", "Paused"))
    }

    /// Ends the bus, and logind with it.
    func stop() {
        bus.stop()
    }

    private func call<Input: MessageBody & Sendable>(
        _ interface: InterfaceName,
        _ method: MemberName,
        _ input: Input,
        on object: RemoteObject = manager
    ) async throws {
        try await connection.call(Method<Input, Empty>(interface, method), on: object, input)
    }

    /// Begins to sleep. The next element of ``pauses`` says that the machine sleeps.
    func sleep() async throws { try await call("org.freedesktop.login1.Manager", "Suspend", false) }

    /// Begins to shut down. The next element of ``pauses`` says that nothing delays it any longer.
    func shutDown() async throws { try await call("org.freedesktop.login1.Manager", "PowerOff", false) }

    /// Ends the sleep, or the shutdown before it is complete.
    func wake() async throws { try await call("org.openurl.Test.Machine", "Wake", Empty()) }

    func lock(_ session: String = "c1") async throws {
        try await call("org.freedesktop.login1.Manager", "LockSession", session)
    }

    func unlock(_ session: String = "c1") async throws {
        try await call("org.freedesktop.login1.Manager", "UnlockSession", session)
    }

    /// Reports that the desktop has locked or unlocked the screen by itself.
    func setLockedHint(_ isLocked: Bool, _ session: String = "c1") async throws {
        let path = try #require(ObjectPath("/org/freedesktop/login1/session/\(session)"))
        let object = RemoteObject(Self.name, path)
        try await call("org.freedesktop.login1.Session", "SetLockedHint", isLocked, on: object)
    }

    func endSession() async throws { try await call("org.freedesktop.login1.Manager", "TerminateSession", "c1") }

    func login(_ session: String) async throws { try await call("org.openurl.Test.Machine", "Login", session) }

    /// What each inhibitor delays, who holds it, and how.
    func inhibitors() async throws -> [String] {
        let list = Method<Empty, [String]>("org.openurl.Test.Machine", "Inhibitors")
        return try await connection.call(list, on: Self.manager, Empty())
    }

    /// The number of connections to the bus apart from this one and logind's.
    func connections() async throws -> Int { try await connection.names().count { $0.isUnique } - 2 }
}
