package import DBus
internal import OpenURL
package import OpenURLBus
package import RFC1808
package import Reactor
internal import Synchronization

/// The router on the session bus, which the bus starts if it is not running.
///
/// Every request names the far side, so no request can count as the user's own, even while another router takes over.
package final class BusRouter: RelayedRouter {
    private let source: String
    private let bus: BusAddress
    private let loop: EventLoop
    /// The connection to the bus, or the attempt to open one, so that requests at the same time share it.
    private let opening = Lock<Task<WayToRouter, any Error>?>(nil)
    private let lastToken = Atomic<UInt64>(0)

    /// How much longer than the router's own limits a call may take.
    private static let callTime = Duration.seconds(100)

    /// - Parameters:
    ///   - source: the far side, as in a rule of the policy: `host:NAME` or `container:NAME`.
    ///   - bus: the session bus.
    package init(for source: String, on bus: BusAddress, _ loop: EventLoop) {
        self.source = source
        self.bus = bus
        self.loop = loop
    }

    package func open(_ url: GenericURL, started: (@Sendable () -> Void)?) async throws(OpenURLError) {
        try await withErrorsOfRouter {
            let way = try await way()
            var options = OpenOptions()
            options.handleToken = nextToken()
            let watch = try await way.watchStart(of: options.handleToken, started)
            defer { watch?.cancel() }
            do throws(CallError) {
                let input = Arguments(source, url.description, options)
                _ = try await way.connection.call(
                    RelayInterface.openURL,
                    on: RouterService.object,
                    input,
                    timeout: Self.callTime
                )
            } catch {
                if error == .cancelled { await way.withdraw(options.handleToken) }
                throw error
            }
        }
    }

    package func canOpen(_ url: GenericURL) async throws(OpenURLError) -> Bool {
        try await withErrorsOfRouter {
            try await way().connection.call(
                RelayInterface.canOpenURL,
                on: RouterService.object,
                Arguments(source, url.description)
            )
        }
    }

    package func callback(of url: GenericURL) async throws(OpenURLError) -> GenericURL {
        try await withErrorsOfRouter {
            let way = try await way()
            var options = CallbackOptions()
            options.handleToken = nextToken()
            options.timeout = CallbackOptions.usualTimeout
            guard let path = way.path(of: options.handleToken) else {
                throw OpenURLError(.cancelled, "the relay is not on a bus")
            }
            let input = Arguments(source, url.description, options)
            let end = try await way.waitForCallback(at: path) {
                _ = try await way.connection.call(RelayInterface.requestCallback, on: RouterService.object, input)
            }
            guard let (code, text, details) = end?.values else {
                throw OpenURLError(.cancelled, "the router exited before the callback arrived")
            }
            guard CallbackEnd(rawValue: code) == .received else {
                throw CallError.remote(details.error ?? RemoteError(.failed, "the router gave no reason"))
            }
            return try GenericURL(text)
        }
    }

    /// Returns when the session bus has ended.
    ///
    /// - Parameter connected: called when there is a connection to the bus.
    /// - Throws: `OpenURLError` if there is none.
    package func waitForEndOfBus(connected: @Sendable () -> Void) async throws(OpenURLError) {
        try await withErrorsOfRouter {
            let connection = try await way().connection
            connected()
            _ = await connection.waitUntilClosed()
        }
    }

    private func nextToken() -> HandleToken? {
        HandleToken(rawValue: "relay_\(lastToken.wrappingAdd(1, ordering: .relaxed).newValue)")
    }

    /// Returns an open connection to the bus, on which the installed router has its name.
    private func way() async throws -> WayToRouter {
        var way = try await connected()
        // A bus that has ended may have a successor.
        if await !way.connection.isOpen { way = try await connected() }
        try await way.refuseStranger()
        return way
    }

    /// Returns the connection to the bus. If it has ended, the next call opens another one.
    private func connected() async throws -> WayToRouter {
        let task = opening.withLock { opening in
            let task = opening ?? Task { [bus, loop] in WayToRouter(bus: try await Connection.open(bus, on: loop)) }
            opening = task
            return task
        }
        do {
            let way = try await task.value
            if await !way.connection.isOpen { forget(task) }
            return way
        } catch {
            forget(task)
            throw error
        }
    }

    private func forget(_ task: Task<WayToRouter, any Error>) {
        opening.withLock { opening in if opening == task { opening = nil } }
    }

    /// Performs a request, and turns each of its errors into the one that the far side learns.
    private func withErrorsOfRouter<Result>(_ body: () async throws -> Result) async throws(OpenURLError) -> Result {
        do {
            return try await body()
        } catch let error as OpenURLError {
            throw error
        } catch CallError.remote(let error) {
            throw OpenURLError(error) ?? OpenURLError(.cancelled, "the router cannot be reached")
        } catch CallError.timedOut {
            throw OpenURLError(.timedOut, "the router did not answer in time")
        } catch {
            // The details are about this machine.
            throw OpenURLError(.cancelled, "the router cannot be reached")
        }
    }
}

extension WayToRouter {
    /// Calls the closure when the router reports that it has started an application with a request's URL.
    fileprivate func watchStart(
        of token: HandleToken?,
        _ started: (@Sendable () -> Void)?
    ) async throws(CallError) -> Task<Void, Never>? {
        guard let started, let path = path(of: token) else { return nil }
        let rule = MatchRule(sender: RouterService.name, path: path)
        do throws(CallError) {
            let signals = try await connection.signals(RequestInterface.started, matching: rule)
            return Task { for await _ in signals { started() } }
        } catch .remote {
            // The bus takes no more rules. The answer comes later, but says enough.
            return nil
        }
    }
}
