internal import Reactor
internal import SystemPackage

/// Reads and writes files on separate threads, so that the caller does not hang if a path leads to a file system that is not
/// responding.
package final class PatientReader: Sendable {
    /// One thread's attempt to read.
    private struct Attempt {
        /// The path that the thread has reached.
        var path: String
        var hasEnded = false
    }

    /// Attempts that made no progress, by path. While a thread is still waiting for a path, that path is not tried
    /// again.
    private let stuck = Lock<[String: Lock<Attempt>]>([:])
    /// How long a file system may take to respond for one path.
    private let patience: Duration
    /// Number of silent paths that one read waits for.
    private static let attempts = 4
    /// Maximum number of threads that wait for silent paths.
    private static let limit = 64

    /// Creates a reader that has found no silent path.
    package init(patience: Duration = .seconds(2)) {
        self.patience = patience
    }

    /// Runs a read operation. If a path does not respond, runs it again without that path.
    ///
    /// - Parameters:
    ///   - start: the first path to be read.
    ///   - work: the read operation. It gets the silent paths, which it must leave out, and a closure to call with each
    ///     path before reading it.
    /// - Returns: nil if the first path is not responding, if too many paths are not responding, or if no thread can be
    ///   started.
    func read<Result: Sendable>(
        _ start: String,
        _ work: @escaping @Sendable (_ silent: Set<String>, _ progress: (String) -> Void) -> Result
    ) -> Result? {
        for _ in 0..<Self.attempts {
            let silent = silentPaths()
            if silent.contains(start) || silent.count >= Self.limit { return nil }
            let attempt = Lock(Attempt(path: start))
            do throws(Errno) {
                let result = try HelperThread.wait(patience: patience) { progress in
                    work(silent) { path in
                        attempt.withLock { $0.path = path }
                        progress()
                    }
                } late: {
                    attempt.withLock { $0.hasEnded = true }
                }
                if let result { return result }
            } catch {
                return nil
            }
            stuck.withLock { $0[attempt.withLock(\.path)] = attempt }
        }
        return nil
    }

    private func silentPaths() -> Set<String> {
        stuck.withLock { stuck in
            stuck = stuck.filter { !$0.value.withLock(\.hasEnded) }
            return Set(stuck.keys)
        }
    }
}
