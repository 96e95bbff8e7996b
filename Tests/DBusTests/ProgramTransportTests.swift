import CDBus
import Glibc
import PrivateBus
import Reactor
import Testing

@testable import DBus

/// Buses that a client reaches through the standard input and output of a program (`unixexec:`).
///
/// Each test runs in a child process. libdbus never reaps the processes that it starts, but the test process waits for
/// its children.
@Suite(.timeLimit(.minutes(10))) struct ProgramTransportTests {
    @Test func programReachesABus() async {
        await #expect(processExitsWith: .success) {
            try await withPair { (pair: Pair) async throws in
                let address = try bridge(to: pair.bus)
                let connection = try await Connection.open(address, on: EventLoop())
                #expect(connection.uniqueName != nil)
                #expect(try await connection.call(Echo.string, on: Echo.object, "ß") == "ß")
                let text = String(repeating: "x", count: 500_000)
                #expect(try await connection.call(Echo.string, on: Echo.object, text) == text)
                var signals = try await connection.signals(Echo.played).makeAsyncIterator()
                try await pair.service.emit(Echo.played, from: Echo.path, Arguments("ß", 1))
                #expect(await signals.next()?.body.values.0 == "ß")
                await connection.export([Echo.exported()], at: Echo.path)
                let object = RemoteObject(connection.uniqueName, Echo.path)
                #expect(try await pair.client.call(Echo.string, on: object, "back") == "back")
                let pipe = try Pipe()
                let copy = try await connection.call(Echo.descriptor, on: Echo.object, pipe.writeEnd)
                #expect(write(copy.rawValue, "x", 1) == 1)
                await connection.close()
                let blocking = try BlockingConnection(address)
                #expect(try blocking.call(Echo.string, on: Echo.object, "a") == "a")
            }
        }
    }

    @Test func endOfTheBusEndsTheConnection() async {
        await #expect(processExitsWith: .success) {
            try await withPair { (pair: Pair) async throws in
                let connection = try await Connection.open(bridge(to: pair.bus), on: EventLoop())
                let hanging = Task {
                    try await connection.call(Echo.never, on: Echo.object, Empty(), timeout: nil)
                }
                #expect(try await connection.call(Echo.string, on: Echo.object, "") == "")
                pair.bus.stop()
                await #expect(throws: CallError.disconnected) { try await hanging.value }
                await connection.waitUntilClosed()
            }
        }
    }

    @Test func missingProgramOrBusIsAnError() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            for program in ["/nonexistent/program", "/bin/true", "/bin/echo,argv1=hello"] {
                await #expect(throws: ConnectionError.self) {
                    try await Connection.open(.address("unixexec:path=\(program)"), on: loop)
                }
            }
        }
    }
}

/// Returns a bus address that goes through `systemd-stdio-bridge`, the program that systemd's tools use for the buses
/// of other machines.
private func bridge(to bus: PrivateBus) throws -> BusAddress {
    // The identifier of the bus follows the path of the socket and is not part of the path.
    let path = bus.address.prefix { $0 != "," }
    let escaped = try #require(dbus_address_escape_value("--bus-path=\(path)"))
    defer { dbus_free(escaped) }
    return .address("unixexec:path=systemd-stdio-bridge,argv1=\(String(cString: escaped))")
}
