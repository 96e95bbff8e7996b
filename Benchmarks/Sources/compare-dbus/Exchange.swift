import DBus
import Programs
import Reactor

/// The measured exchange: a string goes out and a boolean comes back.
enum Exchange {
    static let interface: InterfaceName = "org.openurl.Bench1"
    static let path: ObjectPath = "/bench"
    static let echo = Method<String, Bool>(interface, "Echo", inputs: ["text"], outputs: ["is_empty"])
    static let text = "todolist:add?title=hello&body=world&number=12345"

    static var exported: ExportedInterface {
        ExportedInterface(interface, [.method(echo) { _, text in !text.isEmpty }])
    }
}

/// A client whose code runs on the event loop, as in a program that uses this module.
actor Caller {
    private let connection: Connection
    private let object: RemoteObject
    private var taken: [Duration] = []
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    init(_ connection: Connection, _ object: RemoteObject) {
        self.connection = connection
        self.object = object
    }

    private func call() async throws {
        let start = ContinuousClock.now
        guard try await connection.call(Exchange.echo, on: object, Exchange.text) else {
            throw BenchmarkError("a wrong answer")
        }
        taken.append(ContinuousClock.now - start)
    }

    /// - Returns: The median time of a call, and the number of calls per second.
    func measure(calls: Int, window: Int) async throws -> (Duration, Double) {
        for _ in 0..<200 { try await call() }
        taken = []
        taken.reserveCapacity(calls)
        let start = ContinuousClock.now
        if window == 1 {
            for _ in 0..<calls { try await call() }
        } else {
            let tasks = (0..<window).map { _ in
                Task { for _ in 0..<calls / window { try await call() } }
            }
            for task in tasks { try await task.value }
        }
        let total = ContinuousClock.now - start
        return (taken.sorted()[taken.count / 2], Double(taken.count) / (total / .seconds(1)))
    }
}
