import Programs

/// The C programs that the results are compared with.
struct Floors {
    static let program = Program.path(besideThis: "open-floor")
    private static let client = Program.path(besideThis: "dbus-floor")
    private static let service = "org.openurl.BenchService"
    private static let router = "org.openurl.BenchRouter"
    private let running: [Program]

    init() throws {
        running = [
            try Program(Self.client, ["service", Self.service]),
            try Program(Self.program, ["router", Self.router, Self.service]),
        ]
        for program in running { _ = try program.readLine() }
    }

    func end() {
        for program in running { program.end() }
    }

    /// Measures calls of the service, one at a time and with 64 in flight.
    func echo(calls: Int) throws -> (microseconds: Double, rate: Double) {
        (try time(Self.service, calls), try rate(Self.service, calls, window: 64))
    }

    /// Measures the same calls through the router.
    func routed(calls: Int) throws -> (microseconds: Double, rate: Double) {
        (try time(Self.router, calls), try rate(Self.router, calls, window: 64))
    }

    /// Opens a URL with a client in C, over connections to the bus.
    ///
    /// - Parameter bytes: the length of the URL at least.
    func open(
        _ id: String,
        calls: Int,
        window: Int = 1,
        callers: Int = 1,
        bytes: Int = 0
    ) throws -> (microseconds: Double, rate: Double) {
        let arguments = ["client", Handlers.url(id), "\(bytes)", "\(calls)", "\(window)", "\(callers)"]
        let numbers = try Program(Self.program, arguments).numbers(2)
        return (numbers[0] / 1e3, numbers[1])
    }

    /// The rate of calls of the service with many in flight.
    func echoRate(calls: Int, window: Int) throws -> Double { try rate(Self.service, calls, window: window) }

    /// Returns the milliseconds that the router takes for `count` calls at once.
    func burst(_ count: Int) throws -> Double {
        Double(count) / (try rate(Self.router, count, window: count)) * 1e3
    }

    private func time(_ name: String, _ calls: Int) throws -> Double {
        try Program(Self.client, ["client", name, "\(calls)", "1"]).numbers(2)[0] / 1e3
    }

    private func rate(_ name: String, _ calls: Int, window: Int) throws -> Double {
        try Program(Self.client, ["client", name, "\(calls)", "\(window)"]).numbers(2)[1]
    }
}
