internal import DBus
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// Claims on callbacks, each with its timer and its watch. Their schemes are published to the desktop.
///
/// This belongs to the router's actor.
final class Callbacks {
    /// Makes the desktop send URLs with the given schemes to the router. They include every scheme that is claimed. Of
    /// two calls, the one with the lower number is older, and its schemes are out of date.
    typealias Publisher = @Sendable (_ schemes: Set<String>, _ number: Int) async -> Void

    private let bus: any BusNames
    private let signals: any RouterSignals
    private let handles: RequestHandles
    let handlers: KnownHandlers
    let permissions: Permissions
    private let loop: EventLoop
    private let tasks: RouterTasks
    private(set) var claims: CallbackClaims
    private var ends: [ObjectPath: End] = [:]
    private var publications = 0
    private var lastToken: UInt64 = 0
    /// Whether the desktop sends the answers to calls to the router. This is true from the first call on.
    private var takesReplies = false
    /// Whether it already does, so that a call need not wait.
    private(set) var hasPublishedReplies = false
    /// Nil if nothing is published to the desktop.
    var publisher: Publisher?

    /// Everything that ends together with a claim.
    private struct End {
        let handle: RequestHandle
        let timer: RestartableTimer
        let watch: ConnectionWatch
        var isRefusalTold = false
    }

    init(
        _ bus: any BusNames,
        _ signals: any RouterSignals,
        _ handles: RequestHandles,
        _ handlers: KnownHandlers,
        _ permissions: Permissions,
        _ limits: RouterLimits,
        _ loop: EventLoop,
        _ tasks: RouterTasks
    ) {
        self.bus = bus
        self.signals = signals
        self.handles = handles
        self.handlers = handlers
        self.permissions = permissions
        self.loop = loop
        self.tasks = tasks
        claims = CallbackClaims(limits)
    }

    /// Makes a claim. Returns its handle as soon as the desktop sends the callback to the router. By then, the claim
    /// may have ended (``isWaiting(_:)``).
    ///
    /// - Throws: `alreadyClaimed`, `limitsExceeded`, and `InvalidArgs` if the token is in use.
    func add(
        _ pattern: CallbackPattern,
        state: String?,
        _ options: CallbackOptions,
        of owner: BusName,
        _ receiver: OpenContext.Source
    ) async throws -> RequestHandle {
        try claims.check(pattern, receiver.account)
        let handle = try handles.make(options.handleToken ?? nextToken(), for: owner)
        let path = handle.path
        handle.withdraw = { [unowned self] in
            fail(path, .closed, OpenURLError(.cancelled, "the program stopped waiting for the callback"))
        }
        claims.add(
            CallbackClaim(
                path: path,
                owner: owner,
                receiver: receiver,
                pattern: pattern,
                state: state,
                sources: options.answerFrom
            )
        )
        let timer = RestartableTimer(on: loop)
        let timeout = options.timeout ?? CallbackOptions.usualTimeout
        // This timer may outlive the router.
        timer.start(at: .now + timeout) { [weak self] in
            self?.fail(path, .failed, OpenURLError(.timedOut, "no callback arrived within \(timeout.inWords)"))
        }
        let watch = ConnectionWatch(on: bus) { [unowned self] in _ = remove(path) }
        ends[path] = End(handle: handle, timer: timer, watch: watch)
        do throws(OpenURLError) {
            try await watch.begin(owner, tasks)
        } catch {
            if isWaiting(handle) { remove(path) }
            throw error
        }
        await publish()
        return handle
    }

    /// Returns whether the claim with this handle has not ended. A later claim of the same program may have the same
    /// path.
    func isWaiting(_ handle: RequestHandle) -> Bool { ends[handle.path]?.handle === handle }

    private func nextToken() throws -> HandleToken {
        lastToken += 1
        guard let token = HandleToken(rawValue: "callback_\(lastToken)") else {
            throw RemoteError(.failed, "the router cannot make a token for the callback")
        }
        return token
    }

    /// Returns the claims on a URL whose programs may get it now.
    func claims(on url: GenericURL) -> [CallbackClaim] {
        claims.claims(on: url).filter { mayGet(url, $0) }
    }

    /// Hands a URL over to the owner of a claim, and ends the claim.
    func deliver(_ url: GenericURL, _ request: OpenRequest, to claim: CallbackClaim) -> OpenResult {
        var details = CallbackDetails()
        if let sender = request.sender { details.source = sender.source }
        details.sourceApplication = request.sender?.handler?.id.rawValue
        details.activationToken = request.options.activationToken
        end(claim.path, .received, url.description, details)
        return OpenResult(handler: CallbackInterface.handler, way: .callback, reply: [:], trace: [])
    }

    /// Ends a claim without a callback. If it has already ended, nothing happens.
    func fail(_ path: ObjectPath, _ code: CallbackEnd, _ error: OpenURLError) {
        var details = CallbackDetails()
        details.error = error.dbusError
        end(path, code, "", details)
    }

    /// Tells the programs waiting for a URL that it was refused, but only once for each claim.
    func tellRefusal(of url: GenericURL, _ error: OpenURLError) {
        for claim in claims(on: url) where ends[claim.path]?.isRefusalTold == false {
            ends[claim.path]?.isRefusalTold = true
            var details = CallbackDetails()
            // The error may quote a rule of the policy, which a confined program must not see.
            let isConfined = claim.receiver.callerClass.known?.isConfined ?? true
            details.error = (isConfined ? OpenURLError(error.code, "a callback was refused") : error).dbusError
            signals.refuse(details, from: claim.path, to: claim.owner)
        }
    }

    /// Ends every claim, and returns when the desktop no longer sends their callbacks to the router.
    func stop() async {
        for claim in claims.all {
            fail(claim.path, .failed, OpenURLError(.cancelled, "the router exited before a callback arrived"))
        }
        (takesReplies, hasPublishedReplies) = (false, false)
        // This is the last publication. Afterwards, the entry may be the next router's.
        let last = publisher
        publisher = nil
        publications += 1
        await last?([], publications)
    }

    /// Makes the desktop send the answers to calls to the router, and returns when it does.
    func publishReplies() async {
        takesReplies = true
        await publish()
        // Meanwhile, the router may have begun to exit.
        hasPublishedReplies = takesReplies && publisher != nil
    }

    private func end(_ path: ObjectPath, _ code: CallbackEnd, _ url: String, _ details: CallbackDetails) {
        guard let claim = remove(path) else { return }
        signals.complete(code, url, details, from: path, to: claim.owner)
    }

    @discardableResult private func remove(_ path: ObjectPath) -> CallbackClaim? {
        guard let claim = claims.remove(path) else { return nil }
        if let end = ends.removeValue(forKey: path) {
            end.timer.cancel()
            end.handle.withdraw = nil
            handles.remove(end.handle)
            end.watch.end()
        }
        tasks.start { await self.publish() }
        return claim
    }

    /// Publishes the schemes that now lead to the router. Returns only after all earlier calls have finished, even if
    /// nothing has changed.
    private func publish() async {
        guard let publisher else { return }
        publications += 1
        await publisher(takesReplies ? claims.schemes.union([Scheme.reply.rawValue]) : claims.schemes, publications)
    }
}
