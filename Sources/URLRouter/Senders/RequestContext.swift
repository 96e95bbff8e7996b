internal import DBus
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// Who sent a request, and what the handler is told about it.
extension URLRouter {
    func source(of caller: BusName?) async -> OpenContext.Source {
        guard let caller else { return OpenContext.Source() }
        if let source = senders[caller] { return source }
        let credentials: Credentials?
        do throws(CallError) {
            credentials = try await bus.credentials(of: caller)
        } catch {
            // It has gone already. Its URL is delivered all the same, from an unknown sender.
            credentials = nil
        }
        let source = Senders.describe(caller, credentials)
        if credentials != nil { senders.add(caller, source) }
        return source
    }

    /// The handler that a process is, while it runs.
    func sendingSession(_ source: OpenContext.Source) -> HandlerSession? {
        guard let pid = source.pid else { return nil }
        return sessions.values.first { session in
            // What was started here is the handler before the bus has said whether it owns the name: it may send at once.
            guard let process = session.process, process.isChild || session.isVerified else { return false }
            return process.exit == nil && UInt32(exactly: process.pid) == pid
        }
    }

    func context(
        of request: OpenRequest,
        _ source: OpenContext.Source,
        for session: HandlerSession
    ) throws(OpenURLError) -> OpenContext {
        let sender = sendingSession(source)
        try checkSource(sender?.handler.id, mayOpen: session.handler)
        var context = OpenContext()
        request.cause = sender?.deepestInHand
        context.hops = try hops(from: source, sender)
        context.sourceApplication = sender?.id.rawValue
        context.source = source
        return complete(context, request)
    }

    /// The context of a request that was accepted before; what the handler's manifest allows may be something else by now.
    func context(
        of request: OpenRequest,
        accepted context: OpenContext,
        for session: HandlerSession
    ) throws(OpenURLError) -> OpenContext {
        var sender: BundleIdentifier?
        if let text = context.sourceApplication {
            do throws(BundleIdentifier.ParseError) {
                sender = try BundleIdentifier(text)
            } catch {
                throw OpenURLError(.notAllowed, "who sent it is unknown: \(error)")
            }
        }
        try checkSource(sender, mayOpen: session.handler)
        return complete(context, request)
    }

    private func complete(_ context: OpenContext, _ request: OpenRequest) -> OpenContext {
        var context = context
        context.annotation = request.options.annotation
        context.activationToken = request.options.activationToken
        context.desktopStartupID = request.options.desktopStartupID
        context.accepted = request.accepted
        return context
    }

    /// How many openings led to one by this sender: none, unless it is a handler or a command that was started for a URL.
    func hops(from source: OpenContext.Source, _ sender: HandlerSession?) throws(OpenURLError) -> UInt32 {
        let before = sender.map { $0.deepestInHand?.context?.hops ?? 0 } ?? source.pid.flatMap { commandHops[$0] }
        guard let before else { return 0 }
        guard before < limits.hops else {
            throw OpenURLError(.loopDetected, "\(before + 1) handlers in a row have opened each other")
        }
        return before + 1
    }
}

extension HandlerSession {
    /// The URL that it has in hand and that most openings led to.
    fileprivate var deepestInHand: OpenRequest? {
        inHand.values.max { ($0.context?.hops ?? 0) < ($1.context?.hops ?? 0) }
    }
}
