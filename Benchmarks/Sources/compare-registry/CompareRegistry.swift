import DBus
import Glibc
import Programs
import Reactor
import SchemeRegistry

/// Compares the registry with GIO, for the same schemes in the same run. Usage: `dbus-run-session -- compare-registry
/// OPENURLD`.
///
/// Each size has manifests with a hundred schemes each and, for GIO, desktop entries with a hundred schemes each.
@main
struct CompareRegistry {
    static func main() async throws {
        guard let router = CommandLine.arguments.dropFirst().first else {
            throw BenchmarkError("usage: compare-registry OPENURLD [SCHEMES...]")
        }
        let sizes = CommandLine.arguments.dropFirst(2).compactMap { Int($0) }
        let connection = try await Connection.open(on: EventLoop())
        print("          openurl                                                     GIO")
        print(" schemes  lookup   register    first start   next starts   memory     first lookup   next   register")
        print("              ns         ms             ms            ms       MB              ms     µs         ms")
        for size in sizes.isEmpty ? [10, 1000, 10_000, 100_000] : sizes {
            let tree = try Tree(schemes: size)
            defer { tree.remove() }
            let lookup = try tree.lookup()
            let starts = try await tree.starts(of: router, on: connection)
            let gio = try tree.gio()
            print(
                column("\(size)", 8) + column(lookup, 8, 0) + column(starts.register, 11, 2)
                    + column(starts.first, 15, 1) + column(starts.next, 14, 1) + column(starts.memory, 9, 1)
                    + column(gio[0], 17, 2) + column(gio[1], 7, 0) + column(gio[2], 11, 1)
            )
        }
    }

    private static func column(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }

    private static func column(_ number: Double, _ width: Int, _ decimals: Int) -> String {
        let scale = [1.0, 10, 100][decimals]
        let rounded = (number * scale).rounded() / scale
        return column(decimals == 0 ? "\(Int(rounded))" : "\(rounded)", width)
    }
}

func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }

func milliseconds(since start: ContinuousClock.Instant) -> Double {
    (ContinuousClock.now - start) / .milliseconds(1)
}
