import DBus
import OpenURLBus
import PrivateBus
import RFC1808
import Reactor
import TestSupport
import Testing

@testable import OpenURL

/// A bus on which this process takes the place of the router, and a client on that bus.
final class StandInRouter: Sendable {
    /// A call of the client.
    enum Event: Sendable, Hashable {
        case opened(String, OpenOptions)
        case called(String, OpenOptions)
        case asked(String)
        case claimed(String, String, CallbackOptions)
        case cancelled(ObjectPath)
        case closed(ObjectPath)
    }

    /// A request that the router has.
    struct Request: Sendable {
        let url: String
        let options: OpenOptions
        let sender: BusName?
        let router: StandInRouter

        /// The path of the request's handle.
        var handle: ObjectPath? {
            guard let sender, let token = options.handleToken else { return nil }
            return RequestInterface.path(of: sender, token)
        }

        /// Reports the progress of the work.
        func report(_ fraction: Double, _ message: String) async throws {
            let handle = try #require(handle)
            try await router.connection.emit(
                RequestInterface.progress,
                from: handle,
                to: sender,
                Arguments(fraction, message)
            )
        }
    }

    /// A wait for a callback.
    struct Claim: Sendable {
        let url: String
        let pattern: String
        let options: CallbackOptions
        let handle: ObjectPath
        let sender: BusName?
        let router: StandInRouter

        /// Ends the wait.
        func complete(_ code: UInt32, _ text: String = "", _ details: CallbackDetails = CallbackDetails()) async throws
        {
            try await router.connection.emit(
                CallbackHandleInterface.completed,
                from: handle,
                to: sender,
                Arguments(code, text, details)
            )
        }
    }

    /// What the router does with calls.
    struct Behaviour: Sendable {
        var open: @Sendable (Request) async throws -> OpenResult = { _ in .plain }
        var canOpen: @Sendable (String) throws -> Bool = { _ in true }
        var claim: @Sendable (Claim) async throws -> Void = { try await $0.complete(0, "app:done") }
    }

    let bus: PrivateBus
    let connection: Connection
    let client: OpenURLClient
    private let behaviour: Behaviour
    private let noted = Lock<[Event]>([])

    init(_ behaviour: Behaviour = Behaviour()) async throws {
        bus = try await PrivateBus()
        self.behaviour = behaviour
        connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let other = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        // Another program in the router's place is the subject of other tests.
        client = OpenURLClient(ways: WaysToRouter(only: WayToRouter(bus: other, isLocal: false)))
        await connection.export([router, callbacks], at: RouterService.path)
        await connection.exportSubtree([handles, callbackHandles], below: RequestInterface.root)
        _ = try await connection.requestName(RouterService.name)
    }

    /// Runs a test with a router.
    static func with(
        _ behaviour: Behaviour = Behaviour(),
        _ body: (StandInRouter) async throws -> Void
    ) async throws {
        let router = try await StandInRouter(behaviour)
        defer { router.bus.stop() }
        try await body(router)
    }

    /// Runs a test with a router that answers each open in one way.
    static func opening(
        _ open: @escaping @Sendable (Request) async throws -> OpenResult,
        _ body: (StandInRouter) async throws -> Void
    ) async throws {
        var behaviour = Behaviour()
        behaviour.open = open
        try await with(behaviour, body)
    }

    /// The calls of the client, in order.
    var events: [Event] { noted.withLock { $0 } }

    private func note(_ event: Event) { noted.withLock { $0.append(event) } }

    private var router: ExportedInterface {
        ExportedInterface(
            RouterInterface.name,
            [
                .method(RouterInterface.openURL) { call, input in
                    self.note(.opened(input.url, input.options))
                    return try await self.behaviour.open(
                        Request(url: input.url, options: input.options, sender: call.sender, router: self)
                    )
                },
                .method(RouterInterface.call) { call, input in
                    self.note(.called(input.url, input.options))
                    return try await self.behaviour.open(
                        Request(url: input.url, options: input.options, sender: call.sender, router: self)
                    )
                },
                .method(RouterInterface.canOpenURL) { _, url in
                    self.note(.asked(url))
                    return try self.behaviour.canOpen(url)
                },
            ]
        )
    }

    private var callbacks: ExportedInterface {
        ExportedInterface(
            CallbackInterface.name,
            [
                .method(CallbackInterface.request) { call, input in
                    let (url, pattern, options) = input.values
                    self.note(.claimed(url, pattern, options))
                    guard let sender = call.sender, let token = options.handleToken,
                        let handle = RequestInterface.path(of: sender, token)
                    else { throw RemoteError(.invalidArguments, "there is no handle") }
                    let claim = Claim(
                        url: url,
                        pattern: pattern,
                        options: options,
                        handle: handle,
                        sender: sender,
                        router: self
                    )
                    try await self.behaviour.claim(claim)
                    return handle
                }
            ]
        )
    }

    private var handles: ExportedInterface {
        ExportedInterface(
            RequestInterface.name,
            [
                .method(RequestInterface.cancel) { call, _ in
                    self.note(.cancelled(call.path))
                    return Empty()
                },
                .signal(RequestInterface.progress),
            ]
        )
    }

    private var callbackHandles: ExportedInterface {
        ExportedInterface(
            CallbackHandleInterface.name,
            [
                .method(CallbackHandleInterface.close) { call, _ in
                    self.note(.closed(call.path))
                    return Empty()
                },
                .signal(CallbackHandleInterface.completed),
            ]
        )
    }
}

extension OpenResult {
    /// The result of an open about which nothing is special.
    static let plain = OpenResult(handler: "com.example.app", way: .active, reply: [:], trace: [])
}

/// Returns the error of a client; nil without an error.
func clientError<Result>(_ body: () async throws -> Result) async -> OpenURLClientError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? OpenURLClientError
    }
}
