import CAllocations

/// One kind of work on every input of the corpus.
struct Subject {
    let name: String
    let inputs: Int
    /// Does the work on all inputs and returns a sum that depends on each result, so that none can be left out.
    let run: () throws -> Int
}

/// What one subject took.
struct Measurement {
    let nanoseconds: Double
    let allocations: Double
}

/// Measures all subjects in turn, `rounds` times, and gives the median time of each.
///
/// The subjects take turns, so that what else happens on the machine happens to all of them.
func measure(_ subjects: [Subject], rounds: Int) throws -> [String: Measurement] {
    let clock = ContinuousClock()
    var times: [String: [Double]] = [:]
    var allocations: [String: Double] = [:]
    var sink = 0
    for _ in 0..<rounds {
        for subject in subjects {
            let before = allocations_so_far()
            let time = try clock.measure { sink &+= try subject.run() }
            allocations[subject.name] = Double(allocations_so_far() - before) / Double(subject.inputs)
            times[subject.name, default: []].append(time / .nanoseconds(1) / Double(subject.inputs))
        }
    }
    withExtendedLifetime(sink) {}
    return times.reduce(into: [:]) { result, entry in
        let sorted = entry.value.sorted()
        result[entry.key] = Measurement(
            nanoseconds: sorted[sorted.count / 2],
            allocations: allocations[entry.key, default: 0]
        )
    }
}
