internal import CLinux
internal import Reactor

/// Gives the memory of the start, and of a burst of requests, back to the system.
///
/// The objects of thousands of requests end in any order, so they leave holes all over the heap. The C library gives back only
/// the end of the heap by itself, and the router would keep most of the memory of its largest burst.
///
/// The object belongs to the router's actor.
final class FreedMemory {
    /// The number of requests after which the heap may have holes worth the work.
    private static let burst = 256

    private let loop: EventLoop
    private let delay: Duration
    private let giveBack: () -> Void
    /// The requests that have ended since the memory was given back.
    private var ended = 0
    private var timer: TimerID?

    /// - Parameters:
    ///   - delay: the time without another burst after which the memory is given back. The log keeps the facts about each request
    ///     for ``Monitor/logDelay``, and frees them then.
    ///   - giveBack: gives back the free memory; a call takes some milliseconds.
    init(
        on loop: EventLoop,
        after delay: Duration = Monitor.logDelay + .milliseconds(500),
        giveBack: @escaping () -> Void = { _ = malloc_trim(0) }
    ) {
        self.loop = loop
        self.delay = delay
        self.giveBack = giveBack
    }

    /// Notes the end of the start.
    func startEnded() {
        if timer == nil { start() }
    }

    /// Notes the end of a request.
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
