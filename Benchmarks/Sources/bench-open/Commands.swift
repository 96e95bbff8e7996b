import Programs

/// Times of whole programs, from start to exit.
struct Commands {
    let openurl: String

    /// Runs each command in turn, `runs` times with cold opens in between. Results are medians in milliseconds.
    func times(_ opener: Opener, runs: Int) async throws -> [Figure: Double] {
        var taken: [Figure: [Double]] = [:]
        let url = Handlers.url(Handlers.swift)
        for _ in 0..<runs {
            try await opener.open(Handlers.swift)
            for (figure, program, arguments) in [
                (Figure.commandInC, Floors.program, ["open", url]),
                (.command, openurl, [url]),
                (.connect, Floors.program, ["connect"]),
                (.version, openurl, ["--version"]),
            ] {
                taken[figure, default: []].append(try time(program, arguments))
            }
            for (figure, id) in [(Figure.cold, Handlers.cold), (.coldC, Handlers.coldC)] {
                taken[figure, default: []].append(try await opener.time(id, .launched))
                try await opener.terminate(id)
            }
        }
        return taken.mapValues(median)
    }

    private func time(_ program: String, _ arguments: [String]) throws -> Double {
        let start = ContinuousClock.now
        try Program(program, arguments).finish()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }
}
