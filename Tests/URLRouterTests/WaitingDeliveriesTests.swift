import Testing

@testable import URLRouter

/// The order of the queue.
@Suite struct WaitingDeliveriesTests {
    private let handler = "com.example.app"

    private func deliveries(many: Int, _ senders: [(String, ClosedRange<Int64>)]) -> WaitingDeliveries {
        var limits = RouterLimits()
        limits.manyRequests = many
        var deliveries = WaitingDeliveries(limits)
        for (sender, ids) in senders {
            for id in ids { deliveries.add(id, for: handler, of: sender) }
        }
        return deliveries
    }

    /// Takes all deliveries that are due, one after the other.
    private func order(of deliveries: WaitingDeliveries) -> [Int64] {
        var deliveries = deliveries
        var order: [Int64] = []
        while case .due(let due) = deliveries.next() {
            #expect(due.handler == handler)
            order.append(due.id)
            deliveries.end(due.id, of: handler)
        }
        #expect(deliveries.isIdle)
        return order
    }

    @Test func deliveriesKeepTheirOrder() {
        #expect(order(of: deliveries(many: 3, [("a", 1...2), ("b", 3...5), ("a", 6...6)])) == [1, 2, 3, 4, 5, 6])
    }

    @Test func senderWithManyLetsOthersPass() {
        let order = order(of: deliveries(many: 2, [("flood", 1...600), ("user", 601...602)]))
        #expect(order.prefix(5) == [1, 601, 2, 602, 3])
        #expect(order.count == 602)
    }

    @Test func sendersWithManyTakeTurns() {
        #expect(order(of: deliveries(many: 1, [("a", 1...3), ("b", 4...6)])) == [1, 4, 2, 3, 5, 6])
    }

    @Test func deliveryIsRemovedAndMadeDue() {
        var deliveries = deliveries(many: 1, [("a", 1...3)])
        deliveries.add(4, for: handler, of: "a", in: .seconds(50))
        deliveries.add(1, for: handler, of: "a", in: .seconds(50))
        deliveries.remove(2)
        #expect(order(of: deliveries) == [3])
        deliveries.makeDue(handler)
        #expect(order(of: deliveries) == [3, 1, 4])
        for id: Int64 in [1, 3, 4] { deliveries.remove(id) }
        guard case .none = deliveries.next() else {
            Issue.record("a removed delivery is waited for")
            return
        }
    }

    /// Takes the deliveries that can be taken without the end of another one.
    private func taken(from deliveries: inout WaitingDeliveries) -> [Int64] {
        var taken: [Int64] = []
        while case .due(let due) = deliveries.next() { taken.append(due.id) }
        return taken
    }

    @Test(arguments: [true, false]) func deliveryThatIsMadeDueKeepsItsOwnTime(_ withItsHandler: Bool) {
        var deliveries = WaitingDeliveries(RouterLimits())
        let own = ContinuousClock.now + .seconds(50)
        deliveries.add(1, for: handler, of: "a", in: .seconds(50))
        // The second time, it is due already.
        for _ in 1...2 {
            if withItsHandler { deliveries.makeDue(handler) } else { deliveries.makeDue(1) }
        }
        guard case .due(let due) = deliveries.next() else {
            Issue.record("the delivery is not due")
            return
        }
        #expect(due.id == 1 && due.ownTime >= own)
    }

    @Test(arguments: [true, false]) func deliveryIsNotMadeDueBeforeItMayBe(_ withItsHandler: Bool) {
        var deliveries = WaitingDeliveries(RouterLimits())
        let now = ContinuousClock.now
        let (earliest, own) = (now + .seconds(50), now + .seconds(100))
        deliveries.add(1, for: handler, of: "a", until: own, notBefore: earliest)
        for _ in 1...2 {
            if withItsHandler { deliveries.makeDue(handler) } else { deliveries.makeDue(1) }
        }
        guard case .notBefore(let time) = deliveries.next() else {
            Issue.record("the delivery is due")
            return
        }
        #expect(time == earliest)
    }

    @Test(arguments: [true, false]) func ownTimeIsKeptIfItComesFirst(_ withItsHandler: Bool) {
        var deliveries = WaitingDeliveries(RouterLimits())
        let now = ContinuousClock.now
        let (own, earliest) = (now + .seconds(50), now + .seconds(100))
        deliveries.add(1, for: handler, of: "a", until: own, notBefore: earliest)
        if withItsHandler { deliveries.makeDue(handler) } else { deliveries.makeDue(1) }
        guard case .notBefore(let time) = deliveries.next() else {
            Issue.record("the delivery is due")
            return
        }
        #expect(time == own)
    }

    @Test func hostHasSeveralDeliveriesInProgress() {
        var deliveries = WaitingDeliveries(RouterLimits())
        let host = "host:laptop"
        for id: Int64 in 1...50 { deliveries.add(id, for: host, of: "a") }
        let first = taken(from: &deliveries)
        #expect(first == Array(1...32))
        #expect(deliveries.isInProgress(7) && !deliveries.isInProgress(40))
        deliveries.end(7, of: host)
        #expect(taken(from: &deliveries) == [33])
        #expect(!deliveries.isIdle)
    }

    @Test func nothingIsTakenForAHostThatIsHeld() {
        var deliveries = WaitingDeliveries(RouterLimits())
        deliveries.add(1, for: "host:laptop", of: "a")
        deliveries.add(2, for: "host:desktop", of: "a")
        deliveries.hold("host:laptop")
        #expect(taken(from: &deliveries) == [2])
        deliveries.add(3, for: "host:laptop", of: "a")
        deliveries.makeDue("host:laptop")
        #expect(taken(from: &deliveries) == [1, 3])
    }
}
