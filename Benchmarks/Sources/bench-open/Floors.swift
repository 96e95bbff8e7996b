import DBus
import Programs

/// The C programs to compare the results with.
struct Floors {
    static let program = Program.path(besideThis: "open-floor")
    private static let client = Program.path(besideThis: "dbus-floor")
    static let service: BusName = "org.openurl.BenchService"
    static let router: BusName = "org.openurl.BenchRouter"
    private let running: [Program]

    init() throws {
        running = [
            try Program(Self.client, ["service", Self.service.rawValue]),
            try Program(Self.program, ["router", Self.router.rawValue, Self.service.rawValue]),
        ]
        for program in running { _ = try program.readLine() }
    }

    func end() {
        for program in running { program.end() }
    }

    /// Returns the median in microseconds of a call of the service or of the router, one at a time.
    func time(_ name: BusName, calls: Int) throws -> Double {
        try Program(Self.client, ["client", name.rawValue, "\(calls)", "1"]).numbers(2)[0] / 1e3
    }

    /// Returns the calls per second of the service or of the router, with some in flight at a time.
    func rate(_ name: BusName, calls: Int, window: Int = 64) throws -> Double {
        try Program(Self.client, ["client", name.rawValue, "\(calls)", "\(window)"]).numbers(2)[1]
    }

    /// Opens a URL with a client in C, over connections to the bus.
    ///
    /// - Parameters:
    ///   - bytes: the least length of the URL.
    ///   - hasOptions: whether the client calls `OpenURL`, whose arguments and result are dictionaries, or `Open`.
    func open(
        _ id: String,
        calls: Int,
        window: Int = 1,
        callers: Int = 1,
        bytes: Int = 0,
        hasOptions: Bool = true
    ) throws -> (microseconds: Double, rate: Double) {
        let arguments = ["client", Handlers.url(id), "\(bytes)", "\(calls)", "\(window)", "\(callers)"]
        let numbers = try Program(Self.program, arguments + (hasOptions ? [] : ["short"])).numbers(2)
        return (numbers[0] / 1e3, numbers[1])
    }

    /// Returns the milliseconds that the router needs for `count` calls at once.
    func burst(_ count: Int) throws -> Double {
        Double(count) / (try rate(Self.router, calls: count, window: count)) * 1e3
    }
}
