import DBus
import Glibc
import OpenURL
import OpenURLBus
import Programs
import RFC1808
import Reactor

/// Compares the time that it takes to open URLs with minimal C programs, in the same run on the same bus. Usage:
/// `dbus-run-session -- bench-open DIRECTORY [ROUNDS [flight]]`, where openurl's programs are in the directory. With `flight`, it
/// measures only the calls with 64 in flight, which is enough for a profile of the processor time.
///
/// Each round measures every program once, so that other load on the machine affects all of them. With 64 calls in
/// flight, it also measures the processor time of each program.
@main
struct BenchOpen {
    @MainActor
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1 else { exit(64) }
        let rounds = arguments.count > 2 ? max(1, Int(arguments[2]) ?? 1) : 9
        let isOnlyFlight = arguments.count > 3 && arguments[3] == "flight"
        let programs = arguments[1]
        let directory = try RouterDirectory()
        try Handlers.add(to: directory)
        let connection = try await Connection.open(on: EventLoop())
        let router = try await directory.startRouter("\(programs)/openurld", on: connection)
        let memory = try router.residentMegabytes()
        let floors = try Floors()
        let bus = Opener(connection, OpenURLClient(connection: connection))
        let lane = Opener(connection, try await OpenURLClient(on: connection.loop))
        let commands = Commands(openurl: "\(programs)/openurl")

        // Start the handlers whose processor time is measured.
        for id in [Handlers.swift, Handlers.c] { _ = try await lane.rate(id, calls: 64) }
        var table = Table()
        var times = ProcessorTable()
        for number in 1...rounds {
            print("round \(number) of \(rounds)")
            fflush(nil)
            var figures: [Figure: Double] = [:]
            if isOnlyFlight {
                try await inFlight(bus, lane, floors, &figures, &times)
            } else {
                figures = try await round(bus, lane, floors, commands, &times)
            }
            table.add(figures)
        }
        table.print()
        times.print()
        let end = try router.residentMegabytes()
        // The router gives memory back once no burst has come for a few seconds.
        try await Task.sleep(for: .seconds(5))
        let megabytes = [memory, end, try router.residentMegabytes()].map { Int($0.rounded()) }
        print(
            "\nthe router's resident memory: at first \(megabytes[0]) MB, in the end \(megabytes[1]) MB, "
                + "five seconds later \(megabytes[2]) MB"
        )
        for id in [Handlers.swift, Handlers.other, Handlers.c, Handlers.sleeper] { try await bus.terminate(id) }
        router.end()
        floors.end()
        try directory.remove()
    }

    @MainActor
    private static func round(
        _ bus: Opener,
        _ lane: Opener,
        _ floors: Floors,
        _ commands: Commands,
        _ times: inout ProcessorTable
    ) async throws -> [Figure: Double] {
        var round: [Figure: Double] = [:]
        round[.echo] = try floors.time(Floors.service, calls: 1000)
        round[.routed] = try floors.time(Floors.router, calls: 1000)
        round[.lane] = try await lane.time(by: [Handlers.swift], calls: 1000)
        round[.laneC] = try await lane.time(by: [Handlers.c], calls: 1000)
        round[.open] = try floors.open(Handlers.swift, calls: 1000).microseconds
        round[.openC] = try floors.open(Handlers.c, calls: 1000).microseconds
        round[.openFromMainActor] = try await timeFromMainActor(calls: 1000)
        round[.alternating] = try await bus.time(by: [Handlers.swift, Handlers.other], calls: 500)
        round[.wake] = try await bus.wake(Handlers.sleeper, times: 15)
        round[.longLane] = try await lane.timeOfLongURL(Handlers.swift, calls: 300)
        round[.long] = try floors.open(Handlers.swift, calls: 300, bytes: Handlers.longBytes).microseconds
        try await inFlight(bus, lane, floors, &round, &times)
        round[.callersRate] = try floors.open(Handlers.swift, calls: 3200, window: 100, callers: 100).rate
        round[.callersRateC] = try floors.open(Handlers.c, calls: 3200, window: 100, callers: 100).rate
        round[.manyEchoRate] = try floors.rate(Floors.service, calls: 10_240, window: 1024)
        round[.manyLaneRate] = try await lane.rate(Handlers.swift, calls: 10_240, window: 1024)
        round[.manyOpenRate] = try floors.open(Handlers.swift, calls: 10_240, window: 1024).rate
        round[.manyOpenRateC] = try floors.open(Handlers.c, calls: 10_240, window: 1024).rate
        round[.burstInC] = try floors.burst(1000)
        round[.burst] = try await bus.burst(1000)
        return round.merging(try await commands.times(bus, runs: 10)) { $1 }
    }

    /// Measures rates and processor times with 64 calls in flight.
    @MainActor
    private static func inFlight(
        _ bus: Opener,
        _ lane: Opener,
        _ floors: Floors,
        _ round: inout [Figure: Double],
        _ times: inout ProcessorTable
    ) async throws {
        let calls = 3200
        let router = RouterService.name
        var measured: [Figure: (result: Double, time: ProcessorTime)] = [:]
        measured[.echoRate] = try await bus.connection.measure(calls: calls, handler: Floors.service) {
            try floors.rate(Floors.service, calls: calls)
        }
        measured[.routedRate] = try await bus.connection.measure(
            calls: calls,
            router: Floors.router,
            handler: Floors.service
        ) {
            try floors.rate(Floors.router, calls: calls)
        }
        measured[.laneRate] = try await bus.connection.measure(
            calls: calls,
            router: router,
            handler: Handlers.busName(Handlers.swift)
        ) {
            try await lane.rate(Handlers.swift, calls: calls)
        }
        let opens = [
            (Figure.openRate, Handlers.swift, true), (.openRateC, Handlers.c, true), (.shortRateC, Handlers.c, false),
        ]
        for (figure, id, hasOptions) in opens {
            measured[figure] = try await bus.connection.measure(
                calls: calls,
                router: router,
                handler: Handlers.busName(id)
            ) {
                try floors.open(id, calls: calls, window: 64, hasOptions: hasOptions).rate
            }
        }
        round.merge(measured.mapValues(\.result)) { $1 }
        times.add(measured.mapValues(\.time))
    }

    /// Returns the median in microseconds for a program whose code runs on the main actor and whose client has its own
    /// loop.
    @MainActor
    private static func timeFromMainActor(calls: Int) async throws -> Double {
        let client = try await OpenURLClient()
        let url = try GenericURL(Handlers.url(Handlers.swift))
        _ = try await client.open(url)
        var taken: [Double] = []
        for _ in 0..<calls {
            let start = ContinuousClock.now
            _ = try await client.open(url)
            taken.append((ContinuousClock.now - start) / .microseconds(1))
        }
        await client.close()
        return median(taken)
    }
}
