import OpenURLBus
import PrivateBus
import Reactor
import Testing

@testable import DBus
@testable import URLRouter

/// The router's calls of `org.freedesktop.Application`, on a real bus.
@Suite(.timeLimit(.minutes(10))) struct DesktopCallTests {
    private static let name: BusName = "org.example.My-App"

    /// A call that a program received: the method, the URLs and the platform data.
    private struct Call: Sendable, Hashable {
        let method: String
        var urls: [String] = []
        var platformData: [String: Value] = [:]
    }

    /// Connects the router to a program that exports some members of the interface at the desktop's object path.
    private func with(
        _ members: (@escaping @Sendable (Call) throws -> Void) -> [ExportedInterface.Member],
        _ body: (ConnectedHandlers, BusName, AsyncStream<Call>) async throws -> Void
    ) async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let (calls, continuation) = AsyncStream<Call>.makeStream()
        let program = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let members = members { continuation.yield($0) }
        await program.export([ExportedInterface(FreedesktopApplication.name, members)], at: "/org/example/My_App")
        let owner = try #require(program.uniqueName)
        let router = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        try await body(ConnectedHandlers(connection: router, lane: Lane(beside: router)), owner, calls)
        continuation.finish()
    }

    private func application(_ note: @escaping @Sendable (Call) throws -> Void) -> [ExportedInterface.Member] {
        [
            .method(FreedesktopApplication.open) { _, input in
                try note(Call(method: "Open", urls: input.values.0, platformData: input.values.1))
                return Empty()
            },
            .method(FreedesktopApplication.activate) { _, platformData in
                try note(Call(method: "Activate", platformData: platformData))
                return Empty()
            },
        ]
    }

    @Test func openAndActivateCallTheirMethods() async throws {
        try await with(application) { handlers, owner, calls in
            let data: [String: Value] = ["activation-token": "t", "desktop-startup-id": "s"]
            try await handlers.openApplication("x:1", data, with: Self.name, at: owner, timeout: .seconds(60))
            try await handlers.openApplication("x:2", [:], with: Self.name, at: owner, timeout: .seconds(60))
            try await handlers.activate(Self.name, [:], at: owner, timeout: .seconds(60))
            var received = calls.makeAsyncIterator()
            #expect(await received.next() == Call(method: "Open", urls: ["x:1"], platformData: data))
            #expect(await received.next() == Call(method: "Open", urls: ["x:2"]))
            #expect(await received.next() == Call(method: "Activate"))
        }
    }

    /// An application without `Activate` is not an error, but an application without `Open` is.
    @Test func onlyActivateMayBeMissing() async throws {
        try await with({ _ in [] }) { handlers, owner, _ in
            try await handlers.activate(Self.name, [:], at: owner, timeout: .seconds(60))
            let other: BusName = "org.example.Other"
            try await handlers.activate(other, [:], at: owner, timeout: .seconds(60))
            for name in [Self.name, other] {
                await #expect {
                    try await handlers.openApplication("x:1", [:], with: name, at: owner, timeout: .seconds(60))
                } throws: { error in
                    guard case .remote(let error) = error as? CallError else { return false }
                    return error.isFromMissingMethod
                }
            }
        }
    }

    @Test func errorOfTheProgramIsPassedOn() async throws {
        let refusal = RemoteError("com.example.Error.Busy", "not now")
        try await with({ _ in application { _ in throw refusal } }) { handlers, owner, _ in
            await #expect(throws: CallError.remote(refusal)) {
                try await handlers.openApplication("x:1", [:], with: Self.name, at: owner, timeout: .seconds(60))
            }
            await #expect(throws: CallError.remote(refusal)) {
                try await handlers.activate(Self.name, [:], at: owner, timeout: .seconds(60))
            }
        }
    }

    @Test func unstartableServiceIsUnknownToTheBus() async throws {
        try await with({ _ in [] }) { handlers, _, _ in
            await #expect {
                try await handlers.startService(Self.name, timeout: .seconds(60))
            } throws: { error in
                guard case .remote(let error) = error as? CallError else { return false }
                return error.isFromBus && error.name == .serviceUnknown
            }
        }
    }
}
