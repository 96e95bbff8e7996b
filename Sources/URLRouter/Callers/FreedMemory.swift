internal import CLinux
internal import Reactor

/// Returns memory to the system after startup, and after a burst of requests.
///
/// The objects of thousands of requests are freed in no particular order, which leaves holes all over the heap. By
/// itself, the C library returns only the end of the heap, so the router would keep most of the memory from its largest
/// burst.
///
/// This belongs to the router's actor.
final class FreedMemory {
    /// Number of requests after which the heap may have enough holes to be worth the work.
    private static let burst = 256

    private let loop: EventLoop
    private let delay: Duration
    private let giveBack: () -> Void
    /// Number of requests that have ended since memory was last given back.
    private var ended = 0
    private var timer: TimerID?

    /// - Parameters:
    ///   - delay: the time without another burst after which the memory is given back. It is longer than
    ///     ``Monitor/logDelay``, because the log keeps the facts about each request for that long, and frees them then.
    ///   - giveBack: gives back the free memory, which takes a few milliseconds.
    init(
        on loop: EventLoop,
        after delay: Duration = Monitor.logDelay + .milliseconds(500),
        giveBack: @escaping () -> Void = { _ = malloc_trim(0) }
    ) {
        self.loop = loop
        self.delay = delay
        self.giveBack = giveBack
    }

    /// Notes that startup is over.
    func startEnded() {
        if timer == nil { start() }
    }

    /// Notes that a request has ended.
    func requestEnded() {
        ended += 1
        if ended >= Self.burst, timer == nil { start() }
    }

    private func start() {
        let before = ended
        timer = loop.schedule(at: .now + delay) {
            self.timer = nil
            if self.ended - before >= Self.burst { return self.start() }
            self.ended = 0
            self.giveBack()
        }
    }
}
