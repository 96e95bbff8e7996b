import Reactor
import Testing

@Suite(.timeLimit(.minutes(10))) struct DebouncerTests {
    @Test func burstCausesOneAction() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let count: Int = await onLoop(loop) { done in
            var count = 0
            let debouncer = Debouncer(on: loop, quiet: .milliseconds(5), limit: .seconds(60)) {
                count += 1
                // A second action of the same burst would run before this timer.
                if count == 1 { loop.schedule(at: .now + .milliseconds(20)) { done(count) } }
            }
            for _ in 0..<1000 { debouncer.signal() }
        }
        #expect(count == 1)
    }

    @Test func longBurstRunsTheActionBeforeItsEnd() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let signals: Int = await onLoop(loop) { done in
            var signals = 0
            var isDone = false
            let debouncer = Debouncer(on: loop, quiet: .seconds(600), limit: .milliseconds(10)) {
                isDone = true
                done(signals)
            }
            func goOn() {
                if isDone { return }
                signals += 1
                debouncer.signal()
                loop.schedule(at: .now + .milliseconds(1)) { goOn() }
            }
            goOn()
        }
        #expect(signals > 1)
    }

    @Test func eachBurstCausesAnAction() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        await onLoop(loop) { (done: @escaping (()) -> Void) in
            var count = 0
            var debouncer: Debouncer?
            debouncer = Debouncer(on: loop, quiet: .milliseconds(1), limit: .seconds(60)) {
                count += 1
                guard count == 3 else {
                    debouncer?.signal()
                    return
                }
                debouncer = nil
                done(())
            }
            debouncer?.signal()
        }
    }

    @Test func cancelledDebouncerRunsNoAction() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let count: Int = await onLoop(loop) { done in
            var count = 0
            let debouncer = Debouncer(on: loop, quiet: .milliseconds(1), limit: .milliseconds(1)) { count += 1 }
            debouncer.signal()
            debouncer.cancel()
            loop.schedule(at: .now + .milliseconds(10)) { done(count) }
        }
        #expect(count == 0)
    }
}
