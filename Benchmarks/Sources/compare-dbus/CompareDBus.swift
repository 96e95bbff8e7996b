import DBus
import Glibc
import Programs
import Reactor

/// Compares the module with the C program, in the same run on the same bus. Usage: `dbus-run-session -- compare-dbus
/// [CALLS]`.
///
/// If its argument is the name of a part, the program is one end of an exchange, in a process of its own.
@main
struct CompareDBus {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "service": try await serve(BusName(stringLiteral: arguments[1]))
        case "peer-service": try await listen(at: arguments[1])
        case "client":
            let connection = try await Connection.open(on: EventLoop())
            let object = RemoteObject(BusName(stringLiteral: arguments[1]), Exchange.path)
            try await measure(connection, object, arguments[2], arguments[3])
        case "peer-client":
            let connection = try await Connection.open(peer: arguments[1], on: EventLoop())
            try await measure(connection, RemoteObject(nil, Exchange.path), arguments[2], arguments[3])
        case "first":
            let connection = try BlockingConnection()
            let object = RemoteObject(BusName(stringLiteral: arguments[1]), Exchange.path)
            guard try connection.call(Exchange.echo, on: object, Exchange.text) else {
                throw BenchmarkError("a wrong answer")
            }
        default: try await compare(calls: arguments.first.flatMap(Int.init) ?? 5000)
        }
    }

    private static func serve(_ name: BusName) async throws {
        let connection = try await Connection.open(on: EventLoop())
        await connection.export([Exchange.exported], at: Exchange.path)
        guard try await connection.requestName(name) == .owned else {
            throw BenchmarkError("the name is taken")
        }
        print("ready")
        fflush(nil)
        await connection.waitUntilClosed()
    }

    private static func listen(at address: String) async throws {
        let listener = try await PeerListener.listen(at: address, on: EventLoop()) { connection in
            connection.export([Exchange.exported], at: Exchange.path)
        }
        print(listener.address)
        fflush(nil)
        // The parent process ends this one.
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    private static func measure(
        _ connection: Connection,
        _ object: RemoteObject,
        _ calls: String,
        _ window: String
    ) async throws {
        let caller = Caller(connection, object)
        let (median, rate) = try await caller.measure(calls: Int(calls) ?? 1000, window: Int(window) ?? 1)
        print(Int(median / .nanoseconds(1)), Int(rate))
    }

    /// Runs three rounds. Each round measures every program once, so that other load on the machine affects all of
    /// them.
    private static func compare(calls: Int) async throws {
        let own = CommandLine.arguments[0]
        let floor = Program.path(besideThis: "dbus-floor")
        let floorService = try Program(floor, ["service", "org.openurl.BenchC"])
        let service = try Program(own, ["service", "org.openurl.BenchSwift"])
        let peer = try Program(own, ["peer-service", "unix:tmpdir=/tmp"])
        let floorPeer = try Program(floor, ["peer-service", "unix:tmpdir=/tmp"])
        defer { for program in [floorService, service, peer, floorPeer] { program.end() } }
        for program in [floorService, service] { _ = try program.readLine() }
        let address = try peer.readLine()
        let floorAddress = try floorPeer.readLine()

        print(
            "median of one call at a time in µs, calls a second with 64 in flight, process to first answer and end in ms"
        )
        print("round  who calls whom                one   ratio    rate   ratio   first")
        for round in 1...3 {
            var reference: (one: Double, rate: Double)?
            for (name, program, arguments, first) in [
                ("C → C, bus", floor, ["client", "org.openurl.BenchC"], ["first", "org.openurl.BenchC"]),
                ("Swift → C, bus", own, ["client", "org.openurl.BenchC"], ["first", "org.openurl.BenchC"]),
                ("C → Swift, bus", floor, ["client", "org.openurl.BenchSwift"], []),
                ("Swift → Swift, bus", own, ["client", "org.openurl.BenchSwift"], []),
                ("C → C, peer to peer", floor, ["peer-client", floorAddress], []),
                ("Swift → Swift, peer to peer", own, ["peer-client", address], []),
            ] {
                let one = try Program(program, arguments + ["\(calls)", "1"]).numbers(2)[0] / 1000
                let rate = try Program(program, arguments + ["\(calls)", "64"]).numbers(2)[1]
                let base = reference ?? (one, rate)
                reference = base
                let time = first.isEmpty ? "" : decimals(try start(program, first) / .milliseconds(1), 2)
                print(
                    "\(round)      \(padded(name, 28)) \(decimals(one, 1))  \(decimals(one / base.one, 2))"
                        + "  \(decimals(rate, 0))  \(decimals(rate / base.rate, 2))  \(time)"
                )
            }
        }
    }

    /// Returns the median of twenty runs, each from the start of a program to its exit after one call.
    private static func start(_ program: String, _ arguments: [String]) throws -> Duration {
        var taken: [Duration] = []
        for _ in 0..<20 {
            let start = ContinuousClock.now
            try Program(program, arguments).finish()
            taken.append(ContinuousClock.now - start)
        }
        return taken.sorted()[taken.count / 2]
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func decimals(_ number: Double, _ count: Int) -> String {
        let scale = [1.0, 10, 100][count]
        let rounded = (number * scale).rounded() / scale
        let text = count == 0 ? "\(Int(rounded))" : "\(rounded)"
        return String(repeating: " ", count: max(0, 6 - text.count)) + text
    }
}
