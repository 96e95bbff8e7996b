internal import CLinux
internal import Reactor

/// Gives the memory of a burst of requests back to the system.
///
/// The objects of thousands of requests end in any order, so they leave holes all over the heap. The C library gives back only
/// the end of the heap by itself, and the router would keep most of the memory of its largest burst.
///
/// The object belongs to the router's actor.
final class FreedMemory {
    /// The number of requests after which the heap may have holes worth the work.
    private static let burst = 1024
    /// The number of unanswered requests above which the burst still goes on.
    private static let few = 64
    /// The time between a burst and the return of the memory. The next burst may come right after the first.
    private let delay: Duration

    private let loop: EventLoop
    private let giveBack: () -> Void
    private var ended = 0
    private var unanswered = 0
    private var timer: TimerID?

    /// - Parameter giveBack: gives back the free memory; a call takes some milliseconds.
    init(
        on loop: EventLoop,
        after delay: Duration = .seconds(2),
        giveBack: @escaping () -> Void = { _ = malloc_trim(0) }
    ) {
        self.loop = loop
        self.delay = delay
        self.giveBack = giveBack
    }

    /// Notes the end of a request.
    ///
    /// - Parameter unanswered: the number of requests that are left.
    func requestEnded(unanswered: Int) {
        ended += 1
        self.unanswered = unanswered
        if ended >= Self.burst { start() }
    }

    private func start() {
        timer = timer ?? loop.schedule(at: .now + delay) { self.timeOver() }
    }

    private func timeOver() {
        timer = nil
        // The end of the next request starts the time again.
        guard unanswered <= Self.few else { return }
        ended = 0
        giveBack()
    }
}
