internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// Handles calls: a program opens a URL, and gets the handler's answer (x-callback-url).
///
/// It belongs to the router's actor.
final class Calls {
    private let opener: Opener
    private let waiting: WaitingCalls
    private let callbacks: Callbacks
    private let handles: RequestHandles
    private let callers: Callers
    private let tasks: RouterTasks

    init(
        _ opener: Opener,
        _ waiting: WaitingCalls,
        _ callbacks: Callbacks,
        _ handles: RequestHandles,
        _ callers: Callers,
        _ tasks: RouterTasks
    ) {
        self.opener = opener
        self.waiting = waiting
        self.callbacks = callbacks
        self.handles = handles
        self.callers = callers
        self.tasks = tasks
    }

    /// Performs `Call`.
    ///
    /// - Throws: `OpenURLError`, and `InvalidArgs` if the token is in use, or if the URL is to be queued.
    func call(
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int
    ) async throws -> OpenResult {
        guard !options.isQueued else {
            throw RemoteError(.invalidArguments, "a call waits for its answer, so its URL cannot be queued")
        }
        let timeout = options.timeout ?? RouterInterface.callTimeout
        let end = ContinuousClock.now + timeout
        var options = try options.takingDescriptors()
        options.timeout = timeout
        options.fallback = try options.fallback.map(called)
        let url = try called(url)
        let handle = try options.handleToken.map { token in try handles.make(token, for: caller) }
        defer { if let handle { handles.remove(handle) } }
        let call = try waiting.add(of: await callers.caller(caller))
        // If the call does not begin, there will be no answer.
        defer { waiting.end(call, .failure(.withdrawn)) }
        if let caller { try await waiting.follow(caller, call) }
        let withdraw = { [waiting] in waiting.end(call, .failure(.withdrawn)) }
        handle?.withdraw = withdraw
        if handle?.isCancelled == true { withdraw() }
        // Only the router stops requests, and it does so on the event loop.
        nonisolated(unsafe) let opened = call
        let stop = handle.map { Stop($0) { opened.opening?.cancel() } }
        call.opening = tasks.start { [options] in
            if !self.callbacks.hasPublishedReplies {
                self.waiting.limit(call, to: end, of: timeout)
                await self.callbacks.publishReplies()
                self.waiting.endLimit(of: call)
            }
            guard !call.hasEnded else { return }
            let outcome: Result<OpenResult, OpenURLError>
            let request = self.opener.request(url, options, of: caller, bytes: bytes, stop: stop, waiting: call)
            request.end = end
            do throws(OpenURLError) {
                outcome = .success(try await self.opener.open(request))
            } catch {
                outcome = .failure(error)
            }
            if case .success(let result) = outcome, !self.isAnswered(call, by: result) {
                return self.wait(for: call, stop, until: end, of: timeout)
            }
            self.waiting.end(call, outcome)
        }
        return try await call.result()
    }

    /// Returns a call's URL, without another program's callbacks.
    private func called(_ text: String) throws(OpenURLError) -> String {
        let url = try GenericURL(ofCaller: text)
        guard Scheme(of: url) != .file else {
            throw OpenURLError(.malformedURL, "a file takes no parameters; a call needs the URL of a handler")
        }
        return try url.removingXParameters().description
    }

    /// Returns whether a call ends when the handler answers the URL itself.
    private func isAnswered(_ call: WaitingCall, by result: OpenResult) -> Bool {
        // A program that was waiting for the URL as its own callback cannot answer it.
        !result.reply.isEmpty || result.way == .callback
            || call.claimant?.handler?.answersCallbacks == true
    }

    /// Waits for the callback from a handler that has the URL.
    private func wait(for call: WaitingCall, _ stop: Stop?, until end: ContinuousClock.Instant, of timeout: Duration) {
        guard !call.hasEnded else { return }
        waiting.limit(call, to: end, of: timeout)
        let cancel = { [waiting] in
            let answerer = call.claimant?.id ?? "the handler"
            let error = OpenURLError(.cancelled, "the call was cancelled; \(answerer) has the URL and may act on it")
            waiting.end(call, .failure(error))
        }
        stop?.handle.withdraw = cancel
        if stop?.isRequested == true { cancel() }
    }
}
