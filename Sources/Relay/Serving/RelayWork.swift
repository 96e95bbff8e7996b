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
    ///   - reply: called for each reply.
    func perform(
        _ request: RelayRequest,
        needsServer: Bool,
        reply: (RelayReply) -> Void
    ) async throws(OpenURLError) {
        switch request.verb {
        case .canOpen: reply(.canOpen(try await router.canOpen(request.url)))
        case .open:
            if needsServer, let signIn = SignIn(endingIn: request) {
                return try await serve(signIn, request.url, announcing: .openedWaiting, reply)
            }
            try await router.open(request.url, started: nil)
            reply(.opened)
        case .callback:
            if let signIn = SignIn(of: request.url) { return try await serve(signIn, request.url, reply) }
            reply(.callback(try await router.callback(of: request.url)))
        }
    }

    /// Opens a URL, and waits for its callback at a port of this machine. Only the one request that ends the sign-in goes
    /// to the far side, and only as a URL: the answer that the browser shows is the server's own.
    ///
    /// - Parameter opened: the reply that says that the URL was opened, if there is one.
    private func serve(
        _ signIn: SignIn,
        _ url: GenericURL,
        announcing opened: RelayReply? = nil,
        _ reply: (RelayReply) -> Void
    ) async throws(OpenURLError) {
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
        let shown: GenericURL
        do throws(OpenURLError) {
            shown = signIn.port == nil ? try url.setting("redirect_uri", to: await wait.redirect.description) : url
        } catch {
            await wait.stop()
            throw error
        }
        let (events, event) = AsyncStream<Event>.makeStream()
        // The request goes on if the callback is faster.
        let opening = loop.startTask { [router] in
            do throws(OpenURLError) {
                try await router.open(shown) { event.yield(.started) }
                event.yield(.opened)
            } catch {
                event.yield(.failed(error))
            }
        }
        loop.startTask { event.yield(.ended(await wait.callbacks.first { _ in true })) }
        return try await withTaskCancellationHandler {
            await end(of: wait, events, announcing: opened, reply)
        } onCancel: {
            opening.cancel()
            loop.execute { wait.assumeIsolated { $0.stop() } }
        }.get()
    }

    /// The events while a callback is awaited.
    private enum Event: Sendable {
        /// An application has been started with the URL.
        case started
        /// The URL was opened.
        case opened
        case failed(OpenURLError)
        /// The wait has ended, with the callback or without one.
        case ended(GenericURL?)
    }

    /// Waits for the end, and replies.
    ///
    /// A browser is often faster than its command, whose end the router waits for. A callback therefore passes as soon as
    /// the browser has been started, but never before: until then, the user or the policy may refuse the URL, and the far
    /// side must not get a way back for a URL that was not allowed.
    private func end(
        of wait: LoopbackWait,
        _ events: AsyncStream<Event>,
        announcing opened: RelayReply?,
        _ reply: (RelayReply) -> Void
    ) async -> Result<Void, OpenURLError> {
        var (isStarted, isOpened) = (false, false)
        var callback: GenericURL?
        for await event in events {
            switch event {
            case .started: isStarted = true
            case .opened:
                (isStarted, isOpened) = (true, true)
                if let opened { reply(opened) }
                await wait.stop(at: .now + limits.callbackTime)
            case .failed(let error):
                await wait.stop()
                return .failure(error)
            case .ended(nil): return .failure(OpenURLError(.timedOut, "no callback arrived within the time limit"))
            case .ended(let url?):
                callback = url
                // The router may be waiting for the browser.
                if !isStarted { await wait.stop() }
            }
            guard isStarted, let callback else { continue }
            if let opened, !isOpened { reply(opened) }
            reply(.callback(callback))
            await wait.stop()
            return .success(())
        }
        return .failure(OpenURLError(.cancelled, "the request was withdrawn"))
    }
}
