internal import Glibc

/// Returns the time for which a closure has a processor. Other work of the machine does not count.
///
/// This is for work whose time would grow with the square of its input if a check were missing.
public func threadTime(of body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}
