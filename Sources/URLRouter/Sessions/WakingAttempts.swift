internal import OpenURLBus
internal import SchemeRegistry

/// Attempts to deliver what is in the queue by waking a handler, or by bringing it to the foreground.
///
/// It belongs to the router's actor.
final class WakingAttempts {
    private let sessions: HandlerSessions
    private let monitor: Monitor
    /// The attempts in progress, by the deliveries' numbers in the queue.
    private var attempts: [Int64: (request: OpenRequest, session: HandlerSession)] = [:]

    init(_ sessions: HandlerSessions, _ monitor: Monitor) {
        self.sessions = sessions
        self.monitor = monitor
    }

    /// Tries once to wake a handler for a delivery.
    ///
    /// - Parameters:
    ///   - context: what the handler gets.
    ///   - id: the delivery's number in the queue.
    ///   - number: the number of the attempt, from 1.
    func wake(
        _ handler: Handler,
        _ context: WakeContext,
        for delivery: Delivery,
        _ id: Int64,
        _ number: Int
    ) async -> DeliveryAttempts.Result {
        let observed = monitor.observe(.wake, nil, attempt: number, at: delivery, named: "\(id)")
        let request = OpenRequest(waking: context, observed: observed)
        return await attempt(request, of: delivery, id, handler) { (session) throws(OpenURLError) in
            try await session.wake(request)
        }
    }

    /// Tries once to bring a handler to the foreground for a delivery, with the delivery's focus tokens. The parameters are
    /// those of ``wake(_:_:for:_:_:)``.
    func activate(
        _ handler: Handler,
        _ context: WakeContext,
        for delivery: Delivery,
        _ id: Int64,
        _ number: Int
    ) async -> DeliveryAttempts.Result {
        let observed = monitor.observe(.activate, nil, attempt: number, at: delivery, named: "\(id)")
        let request = OpenRequest(activatingWith: delivery.options, context, observed: observed)
        return await attempt(request, of: delivery, id, handler) { (session) throws(OpenURLError) in
            try await session.activate(request)
        }
    }

    private func attempt(
        _ request: OpenRequest,
        of delivery: Delivery,
        _ id: Int64,
        _ handler: Handler,
        _ send: (HandlerSession) async throws(OpenURLError) -> OpenResult
    ) async -> DeliveryAttempts.Result {
        request.account = delivery.caller
        let session = sessions.obtain(for: handler)
        attempts[id] = (request, session)
        defer { attempts[id] = nil }
        do throws(OpenURLError) {
            let result = try await send(session)
            request.observed?.end(nil)
            return .delivered(result)
        } catch {
            request.observed?.end(error)
            return .failed(error, wasHandedOver: request.wasHandedOver)
        }
    }

    /// Withdraws the attempt at a delivery that has been removed from the queue, if there is one.
    func withdraw(_ id: Int64) {
        guard let (request, session) = attempts[id] else { return }
        request.isDropped = true
        session.cancel(request)
    }
}
