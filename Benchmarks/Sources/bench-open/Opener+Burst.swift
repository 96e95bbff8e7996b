import Glibc
import OpenURLBus
import Programs

extension Opener {
    /// Returns the milliseconds for `count` opens at once with a handler that does not run yet. A single process must
    /// receive all URLs in order.
    func burst(_ count: Int, log: String) async throws -> Double {
        unlink(log)
        let start = ContinuousClock.now
        let opens = (0..<count).map { number in
            Task.immediate(executorPreference: connection.loop) { try await open(Handlers.burst, number) }
        }
        var processes: Set<String> = []
        for open in opens {
            guard let pid = try await open.value.reply["pid"] else { throw BenchmarkError("no process has answered") }
            processes.insert("\(pid)")
        }
        let taken = ContinuousClock.now - start

        let lines = try contents(of: log).split(separator: "\n")
        let started = lines.filter { $0.hasPrefix("start ") }.count
        guard started == 1, processes.count == 1 else {
            throw BenchmarkError("\(started) processes were started, \(processes.count) have answered")
        }
        let opened = lines.filter { $0.hasPrefix("open ") }
        guard opened == (0..<count).map({ "open \(Handlers.url(Handlers.burst, $0))" }) else {
            throw BenchmarkError("the URLs of the burst did not all arrive in order")
        }
        try await terminate(Handlers.burst)
        return taken / .milliseconds(1)
    }
}
