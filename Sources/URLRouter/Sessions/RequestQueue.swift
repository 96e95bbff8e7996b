internal import DBus
internal import DequeModule
internal import OpenURLBus

/// Requests for one handler: those that are waiting, and those that the process has in hand.
///
/// They are delivered in the order of arrival, with one exception: an application with more than ``many`` requests lets
/// other applications' requests pass, and all such applications together have at most ``manyInHand`` requests in hand.
/// A queue belongs to the router's actor.
struct RequestQueue {
    private(set) var waiting: Deque<OpenRequest> = []
    /// Requests that the process has in hand, by their numbers.
    private(set) var inHand: [UInt64: OpenRequest] = [:]
    /// Number of requests that were granted while their task was suspended, and whose task has not continued yet.
    private var resuming = 0
    /// Requests that are waiting or in hand, by the applications from which they come.
    private var shares: Shares<String>
    /// The last request's number in the order of arrival.
    private var lastNumber: UInt64 = 0
    /// The last request's number in the order in which the handler gets them.
    private(set) var lastSendNumber: UInt64 = 0
    private let many: Int
    private let manyInHand: Int
    /// Number of requests that were granted as one of many, and are not answered yet.
    private var grantedOfMany = 0

    init(_ limits: RouterLimits) {
        shares = Shares(limit: limits.waitingPerHandler)
        many = limits.manyRequests
        manyInHand = limits.manyInHand
    }

    // MARK: Counts

    /// Charges an application for a request, until ``uncount(_:)``.
    ///
    /// - Returns: why there is no room, worded to continue a sentence about the handler.
    mutating func count(_ request: OpenRequest, to account: String) -> String? {
        if request.isCounted, request.account == account { return nil }
        uncount(request)
        if let refusal = shares.take(1, for: account) {
            return refusal == .isFull
                ? "\(shares.limit) URLs are already waiting; try again later"
                : "\(shares[account]) URLs of \(account) are already waiting, and one sender gets at most half of what is left"
        }
        request.account = account
        request.isCounted = true
        return nil
    }

    /// Stops charging the application for a request.
    mutating func uncount(_ request: OpenRequest) {
        if request.isCounted { shares.remove(1, from: request.account) }
        request.isCounted = false
    }

    // MARK: Order

    /// Returns the next request's number in the order of arrival.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Whether no request is waiting, is about to be delivered, or is in hand.
    var isEmpty: Bool { waiting.isEmpty && resuming == 0 && inHand.isEmpty }

    /// Inserts a request at its place. This is the end, unless it was in the queue before.
    mutating func insert(_ request: OpenRequest) {
        endTurn(request)
        request.turn = .waiting
        // Thousands may be waiting, and nearly every request belongs at the end.
        let later = waiting.reversed().prefix { $0.number > request.number }.count
        waiting.insert(request, at: waiting.endIndex - later)
    }

    /// Removes a waiting request.
    mutating func remove(_ request: OpenRequest) {
        endTurn(request)
        waiting.removeAll { $0 === request }
    }

    /// Grants those waiting requests that may go now to the owner of the handler's name, in order.
    mutating func grant(to owner: BusName) {
        while let index = next, case let request = waiting[index], request.isComplete, !closesCircle(request) {
            // If a request has just arrived, its task continues immediately, but a suspended task continues only in a
            // later job of the loop. So make the new one wait, or it would overtake the suspended ones.
            if case .suspended = request.turn { resuming += 1 } else if resuming > 0 { return }
            waiting.remove(at: index)
            if isOneOfMany(request.account) {
                grantedOfMany += 1
                request.isOneOfMany = true
            }
            request.resolve(.success(owner))
        }
    }

    /// Index of the first request that may go.
    private var next: Int? {
        guard let first = waiting.first else { return nil }
        if grantedOfMany < manyInHand || !isOneOfMany(first.account) { return 0 }
        // One application may have thousands of requests, so don't look through them needlessly.
        guard shares.contains(where: { $1 <= many }) else { return nil }
        return waiting.firstIndex { !isOneOfMany($0.account) }
    }

    private func isOneOfMany(_ account: String) -> Bool { shares.total > many && shares[account] > many }

    private mutating func endTurn(_ request: OpenRequest) {
        guard request.isOneOfMany else { return }
        grantedOfMany -= 1
        request.isOneOfMany = false
    }

    /// Notes that a granted request's task continues.
    ///
    /// - Returns: whether the next requests may be granted now.
    mutating func resumed() -> Bool {
        resuming -= 1
        return resuming == 0
    }

    /// Fails all waiting requests.
    mutating func fail(_ error: OpenURLError) {
        // This includes requests whose sender is still being looked up. When their turn comes, they find it refused.
        let failed = waiting
        waiting = []
        for request in failed { request.resolve(.failure(error)) }
    }

    mutating func take(inHand request: OpenRequest) {
        request.sendNumber = .max
        inHand[request.number] = request
    }

    /// Notes that a request in hand is being sent to the process, which may be later than for a request that arrived
    /// after it.
    mutating func send(_ request: OpenRequest) {
        lastSendNumber += 1
        request.sendNumber = lastSendNumber
    }

    mutating func release(_ request: OpenRequest) {
        inHand[request.number] = nil
        endTurn(request)
    }

    /// Returns whether a request follows from one that the handler has in hand. Because a handler opens one URL after
    /// another, the two would wait for each other.
    func closesCircle(_ request: OpenRequest) -> Bool {
        var cause = request.cause
        while let link = cause {
            if inHand[link.number] === link { return true }
            cause = link.cause
        }
        return false
    }

    /// Returns the request in hand with this name.
    func inHand(named name: String) -> OpenRequest? { inHand.values.first { $0.id == name } }

    /// Returns whether the process gets one request before another.
    private static func isEarlier(_ one: OpenRequest, _ other: OpenRequest) -> Bool {
        (one.sendNumber, one.number) < (other.sendNumber, other.number)
    }

    /// The request in hand that the process got first.
    var firstInHand: OpenRequest? { inHand.values.min(by: Self.isEarlier) }

    /// Returns whether the process has a request in hand that it got before the given one.
    func isBehindAnother(_ request: OpenRequest) -> Bool {
        inHand.values.contains { Self.isEarlier($0, request) }
    }

    /// Notes that the process hangs, and will exit without having begun any of the requests in hand but the first.
    func redeliverAllButFirst() {
        for request in inHand.values.sorted(by: Self.isEarlier).dropFirst() {
            request.isUnbegun = true
            request.wasBehindHang = true
        }
    }

    /// Notes that the process hangs with earlier requests than those that are waiting.
    func holdUpWaiting() {
        for request in waiting { request.wasBehindHang = true }
    }

    /// Whether the process has a URL in hand.
    var isOpening: Bool {
        inHand.values.contains { $0.purpose == .open }
    }

    /// Whether the process has a request in hand that has woken it.
    var isWaking: Bool {
        inHand.values.contains { $0.purpose == .wake }
    }

    /// The request in hand with the longest chain of openings behind it.
    var deepestInHand: OpenRequest? {
        inHand.values.max { $0.context.hops < $1.context.hops }
    }
}
