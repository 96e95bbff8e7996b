internal import Loopback
internal import OpenURL
internal import OpenURLBus
internal import RFC1808
internal import Reactor

/// The work behind each request of a share.
struct RelayWork: Sendable {
    let router: any RelayedRouter
    let loop: EventLoop
    let limits: ShareLimits

    /// The lowest port at which a callback can arrive. Those below belong to the system.
    private static let lowestPort: UInt16 = 1024

    /// Performs a request.
    ///
    /// - Parameters:
    ///   - needsServer: whether the program's own server is out of the browser's reach.
    ///   - reply: called for a reply before the last.
    /// - Returns: the last reply.
    func perform(
        _ request: RelayRequest,
        needsServer: Bool,
        reply: (RelayReply) -> Void
    ) async throws(OpenURLError) -> RelayReply {
        switch request.verb {
        case .canOpen: return .canOpen(try await router.canOpen(request.url))
        case .open:
            guard needsServer, let signIn = SignIn(endingIn: request) else {
                try await router.open(request.url)
                return .opened
            }
            return try await serve(signIn, request.url) { reply(.openedWaiting) }
        case .callback:
            guard let signIn = SignIn(of: request.url) else {
                return .callback(try await router.callback(of: request.url))
            }
            return try await serve(signIn, request.url) {}
        }
    }

    /// Opens a URL, and waits for its callback at a port of this machine. Only the one request that ends the sign-in goes
    /// to the far side, and only as a URL: the answer that the browser shows is the server's own.
    private func serve(
        _ signIn: SignIn,
        _ url: GenericURL,
        opened: () -> Void
    ) async throws(OpenURLError) -> RelayReply {
        if let port = signIn.port, port < Self.lowestPort {
            throw OpenURLError(.notAllowed, "the callback's port \(port) belongs to the system")
        }
        let wait: LoopbackWait
        do throws(LoopbackError) {
            wait = try LoopbackWait(signIn.redirect, state: signIn.state, on: loop)
        } catch {
            throw OpenURLError(
                .launchFailed,
                "the callback cannot be received on the machine with the browser: \(error)"
            )
        }
        await wait.start()
        do throws(OpenURLError) {
            let shown = signIn.port == nil ? try url.setting("redirect_uri", to: await wait.redirect.description) : url
            try await router.open(shown)
        } catch {
            await wait.stop()
            throw error
        }
        opened()
        await wait.stop(at: .now + limits.callbackTime)
        let callback = await withTaskCancellationHandler {
            await wait.callbacks.first { _ in true }
        } onCancel: {
            loop.execute { wait.assumeIsolated { $0.stop() } }
        }
        guard let callback else { throw OpenURLError(.timedOut, "no callback arrived within the time limit") }
        return .callback(callback)
    }
}
