import CAllocations
import Glibc

/// One kind of work to do on every input of the corpus.
struct Subject {
    let name: String
    let inputs: Int
    /// Does the work on all inputs. Every result is part of the sum, so that the compiler cannot remove the work.
    let run: () throws -> Int
}

/// The times of one subject for one input, by round.
struct Measurement {
    var nanoseconds: [Double] = []
    var allocations = 0.0

    var medianNanoseconds: Double { median(nanoseconds) }

    /// Returns the median of the ratios of each round. Even if the machine's speed changes, the two times of a round
    /// are comparable.
    func ratio(to other: Measurement) -> Double {
        median(zip(nanoseconds, other.nanoseconds).map { $0 / $1 })
    }

    private func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }
}

/// Measures all subjects in turn, `rounds` times.
///
/// The clock is the thread's CPU time, so waiting for a processor does not count.
func measure(_ subjects: [Subject], rounds: Int) throws -> [String: Measurement] {
    var results: [String: Measurement] = [:]
    var sink = 0
    for _ in 0..<max(rounds, 1) {
        for subject in subjects {
            let allocations = allocations_so_far()
            let start = threadNanoseconds()
            sink &+= try subject.run()
            let time = threadNanoseconds() - start
            let count = allocations_so_far() - allocations
            results[subject.name, default: Measurement()].nanoseconds.append(time / Double(subject.inputs))
            results[subject.name]?.allocations = Double(count) / Double(subject.inputs)
        }
    }
    withExtendedLifetime(sink) {}
    return results
}

private func threadNanoseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
