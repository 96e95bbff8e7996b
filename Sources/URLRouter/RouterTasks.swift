/// Starts tasks and makes closures in the router's isolation, for the parts of the router.
///
/// Parts are not Sendable, so the compiler lets only the actor itself start a task that uses one.
struct RouterTasks {
    private weak var router: URLRouter?

    init(of router: URLRouter) {
        self.router = router
    }

    /// Starts a task on the router's actor, and runs it up to its first suspension. Call this in the router's
    /// isolation.
    ///
    /// A timer that outlives its router starts nothing. No request is lost this way, because a request keeps its router
    /// alive.
    @discardableResult
    func start(_ body: @escaping () async -> Void) -> Task<Void, Never>? {
        // The body was made in the router's isolation and stays there. The compiler cannot see this, because a
        // closure's type does not include its isolation, so `assumeIsolated` checks it at run time.
        nonisolated(unsafe) let body = body
        return router?.assumeIsolated { $0.start(body) }
    }

    /// Makes a closure that code outside the router can call on the event loop. The closure does nothing once the
    /// router is released.
    func onLoop(_ body: @escaping () -> Void) -> @Sendable () -> Void {
        // As in ``start(_:)``, the body stays in the router's isolation.
        nonisolated(unsafe) let body = body
        return { [weak router] in router?.assumeIsolated { _ in body() } }
    }
}
