internal import DBus
internal import OpenURLBus

/// The call that a request comes from.
///
/// The call is a class, because every stage of the request keeps it. A call belongs to the router's actor.
final class RequestCall {
    /// The options of the caller.
    let options: OpenOptions
    /// The connection that called; nil without a bus.
    let caller: BusName?
    /// The size of the call's arguments, which is counted to the caller's application.
    let bytes: Int
    /// The number of descriptors in the call's arguments, which are counted as the bytes are.
    let descriptors: Int
    /// The name of the request, from the caller or from the router.
    let requestID: String
    /// The caller's way to cancel; nil if the caller has none.
    let stop: Stop?
    /// The copy that the URL names; nil for a URL of the caller.
    let copy: InboxCopy?
    /// The call that waits for the handler's answer; nil if the caller does not call.
    let waiting: WaitingCall?
    /// The request as others see it; nil if nobody looks.
    let observed: Observation?

    init(
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int,
        requestID: String,
        stop: Stop?,
        copy: InboxCopy?,
        waiting: WaitingCall?,
        observed: Observation?
    ) {
        self.options = options
        self.caller = caller
        self.bytes = bytes
        descriptors = options.annotation?.descriptorCount ?? 0
        self.requestID = requestID
        self.stop = stop
        self.copy = copy
        self.waiting = waiting
        self.observed = observed
    }
}

extension RequestCall {
    /// Performs a stage of the request.
    ///
    /// - Parameter withdraw: called at most once, if the caller cancels while `body` runs.
    /// - Throws: `cancelled` if the caller has cancelled already, and the errors of `body`.
    func during<Result>(
        _ withdraw: @escaping () -> Void,
        _ body: () async throws(OpenURLError) -> Result
    ) async throws(OpenURLError) -> Result {
        guard let stop else { return try await body() }
        return try await stop.during(withdraw, body)
    }
}
