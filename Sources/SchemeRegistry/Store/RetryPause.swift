/// The time until something is tried again. It doubles from one attempt to the next, up to a limit.
package struct RetryPause: Sendable {
    private let first: Duration
    private let longest: Duration
    private var current: Duration

    /// Creates the pauses, of which the first one is the shortest.
    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        current = first
    }

    /// Returns the time until the next attempt.
    mutating func next() -> Duration {
        defer { current = min(current * 2, longest) }
        return current
    }

    /// Begins with the first time again, after an attempt that has succeeded.
    mutating func reset() { current = first }
}
