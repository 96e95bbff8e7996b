import DBus
import Glibc
import OpenURL
import OpenURLBus
import Programs
import RFC1808
import Reactor

/// Opens URLs with the client library, on the thread of its event loop.
actor Opener {
    let connection: Connection
    private let client: OpenURLClient
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    /// - Parameter client: A client on the loop of the connection.
    init(_ connection: Connection, _ client: OpenURLClient) {
        self.connection = connection
        self.client = client
    }

    @discardableResult
    func open(_ id: String, _ number: Int = 0) async throws -> OpenResult {
        try await client.open(GenericURL(Handlers.url(id, number)))
    }

    /// Returns the milliseconds for one URL, which must reach its handler in the given way.
    func time(_ id: String, _ way: OpenResult.Way) async throws -> Double {
        let start = ContinuousClock.now
        let result = try await open(id)
        let taken = ContinuousClock.now - start
        guard result.way == way else { throw BenchmarkError("\(id) was \(result.way), not \(way)") }
        return taken / .milliseconds(1)
    }

    /// Returns the median in microseconds for one URL at a time, with the handlers in turn.
    func time(by turns: [String], calls: Int) async throws -> Double {
        for id in turns + turns { try await open(id) }
        // If there is more than one handler, each is in the background when its turn comes.
        let way: OpenResult.Way = turns.count == 1 ? .active : .background
        var taken: [Double] = []
        for call in 0..<calls { taken.append(try await time(turns[call % turns.count], way) * 1e3) }
        return median(taken)
    }

    /// Returns the URLs per second, with some in flight at a time.
    func rate(_ id: String, calls: Int, window: Int = 64) async throws -> Double {
        try await open(id)
        let start = ContinuousClock.now
        let tasks = (0..<window).map { _ in
            Task.immediate(executorPreference: connection.loop) {
                for _ in 0..<calls / window { _ = try await time(id, .active) }
            }
        }
        for task in tasks { try await task.value }
        return Double(calls / window * window) / ((ContinuousClock.now - start) / .seconds(1))
    }

    /// Returns the median in microseconds for a long URL, one at a time.
    func timeOfLongURL(_ id: String, calls: Int) async throws -> Double {
        let url = try GenericURL(Handlers.longURL(id))
        var taken: [Double] = []
        for _ in 0..<calls {
            let start = ContinuousClock.now
            _ = try await client.open(url)
            taken.append((ContinuousClock.now - start) / .microseconds(1))
        }
        return median(taken)
    }

    func terminate(_ id: String) async throws {
        try await connection.call(LifecycleInterface.terminate, on: RouterService.object, id)
    }

    /// Returns the median in microseconds for a URL that wakes its handler.
    func wake(_ id: String, times: Int) async throws -> Double {
        let rule = MatchRule(
            sender: RouterService.name,
            arguments: [0: id, 1: HandlerState.suspended.rawValue]
        )
        var suspensions = try await connection.signals(LifecycleInterface.stateChanged, matching: rule)
            .makeAsyncIterator()
        try await connection.call(RouterInterface.subscribe, on: RouterService.object, Empty())
        try await open(id)
        var taken: [Double] = []
        for _ in 0..<times {
            try await connection.call(LifecycleInterface.background, on: RouterService.object, id)
            guard await suspensions.next() != nil else { throw BenchmarkError("the bus has ended") }
            taken.append(try await time(id, .woken) * 1e3)
        }
        return median(taken)
    }
}
