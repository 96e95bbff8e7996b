import Testing

@testable import DBus
@testable import URLRouter

/// The order in which suspended handlers end while memory is short.
@Suite struct SuspendedMemoryTests {
    private let now = ContinuousClock.now

    private func handler(_ id: BusName, _ megabytes: UInt64, suspendedFor seconds: Int) -> SuspendedMemory {
        SuspendedMemory(id: id, bytes: megabytes << 20, since: now - .seconds(seconds))
    }

    /// Returns the handlers in the order in which repeated reports end them.
    private func order(_ handlers: [SuspendedMemory]) -> [BusName] {
        var (left, order) = (handlers, [BusName]())
        while let next = SuspendedMemory.nextToEnd(of: left) {
            order.append(next.id)
            left.removeAll { $0 == next }
        }
        return order
    }

    @Test func nothingEndsWithoutASuspendedHandler() {
        #expect(SuspendedMemory.nextToEnd(of: []) == nil)
    }

    @Test func muchLargerHandlerEndsBeforeOneThatIsSuspendedLonger() {
        let handlers = [
            handler("a.small", 10, suspendedFor: 1000), handler("a.large", 100, suspendedFor: 1),
            handler("a.medium", 30, suspendedFor: 500),
        ]
        #expect(order(handlers) == ["a.large", "a.medium", "a.small"])
        #expect(handlers[1].reason(among: handlers) == "it is the largest")
    }

    @Test func longestSuspendedOfSimilarHandlersEndsFirst() {
        let handlers = [
            handler("a.new", 100, suspendedFor: 1), handler("a.old", 50, suspendedFor: 100),
            handler("a.middle", 60, suspendedFor: 10), handler("a.small", 49, suspendedFor: 1000),
        ]
        #expect(order(handlers) == ["a.old", "a.middle", "a.new", "a.small"])
        #expect(handlers[1].reason(among: handlers) == "it is the longest suspended of the 3 largest")
    }

    @Test func handlersOfUnknownSizeEndByTheTimeOfTheirSuspension() {
        #expect(order([handler("a.b", 0, suspendedFor: 1), handler("a.a", 0, suspendedFor: 2)]) == ["a.a", "a.b"])
    }
}
