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
        let shown: GenericURL
        do throws(OpenURLError) {
            shown = signIn.port == nil ? try url.setting("redirect_uri", to: await wait.redirect.description) : url
        } catch {
            await wait.stop()
            throw error
        }
        let (events, event) = AsyncStream<Event>.makeStream()
        let opening = loop.startTask { [router] in
            do throws(OpenURLError) {
                try await router.open(shown)
                event.yield(.opened)
            } catch {
                event.yield(.failed(error))
            }
        }
        loop.startTask { event.yield(.ended(await wait.callbacks.first { _ in true })) }
        return try await withTaskCancellationHandler {
            await end(of: wait, events, opened)
        } onCancel: {
            opening.cancel()
            loop.execute { wait.assumeIsolated { $0.stop() } }
        }.get()
    }

    /// What happens while a callback is awaited.
    private enum Event: Sendable {
        /// The router has opened the URL.
        case opened
        case failed(OpenURLError)
        /// The wait has ended, with the callback or without one.
        case ended(GenericURL?)
    }

    /// Returns the last reply. A browser is often faster than the router, which waits for the end of the browser's command, so
    /// a callback shows too that the URL has been opened.
    private func end(
        of wait: LoopbackWait,
        _ events: AsyncStream<Event>,
        _ opened: () -> Void
    ) async -> Result<RelayReply, OpenURLError> {
        var isOpened = false
        for await event in events {
            switch event {
            case .opened:
                isOpened = true
                opened()
                await wait.stop(at: .now + limits.callbackTime)
            case .failed(let error):
                await wait.stop()
                return .failure(error)
            case .ended(let callback?):
                if !isOpened { opened() }
                return .success(.callback(callback))
            case .ended(nil): return .failure(OpenURLError(.timedOut, "no callback arrived within the time limit"))
            }
        }
        return .failure(OpenURLError(.cancelled, "the request was withdrawn"))
    }
}
