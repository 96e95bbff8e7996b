import DBus
import Glibc
import Reactor

/// The module beside the C program, in the same run on the same bus: `dbus-run-session -- compare-dbus [CALLS]`.
@main
struct CompareDBus {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "service": try await serve(arguments.dropFirst().first ?? "")
        case "client": try await client(Array(arguments.dropFirst()))
        default: print("soon")
        }
    }

    private static func serve(_ name: String) async throws {
        let connection = try await Connection.open(on: EventLoop())
        await connection.export([Exchange.exported], at: Exchange.path)
        guard try await connection.requestName(BusName(stringLiteral: name)) == .owned else {
            throw BenchmarkError.programFailed("the name is taken")
        }
        print("ready")
        fflush(nil)
        await connection.waitUntilClosed()
    }

    private static func client(_ arguments: [String]) async throws {
        let connection = try await Connection.open(on: EventLoop())
        let caller = Caller(connection, RemoteObject(BusName(stringLiteral: arguments[0]), Exchange.path))
        let (median, rate) = try await caller.measure(calls: Int(arguments[1]) ?? 1000, window: Int(arguments[2]) ?? 1)
        print(Int(median / .nanoseconds(1)), Int(rate))
    }
}
