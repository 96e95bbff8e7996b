internal import DBus
internal import Glibc
internal import OpenURLBus
internal import RFC1808
internal import Reactor

/// The D-Bus object that a handler exports.
struct HandlerObject: Sendable {
    let application: Application
    let queue: EventQueue
    let progress: Progress
    let routers: Routers
    let suspension: Suspension
    let loop: EventLoop

    var interfaces: [ExportedInterface] {
        [
            ExportedInterface(
                HandlerInterface.name,
                [
                    .method(HandlerInterface.open) { call, input in
                        try await open(input.values.0, input.values.1, call.sender)
                    },
                    .method(HandlerInterface.enterBackground) { _, _ in try await handle(.enterBackground) },
                    .method(HandlerInterface.suspend) { call, lifeline in try await suspend(call.sender, lifeline) },
                    .method(HandlerInterface.receiveMemoryWarning) { _, _ in try await handle(.receiveMemoryWarning) },
                    .method(HandlerInterface.expireBackgroundTasks) { _, _ in
                        // The call bypasses the queue: the queue may be busy with the work that the task waits for.
                        await application.backgroundTasks.expire()
                        return Empty()
                    },
                    .method(HandlerInterface.notify) { _, notifications in
                        try await handle(.notify, notifications)
                    },
                    .property(HandlerInterface.state) { progress.state.rawValue },
                    .method(HandlerInterface.progress) { _, _ in
                        let phase = progress.phase
                        return Arguments(phase.name, phase.microseconds)
                    },
                    .method(HandlerInterface.terminate) { call, _ in try terminate(call.sender) },
                    .method(HandlerInterface.check) { _, _ in
                        // The call bypasses the queue, which waits for the event that the router asks about.
                        await MainActor.run { Empty() }
                    },
                ]
            ),
            ExportedInterface(
                FreedesktopApplication.name,
                [
                    .method(FreedesktopApplication.activate) { _, _ in try await handle(.activate) },
                    .method(FreedesktopApplication.open) { call, input in
                        let options = FreedesktopApplication.options(input.values.1)
                        var context = OpenContext()
                        context.activationToken = options.activationToken
                        context.desktopStartupID = options.desktopStartupID
                        // Every URL is tried; the first error is the answer.
                        var failure: (any Error)?
                        for url in input.values.0 {
                            do {
                                // The desktop may pass on a URL that it has decoded for display.
                                let text = GenericURL.escapingForbiddenBytes(in: url.utf8)
                                _ = try await open(text, context, call.sender)
                            } catch {
                                failure = failure ?? error
                            }
                        }
                        if let failure { throw failure }
                        return Empty()
                    },
                ]
            ),
        ]
    }

    private func open(_ text: String, _ told: OpenContext, _ caller: BusName?) async throws -> OpenAnswer {
        let context = routers.verified(told, from: caller)
        let url: GenericURL
        do throws(GenericURL.ParseError) {
            url = try GenericURL(text)
        } catch {
            throw OpenURLError(.malformedURL, String(describing: error))
        }
        // The main actor usually finishes before this thread could go to sleep and wake up again, so the loop polls
        // first.
        loop.expectInput()
        return try await queue.run { try await application.open(url, context) }
    }

    private func handle(_ event: LifecycleEvent, _ notifications: [String: Value] = [:]) async throws -> Empty {
        _ = try await queue.run { await application.handle(event, notifications: notifications) }
        return Empty()
    }

    /// Ends the handler, if the caller is a router.
    private func terminate(_ caller: BusName?) throws -> Empty {
        guard routers.contains(caller) else {
            throw OpenURLError(.notAllowed, "\(application.identifier) is ended by the router alone")
        }
        kill(getpid(), SIGTERM)
        return Empty()
    }

    /// Suspends the handler, if the caller is a router. No other process would wake the handler again.
    private func suspend(_ caller: BusName?, _ lifeline: UnixFD) async throws -> Bool {
        guard routers.contains(caller) else {
            throw OpenURLError(.notAllowed, "\(application.identifier) is suspended by the router alone")
        }
        return try await suspension.begin(lifeline)
    }
}
