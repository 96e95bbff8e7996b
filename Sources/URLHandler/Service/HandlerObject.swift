internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import RFC1808
internal import Reactor

/// The D-Bus object that a handler exports.
struct HandlerObject: Sendable {
    let application: Application
    let queue: EventQueue
    let blackboard: WatchdogBlackboard
    let routers: Routers
    /// The programs that may send URLs.
    let reach: HandlerReach
    let suspension: Suspension
    let urls = ArrivedURLs()
    let desktop = DesktopActivation()
    let loop: EventLoop
    /// Called for each URL that arrives over the bus.
    let cameOnBus: @Sendable () -> Void

    var interfaces: [ExportedInterface] {
        [
            ExportedInterface(
                HandlerInterface.name,
                [
                    .method(answering: HandlerInterface.open) { call, input, answer in
                        open(input.url, input.context, call, answer)
                    },
                    routed(HandlerInterface.cancel) { name in
                        // This bypasses the queue, because the URL may be waiting there.
                        urls.cancel(name)
                        return Empty()
                    },
                    routed(HandlerInterface.wake) { context in
                        let outcome = try await queue.run { [application] in await application.wake(context).outcome }
                        return try outcome.get()
                    },
                    routed(HandlerInterface.resignActive) { _ in try await handle(.resignActive) },
                    routed(HandlerInterface.becomeActive) { _ in try await handle(.becomeActive) },
                    routed(HandlerInterface.enterBackground) { _ in try await handle(.enterBackground) },
                    // No other process would wake the handler again.
                    routed(HandlerInterface.suspend) { lifeline in try await suspension.begin(lifeline) },
                    routed(HandlerInterface.receiveMemoryWarning) { _ in try await handle(.receiveMemoryWarning) },
                    routed(HandlerInterface.expireBackgroundTasks) { _ in
                        // This bypasses the queue, because the queue may be busy with the work that the task is waiting
                        // for.
                        await application.backgroundTasks.expire()
                        return Empty()
                    },
                    routed(HandlerInterface.notify) { notifications in try await handle(.notify, notifications) },
                    .property(HandlerInterface.state) { blackboard.state.rawValue },
                    routed(HandlerInterface.progress) { _ in
                        let phase = blackboard.phase
                        return Arguments(phase.name, phase.microseconds)
                    },
                    routed(HandlerInterface.terminate) { _ in
                        kill(getpid(), SIGTERM)
                        return Empty()
                    },
                    routed(HandlerInterface.check) { _ in
                        // This bypasses the queue, because the queue is waiting for the event that the router asks
                        // about.
                        await MainActor.run { Empty() }
                    },
                ]
            ),
            ExportedInterface(
                FreedesktopApplication.name,
                [
                    .method(FreedesktopApplication.activate) { call, platformData in
                        var tokens = FreedesktopApplication.options(platformData)
                        var clicked: LocalNotification?
                        if routers.contains(call.sender) {
                            clicked = try FreedesktopApplication.notification(platformData)
                            if let taken = desktop.takeTokens(), platformData.isEmpty { tokens = taken }
                        } else if try await desktop.passOn(application.identifier, tokens, call.connection) {
                            return Empty()
                        }
                        return try await handle(.activate, tokens: tokens, clicked: clicked)
                    },
                    .method(FreedesktopApplication.open) { call, input in
                        try checkReach(of: call.sender)
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
                                _ = try await withCheckedThrowingContinuation { result in
                                    open(text, context, call) { result.resume(with: $0) }
                                }
                            } catch {
                                failure = failure ?? error
                            }
                            // The first URL has used them.
                            (context.activationToken, context.desktopStartupID) = (nil, nil)
                        }
                        if let failure { throw failure }
                        return Empty()
                    },
                ]
            ),
        ]
    }

    private func open(
        _ text: String,
        _ told: OpenContext,
        _ call: IncomingCall,
        _ answer: @escaping ExportedInterface.Member.Answer<OpenAnswer>
    ) {
        do {
            try checkReach(of: call.sender)
            if call.sender != RouterService.name { cameOnBus() }
            var context = routers.verified(told, from: call.sender)
            try takeDescriptors(&context)
            let arrived = arrived(context, call)
            let event = OpenEvent(try url(text), context, arrived)
            // If the main actor is on another thread, it usually finishes before this thread could go to sleep and wake
            // up again, so the loop polls first.
            loop.expectInput()
            if let arrived { urls.add(arrived) }
            do throws(EventQueue.Refusal) {
                // A closure that captured the whole object would have to retain all its parts.
                try queue.add { [application, urls] end in
                    application.open(event) { result in
                        end()
                        if let arrived { urls.remove(arrived) }
                        answer(result.mapError { $0 as any Error })
                    }
                }
            } catch {
                if let arrived { urls.remove(arrived) }
                throw error.answer
            }
        } catch {
            answer(.failure(error))
        }
    }

    private func url(_ text: String) throws(OpenURLError) -> GenericURL {
        do throws(GenericURL.ParseError) {
            return try GenericURL(text)
        } catch {
            throw OpenURLError(.malformedURL, String(describing: error))
        }
    }

    /// Takes over the annotation's descriptors. Otherwise, this thread would close them when the caller leaves, even
    /// while the delegate still uses them on the main actor.
    private func takeDescriptors(_ context: inout OpenContext) throws(OpenURLError) {
        guard let annotation = context.annotation else { return }
        guard let taken = annotation.takingDescriptors() else {
            throw OpenURLError(.cancelled, "the caller left the bus, which closed the annotation's descriptors")
        }
        context.annotation = taken
    }

    /// Returns a URL that the router may cancel; nil for a URL from another program.
    private func arrived(_ context: OpenContext, _ call: IncomingCall) -> ArrivedURL? {
        guard let request = context.requestID, let router = call.sender, routers.contains(router) else { return nil }
        let reports = RouterReports(call.connection, router: router, request: request)
        return ArrivedURL(request, on: loop, reports: reports)
    }

    private func handle(
        _ event: LifecycleEvent,
        _ notifications: [String: Value] = [:],
        tokens: OpenOptions = OpenOptions(),
        clicked: LocalNotification? = nil
    ) async throws -> Empty {
        _ = try await queue.run {
            await application.handle(event, notifications: notifications, tokens: tokens, clicked: clicked)
        }
        return Empty()
    }

    /// Creates a method that moves the handler through its life, which only a router may do.
    private func routed<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ body: @escaping @Sendable (Input) async throws -> Output
    ) -> ExportedInterface.Member {
        .method(method) { call, input in
            guard routers.contains(call.sender) else {
                let member = "\(method.name.rawValue) of \(application.identifier)"
                throw OpenURLError(.notAllowed, "only the router may call \(member); ask the router")
            }
            return try await body(input)
        }
    }

    /// If only certain programs may send URLs, refuses any URL that does not come from a router, because only a router
    /// knows the sender.
    private func checkReach(of caller: BusName?) throws(OpenURLError) {
        guard reach != .everyone, !routers.contains(caller) else { return }
        let message = "\(application.identifier) takes URLs only from the router"
        throw OpenURLError(.notAllowed, "\(message); open the URL with 'openurl' or org.openurl.Router1")
    }
}
