import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct EndTests {
    @Test func endedConnectionDoesNotBlockWaiters() async {
        await #expect(processExitsWith: .success) {
            try await withPair { (pair: Pair) async throws in
                for _ in 0..<50 {
                    let connection = try await Connection.open(.address(pair.bus.address), on: pair.client.loop)
                    await connection.close()
                    await connection.waitForRoom()
                    await connection.waitUntilAnswered()
                    #expect(await connection.state == .released)
                    #expect(await connection.waitUntilClosed() == .closed)
                }
            }
        }
    }

    @Test func closedConnectionReleasesItsExports() async throws {
        try await withPair { (pair: Pair) async throws in
            weak var weakly: Connection?
            func openAndClose() async throws {
                let connection = try await Connection.open(.address(pair.bus.address), on: pair.client.loop)
                let holding = ExportedInterface(
                    Echo.interface,
                    [.method(Echo.string) { _, _ in connection.uniqueName?.rawValue ?? "" }]
                )
                await connection.export([holding], at: "/")
                _ = try await connection.signals(Echo.played)
                weakly = connection
                await connection.close()
                // A closed connection exports nothing, so this export does not keep the connection alive.
                await connection.export([holding], at: "/")
            }
            try await openAndClose()
            // The connection frees a closed object in the loop's turn that closed the object.
            for _ in 0..<10 where weakly != nil { await pair.client.loop.run {} }
            #expect(weakly == nil)
        }
    }

    @Test func cancelledTaskStopsWaitingForAnswers() async throws {
        try await withPair { (pair: Pair) async throws in
            let hanging = Task { try await pair.client.call(Echo.never, on: Echo.object, Empty(), timeout: nil) }
            try await eventually(await pair.service.hasNoCalls) { !$0 }
            let answered = Task { await pair.service.waitUntilAnswered() }
            for _ in 0..<10 { await pair.service.loop.run {} }
            answered.cancel()
            await answered.value
            #expect(await !pair.service.hasNoCalls)
            hanging.cancel()
        }
    }
}
