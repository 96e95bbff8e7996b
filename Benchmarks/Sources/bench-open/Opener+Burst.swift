import DBus
import OpenURLBus
import Programs

extension Opener {
    /// Returns the milliseconds for `count` opens at once with a handler that is not running yet.
    ///
    /// A single process must receive all URLs in order, so the handler replies with the number of URLs before each one.
    func burst(_ count: Int) async throws -> Double {
        let start = ContinuousClock.now
        let opens = (0..<count).map { number in
            Task.immediate(executorPreference: connection.loop) { try await open(Handlers.burst, number) }
        }
        var places: [Value?] = []
        for open in opens { places.append(try await open.value.reply["place"]) }
        let taken = ContinuousClock.now - start
        guard places == (0..<UInt32(count)).map(Value.uint32) else {
            throw BenchmarkError("the URLs of the burst did not all reach one process in order")
        }
        try await terminate(Handlers.burst)
        return taken / .milliseconds(1)
    }
}
