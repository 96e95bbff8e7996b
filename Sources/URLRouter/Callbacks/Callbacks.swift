internal import DBus
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// The claims on callbacks, with the timer and the watch of each, and the entry through which the desktop reaches them.
///
/// The object belongs to the router's actor.
final class Callbacks {
    /// Makes the desktop reach the router for some schemes: all that are claimed. A lower number is of an earlier call, whose schemes
    /// no longer count.
    typealias Publisher = @Sendable (_ schemes: Set<String>, _ number: Int) async -> Void

    private let bus: any HandlerBus
    private let handles: RequestHandles
    private let loop: EventLoop
    private let tasks: RouterTasks
    private(set) var claims: CallbackClaims
    private var ends: [ObjectPath: End] = [:]
    private var publications = 0
    private var lastToken: UInt64 = 0
    /// Whether the desktop reaches the router for the answers to calls, from the first call on.
    private var takesReplies = false
    /// Nil if the desktop is not to be told.
    var publisher: Publisher?

    /// The things that end with a claim.
    private struct End {
        let handle: RequestHandle
        let timer: RestartableTimer
        /// Tells the end of the owner's connection; nil until the bus has it.
        var watch: NameWatchID?
    }

    init(
        _ bus: any HandlerBus,
        _ handles: RequestHandles,
        _ limits: RouterLimits,
        _ loop: EventLoop,
        _ tasks: RouterTasks
    ) {
        self.bus = bus
        self.handles = handles
        self.loop = loop
        self.tasks = tasks
        claims = CallbackClaims(limits)
    }

    /// Makes a claim; returns its handle when the desktop reaches the router.
    ///
    /// - Parameter left: tells, on the event loop, that the connection of the handle's owner has ended.
    /// - Throws: `alreadyClaimed`, `limitsExceeded`, and `InvalidArgs` for a token that is in use.
    func add(
        _ pattern: CallbackPattern,
        state: String?,
        _ options: CallbackOptions,
        of owner: BusName,
        _ receiver: OpenContext.Source,
        left: @escaping @Sendable (ObjectPath) -> Void
    ) async throws -> ObjectPath {
        try claims.check(pattern, receiver.account)
        let handle = try handles.make(options.handleToken ?? nextToken(), for: owner)
        let path = handle.path
        handle.withdraw = { [unowned self] in
            fail(path, .closed, OpenURLError(.cancelled, "the program that waited has ended the wait"))
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
        timer.start(at: .now + timeout) { [unowned self] in
            fail(path, .failed, OpenURLError(.timedOut, "no callback came within \(timeout.inWords)"))
        }
        ends[path] = End(handle: handle, timer: timer)
        try await follow(owner, path, left)
        await publish()
        return path
    }

    /// Ends the claim with the connection of its owner.
    private func follow(
        _ owner: BusName,
        _ path: ObjectPath,
        _ left: @escaping @Sendable (ObjectPath) -> Void
    ) async throws(OpenURLError) {
        do throws(CallError) {
            let watch = try await bus.watchOwner(of: owner) { _, new in if new == nil { left(path) } }
            guard ends[path] != nil else { return bus.unwatchOwner(watch) }
            ends[path]?.watch = watch
            // The connection may have ended before the watch began.
            if try await bus.owner(of: owner) == nil { remove(path) }
        } catch {
            remove(path)
            throw OpenURLError(.limitsExceeded, "the bus does not tell the end of the program: \(error)")
        }
    }

    private func nextToken() throws -> HandleToken {
        lastToken += 1
        guard let token = HandleToken(rawValue: "callback_\(lastToken)") else {
            throw RemoteError(.failed, "there is no token left")
        }
        return token
    }

    /// Hands a URL over to the owner of a claim, which ends.
    func deliver(_ url: GenericURL, _ details: CallbackDetails, to claim: CallbackClaim) {
        end(claim.path, .received, url.description, details)
    }

    /// Ends a claim without a callback. Does nothing for a claim that has ended.
    func fail(_ path: ObjectPath, _ code: CallbackEnd, _ error: OpenURLError) {
        var details = CallbackDetails()
        details.error = error.dbusError
        end(path, code, "", details)
    }

    /// Ends every claim, and returns when the desktop no longer reaches the router for them.
    func stop() async {
        for claim in claims.all {
            fail(claim.path, .failed, OpenURLError(.cancelled, "the router has ended before a callback came"))
        }
        takesReplies = false
        await publish()
    }

    /// Makes the desktop reach the router for the answers to calls; returns when it does.
    func publishReplies() async {
        takesReplies = true
        await publish()
    }

    private func end(_ path: ObjectPath, _ code: CallbackEnd, _ url: String, _ details: CallbackDetails) {
        guard let claim = remove(path) else { return }
        bus.complete(code, url, details, from: path, to: claim.owner)
    }

    /// Ends a claim whose owner has gone.
    @discardableResult func remove(_ path: ObjectPath) -> CallbackClaim? {
        guard let claim = claims.remove(path) else { return nil }
        if let end = ends.removeValue(forKey: path) {
            end.timer.cancel()
            end.handle.withdraw = nil
            handles.remove(end.handle)
            if let watch = end.watch { bus.unwatchOwner(watch) }
        }
        tasks.start { await self.publish() }
        return claim
    }

    /// Tells the desktop the schemes that lead to the router now. The call returns after all earlier ones, also if nothing has changed.
    private func publish() async {
        guard let publisher else { return }
        publications += 1
        await publisher(takesReplies ? claims.schemes.union([Scheme.reply.rawValue]) : claims.schemes, publications)
    }
}
