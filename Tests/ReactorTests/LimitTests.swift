import Glibc
import Reactor
import Testing

/// The loop's behaviour at the limits of the system and after its end.
@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    @Test func descriptorsAreSeenDespiteALowDescriptorLimit() async {
        // The limit applies to the whole process, so the test runs in a child process.
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let pairs = try (0..<40).map { _ in try socketPair() }
            let isSeen: Bool = await onLoop(loop) { done in
                var isDone = false
                func end(_ isSeen: Bool) {
                    if !isDone { done(isSeen) }
                    isDone = true
                }
                let watches = pairs.map { pair in loop.watch(pair.0, for: .readable) { _ in end(true) } }
                var limit = rlimit(rlim_cur: 20, rlim_max: 1024)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                _ = write(pairs[39].1, "x", 1)
                // This timer ends the test if the loop never sees the event.
                loop.schedule(at: .now + .seconds(20)) { end(false) }
                withExtendedLifetime(watches) {}
            }
            // A sanitizer may open descriptors when the process ends.
            var limit = rlimit(rlim_cur: 1024, rlim_max: 1024)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            exit(isSeen ? 0 : 1)
        }
    }

    @Test func timerThatRepeatsInThePastLetsOthersFire() async throws {
        let loop = try EventLoop()
        let rounds: Int = await onLoop(loop) { done in
            var rounds = 0
            var isDone = false
            func again() {
                rounds += 1
                // This branch ends the test if the other timer never fires.
                if rounds == 10_000 { done(rounds) }
                if !isDone, rounds < 10_000 { loop.schedule(at: .now - .seconds(3600), again) }
            }
            again()
            loop.schedule(at: .now) {
                isDone = true
                if rounds < 10_000 { done(rounds) }
            }
        }
        #expect(rounds < 10_000)
        loop.stop()
    }

    @Test func handlerMayCancelATimerThatIsDueAtTheSameTime() async throws {
        let loop = try EventLoop()
        let fired: [Int] = await onLoop(loop) { done in
            var fired: [Int] = []
            var second: TimerID?
            let past = ContinuousClock.now - .seconds(1)
            loop.schedule(at: past) {
                fired.append(1)
                if let second { loop.cancelTimer(second) }
                loop.schedule(at: past) { done(fired) }
            }
            second = loop.schedule(at: past) { fired.append(2) }
            loop.schedule(at: past) { fired.append(3) }
        }
        #expect(fired == [1, 3])
        loop.stop()
    }

    @Test func watchAndDebouncerMayOutliveTheirLoop() throws {
        var loop: EventLoop? = try EventLoop()
        let (a, b) = try socketPair()
        defer {
            close(a)
            close(b)
        }
        let ends = Ends()
        loop?.runOnCurrentThread(beginning: { [weak loop] in
            guard let loop else { return }
            let watch = loop.watch(a, for: .readable) { _ in }
            let debouncer = Debouncer(on: loop, quiet: .seconds(1), limit: .seconds(1)) {}
            debouncer.signal()
            ends.add {
                watch.isEnabled = false
                watch.events = .writable
                watch.cancel()
                debouncer.cancel()
                debouncer.signal()
            }
            loop.stop()
        })
        weak let gone = loop
        loop = nil
        #expect(gone == nil)
        #expect(ends.run() == 1)
    }

    @Test func threadHasAName() async throws {
        let loop = try EventLoop()
        let name = await loop.run {
            let file = open("/proc/thread-self/comm", O_RDONLY)
            defer { close(file) }
            var name = [UInt8](repeating: 0, count: 16)
            let count = read(file, &name, name.count)
            return String(decoding: name.prefix(count), as: UTF8.self)
        }
        #expect(name == "event loop\n")
        loop.stop()
    }
}

/// The closures that end the test's work. Only one thread may use an instance.
private final class Ends: @unchecked Sendable {
    private var ends: [() -> Void] = []

    func add(_ end: @escaping () -> Void) {
        ends.append(end)
    }

    /// - Returns: The number of closures.
    func run() -> Int {
        for end in ends { end() }
        return ends.count
    }
}
