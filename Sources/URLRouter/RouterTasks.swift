/// Starts tasks and makes closures in the router's isolation, for the parts of the router.
///
/// A part is not Sendable, so the compiler lets only the actor itself start a task that uses the part.
struct RouterTasks {
    private weak var router: URLRouter?

    init(of router: URLRouter) {
        self.router = router
    }

    /// Starts a task on the router's actor and runs it up to its first suspension. Call it in the router's isolation.
    ///
    /// A timer may outlive its router, in which case nothing is started. No request is lost: a request keeps its router.
    @discardableResult
    func start(_ body: @escaping () async -> Void) -> Task<Void, Never>? {
        // The body was made in the router's isolation and stays there. The compiler cannot see that, because a closure's type
        // does not name its isolation; `assumeIsolated` checks it at run time.
        nonisolated(unsafe) let body = body
        return router?.assumeIsolated { $0.start(body) }
    }

    /// Makes a closure that code outside of the router calls on the event loop. A closure that outlives the router does nothing.
    func onLoop(_ body: @escaping () -> Void) -> @Sendable () -> Void {
        // The body stays in the router's isolation, as in ``start(_:)``.
        nonisolated(unsafe) let body = body
        return { [weak router] in router?.assumeIsolated { _ in body() } }
    }
}
