import DBus
import Glibc
import PrivateBus
import Reactor

struct Pipe {
    let readEnd: UnixFD
    let writeEnd: UnixFD

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ConnectionTestError.noPipe }
        readEnd = UnixFD(owning: ends[0])
        writeEnd = UnixFD(owning: ends[1])
    }
}

enum ConnectionTestError: Error {
    case noPipe
}

/// A bus with a service and a client, each on its own event loop. ``end()`` ends all of them.
struct Pair {
    let bus: PrivateBus
    let service: Connection
    let client: Connection

    init(serviceLimits: ConnectionLimits = ConnectionLimits()) async throws {
        bus = try await PrivateBus()
        service = try await Connection.open(.address(bus.address), on: EventLoop(), limits: serviceLimits)
        client = try await Connection.open(.address(bus.address), on: EventLoop())
        await service.export([Echo.exported()], at: Echo.path)
        guard try await service.requestName(Echo.name) == .owned else { throw CallError.disconnected }
    }

    func end() async {
        await client.close()
        await service.close()
        client.loop.stop()
        service.loop.stop()
        bus.stop()
    }
}

func withPair(
    serviceLimits: ConnectionLimits = ConnectionLimits(),
    _ body: (Pair) async throws -> Void
) async throws {
    let pair = try await Pair(serviceLimits: serviceLimits)
    do {
        try await body(pair)
    } catch {
        await pair.end()
        throw error
    }
    await pair.end()
}

/// The service of the tests.
enum Echo {
    static let name: BusName = "com.example.Echo"
    static let interface: InterfaceName = "com.example.Echo1"
    static let path: ObjectPath = "/com/example/Echo"
    static let object = RemoteObject(name, path)

    static let string = Method<String, String>(interface, "String", inputs: ["text"], outputs: ["text"])
    static let values = Method<[Value], [Value]>(interface, "Values", inputs: ["values"], outputs: ["values"])
    static let sender = Method<Empty, String>(interface, "Sender", outputs: ["sender"])
    static let fail = Method<Arguments<String, String>, Empty>(interface, "Fail", inputs: ["name", "text"])
    static let unprintable = Method<Empty, String>(interface, "Unprintable", outputs: ["text"])
    static let never = Method<Empty, Empty>(interface, "Never")
    static let descriptor = Method<UnixFD, UnixFD>(interface, "Descriptor", inputs: ["fd"], outputs: ["fd"])
    static let volume = Property<UInt32>(interface, "Volume")
    static let version = Property<String>(interface, "Version")
    static let played = Signal<Arguments<String, UInt32>>(interface, "Played", arguments: ["title", "seconds"])

    static func exported() -> ExportedInterface {
        let current = Lock(UInt32(5))
        return ExportedInterface(
            interface,
            [
                .method(string) { _, text in text },
                .method(values) { _, values in values },
                .method(sender) { call, _ in call.sender?.rawValue ?? "" },
                .method(fail) { _, input in throw RemoteError(ErrorName(input.values.0) ?? .failed, input.values.1) },
                .method(unprintable) { _, _ in "a\0b" },
                .method(never) { _, _ in
                    try await Task.sleep(for: .seconds(3600))
                    return Empty()
                },
                .method(descriptor) { _, descriptor in descriptor },
                .property(
                    volume,
                    set: { volume in
                        guard volume <= 11 else { throw RemoteError(.invalidArguments, "it goes to eleven") }
                        current.withLock { $0 = volume }
                    },
                    { current.withLock { $0 } }
                ),
                .property(version) { "1" },
                .signal(played),
            ]
        )
    }
}

/// An actor on a connection's event loop.
actor Caller {
    private let connection: Connection
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.unownedExecutor }

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Starts the calls in the order of their numbers, each in a task on the loop.
    func inOrder<T: Sendable>(
        _ numbers: Range<UInt32>,
        _ call: @escaping @Sendable (UInt32) async throws -> T
    ) -> [Task<T, any Error>] {
        numbers.map { number in Task(executorPreference: connection.loop) { try await call(number) } }
    }
}
