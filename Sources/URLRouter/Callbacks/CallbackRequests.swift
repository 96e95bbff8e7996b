internal import DBus
internal import OpenURLBus
internal import RFC1808

/// Handles calls from programs that wait for a URL to come back.
///
/// It belongs to the router's actor.
final class CallbackRequests {
    private let opener: Opener
    private let callbacks: Callbacks
    private let handles: RequestHandles
    private let callers: Callers
    private let tasks: RouterTasks

    init(
        _ opener: Opener,
        _ callbacks: Callbacks,
        _ handles: RequestHandles,
        _ callers: Callers,
        _ tasks: RouterTasks
    ) {
        self.opener = opener
        self.callbacks = callbacks
        self.handles = handles
        self.callers = callers
        self.tasks = tasks
    }

    /// Performs `Request`: claims the callback, and opens the URL that leads to it.
    ///
    /// - Parameter relayed: the program for which the caller waits; nil if it waits for itself.
    /// - Throws: `OpenURLError`, and `InvalidArgs` if the token is in use.
    func request(
        _ url: String,
        _ pattern: String,
        _ options: CallbackOptions,
        caller: BusName?,
        relayed: OpenContext.Source? = nil
    ) async throws -> ObjectPath {
        let sender = if let relayed { Caller(relayed) } else { await callers.caller(caller) }
        guard let caller else { throw OpenURLError(.notAllowed, "only a program on the bus can wait for a callback") }
        let asked = url.isEmpty ? nil : try GenericURL(ofCaller: url)
        guard
            let expected = try pattern.isEmpty ? asked.map(CallbackPattern.init(redirectOf:)) : CallbackPattern(pattern)
        else { throw OpenURLError(.malformedURL, "give a URL, a pattern of the callback, or both") }
        try callbacks.check(expected, claimedBy: sender.source)
        let state = options.state ?? asked.flatMap { FormParameters($0)["state"] }
        let handle = try await callbacks.add(expected, state: state, options, of: caller, sender.source)
        if let asked {
            tasks.start { [self] in
                // The program must get the handle before anything else.
                await Task.yield()
                // By now, the program may have stopped waiting.
                guard callbacks.isWaiting(handle) else { return }
                var opening = OpenOptions()
                opening.activationToken = options.activationToken
                let request = opener.request(asked.description, opening, of: caller)
                request.originator = relayed.map { Caller($0) }
                do throws(OpenURLError) {
                    _ = try await opener.open(request)
                } catch {
                    if callbacks.isWaiting(handle) { callbacks.fail(handle.path, .failed, error) }
                }
            }
        }
        return handle.path
    }

    /// Performs `Close` on a handle.
    func close(at path: ObjectPath, caller: BusName?) throws {
        let handle = try handles.handle(at: path, for: caller)
        guard callbacks.claims[path] != nil else {
            throw RemoteError(.unknownObject, "\(path) is not the handle of a callback")
        }
        handle.cancel()
    }
}
