import DBus
import Glibc
import OpenURL
import OpenURLBus
import Programs
import RFC1808
import Reactor

/// Compares the times of opening URLs with minimal C programs, in the same run on the same bus. Usage:
/// `dbus-run-session -- bench-open DIRECTORY [ROUNDS]`, where the directory holds openurl's programs.
///
/// Each round measures every program once, so that other load on the machine affects all of them.
@main
struct BenchOpen {
    @MainActor
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1 else { exit(64) }
        let rounds = arguments.count > 2 ? max(1, Int(arguments[2]) ?? 1) : 9
        let programs = arguments[1]
        let directory = try RouterDirectory()
        try Handlers.add(to: directory, testHandler: "\(programs)/testhandler")
        let connection = try await Connection.open(on: EventLoop())
        let router = try await directory.startRouter("\(programs)/openurld", on: connection)
        let memory = try router.residentMegabytes()
        let floors = try Floors()
        let opener = Opener(connection)
        let commands = Commands(openurl: "\(programs)/openurl")

        var table = Table()
        for number in 1...rounds {
            print("round \(number) of \(rounds)")
            fflush(nil)
            table.add(try await round(opener, floors, commands, log: Handlers.burstLog(directory)))
        }
        table.print()
        let megabytes = [memory, try router.residentMegabytes()].map { Int($0.rounded()) }
        print("\nthe router's resident memory: at first \(megabytes[0]) MB, in the end \(megabytes[1]) MB")
        for id in [Handlers.swift, Handlers.other, Handlers.c, Handlers.sleeper] { try await opener.terminate(id) }
        router.end()
        floors.end()
        try directory.remove()
    }

    @MainActor
    private static func round(
        _ opener: Opener,
        _ floors: Floors,
        _ commands: Commands,
        log: String
    ) async throws -> [Figure: Double] {
        var round: [Figure: Double] = [:]
        (round[.echo], round[.echoRate]) = try floors.echo(calls: 1000)
        round[.open] = try await opener.time(by: [Handlers.swift], calls: 1000)
        round[.openRate] = try await opener.rate(Handlers.swift, calls: 3200)
        (round[.routed], round[.routedRate]) = try floors.routed(calls: 1000)
        round[.openC] = try await opener.time(by: [Handlers.c], calls: 1000)
        round[.openRateC] = try await opener.rate(Handlers.c, calls: 3200)
        round[.openFromMainActor] = try await timeFromMainActor(calls: 1000)
        round[.alternating] = try await opener.time(by: [Handlers.swift, Handlers.other], calls: 500)
        round[.wake] = try await opener.wake(Handlers.sleeper, times: 15)
        round[.burstInC] = try floors.burst(1000)
        round[.burst] = try await opener.burst(1000, log: log)
        return round.merging(try await commands.times(opener, runs: 10)) { $1 }
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
