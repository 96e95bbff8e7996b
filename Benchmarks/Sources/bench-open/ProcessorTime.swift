import DBus
import Glibc
import Programs

/// The processor time of the programs that exchange messages, in microseconds for each call.
///
/// A rate depends on the number of processors: with one for each program, they work side by side. The processor time
/// depends on it less, and limits the rate of a machine that is busy with other work.
struct ProcessorTime {
    /// A program that takes part. They are in the order of the columns.
    enum Part: String, CaseIterable {
        case client, bus, router, handler
    }

    private(set) var parts: [Part: Double]

    /// The time of all programs.
    var all: Double { parts.values.reduce(0, +) }

    /// Measures the programs while `body` makes `calls` calls.
    ///
    /// This process counts as the client, together with programs that it starts and that exit meanwhile.
    static func measure<Result>(
        calls: Int,
        _ processes: [Part: pid_t],
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> (result: Result, time: ProcessorTime) {
        let before = try (processes.mapValues(time(of:)), ownTime())
        let result = try await body()
        let after = try (processes.mapValues(time(of:)), ownTime())
        var parts = after.0.merging(before.0) { $0 - $1 }
        parts[.client] = after.1 - before.1
        return (result, ProcessorTime(parts: parts.mapValues { $0 / Double(calls) }))
    }

    /// Returns the processor time that a process has used, in microseconds.
    private static func time(of pid: pid_t) throws -> Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            throw BenchmarkError("process \(pid) has no clock: errno \(errno)")
        }
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    private static func ownTime() throws -> Double {
        [RUSAGE_SELF, RUSAGE_CHILDREN].reduce(0) { sum, who in
            var usage = rusage()
            getrusage(who.rawValue, &usage)
            return sum
                + [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec) }
        }
    }
}

extension Connection {
    /// Measures the bus, the owners of names, and this process as the client, while `body` makes `calls` calls.
    func measure<Result>(
        calls: Int,
        router: BusName? = nil,
        handler: BusName,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> (result: Result, time: ProcessorTime) {
        var processes: [ProcessorTime.Part: pid_t] = [:]
        processes[.bus] = try await processID(of: "org.freedesktop.DBus")
        if let router { processes[.router] = try await processID(of: router) }
        processes[.handler] = try await processID(of: handler)
        return try await ProcessorTime.measure(calls: calls, processes, body)
    }

    private func processID(of name: BusName) async throws -> pid_t {
        guard let pid = try await credentials(of: name).pid else { throw BenchmarkError("\(name) has no process") }
        return pid_t(pid)
    }
}
