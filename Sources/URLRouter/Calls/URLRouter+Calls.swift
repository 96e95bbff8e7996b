internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// Calls: a program opens a URL, and gets the answer of the handler (x-callback-url).
extension URLRouter {
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
        return try await withHandle(options.handleToken, caller) { [options] handle in
            let call = try calls.add(of: await callers.caller(caller))
            // A call that is not begun has no answer.
            defer { calls.end(call, .failure(.withdrawn)) }
            if let caller { try await calls.follow(caller, call) }
            await callbacks.publishReplies()
            // The router alone stops requests, on the event loop.
            nonisolated(unsafe) let opened = call
            let stop = handle.map { Stop($0) { opened.opening?.cancel() } }
            call.opening = start { [self] in
                let outcome: Result<OpenResult, OpenURLError>
                do throws(OpenURLError) {
                    outcome = .success(
                        try await open(url, options, caller: caller, bytes: bytes, stop: stop, waiting: call)
                    )
                } catch {
                    outcome = .failure(error)
                }
                if case .success(let result) = outcome, !isAnswered(call, by: result) {
                    return wait(for: call, stop, until: end, of: timeout)
                }
                calls.end(call, outcome)
            }
            return try await call.result()
        }
    }

    /// The URL of a call, without the callbacks of another program.
    private func called(_ text: String) throws(OpenURLError) -> String {
        let url = try GenericURL(ofCaller: text)
        guard Scheme(of: url) != .file else {
            throw OpenURLError(.malformedURL, "a file takes no parameters; a call needs the URL of a handler")
        }
        return try url.removingXParameters().description
    }

    /// Whether a handler's answer to the URL itself ends a call.
    private func isAnswered(_ call: WaitingCall, by result: OpenResult) -> Bool {
        // A program that waited for the URL as its own callback cannot answer.
        !result.reply.isEmpty || result.way == .callback
            || call.claimant?.handler?.answersCallbacks == true
    }

    /// Waits for the callback of a handler that has the URL.
    private func wait(for call: WaitingCall, _ stop: Stop?, until end: ContinuousClock.Instant, of timeout: Duration) {
        guard !call.hasEnded else { return }
        calls.limit(call, to: end, of: timeout)
        let cancel = { [calls] in
            let answerer = call.claimant?.id ?? "the handler"
            let error = OpenURLError(.cancelled, "the call was cancelled; \(answerer) has the URL and may act on it")
            calls.end(call, .failure(error))
        }
        stop?.handle.withdraw = cancel
        if stop?.isRequested == true { cancel() }
    }

    /// Takes a URL that answers a call (``XCallbackURL/isReply(_:)``).
    ///
    /// - Throws: `notAllowed` if no call waits for the answer, or if the answer comes from another program than the handler. The
    ///   call waits on then.
    func answerCall(_ text: String, _ request: RequestCall) async throws(OpenURLError) -> OpenResult {
        let url = try GenericURL(ofCaller: text, request.options)
        return try await callers.counting(request.caller, bytes: request.bytes) { counted async throws(OpenURLError) in
            let sender = try await callers.caller(request.caller, of: counted)
            try request.stop?.check()
            request.observed?.note {
                $0.kind = .callback
                $0.source = sender.source
            }
            guard let answer = CallAnswer(url), let call = calls[answer.token], let claimant = call.claimant else {
                throw OpenURLError(.notAllowed, "no call waits for this answer; it has one already, or has ended")
            }
            guard isAnswerer(sender, claimant) else {
                throw OpenURLError(.notAllowed, "only \(claimant.id) may answer this call")
            }
            calls.end(call, outcome(of: answer.kind, FormParameters(queryOf: url), call, claimant))
            return OpenResult(handler: CallbackInterface.handler, way: .callback, reply: [:], trace: [])
        }
    }

    private func outcome(
        of kind: CallAnswer.Kind,
        _ parameters: FormParameters,
        _ call: WaitingCall,
        _ claimant: Claimant
    ) -> Result<OpenResult, OpenURLError> {
        switch kind {
        case .success:
            let reply = parameters.values.mapValues { values in
                values.count == 1 ? Value.string(values[0]) : .array(values.map(Value.string), of: "s")
            }
            var result = OpenResult(handler: claimant.id, way: .callback, reply: reply, trace: [])
            result.requestID = call.requestID
            return .success(result)
        case .error:
            let message = parameters["errorMessage"] ?? "\(claimant.id) answered with an error"
            let text = parameters["errorCode"].map { "\(message) (\($0))" } ?? message
            return .failure(OpenURLError(.declined, text.cut(toBytes: limits.errorBytes)))
        case .cancel:
            return .failure(OpenURLError(.cancelled, "\(claimant.id) answered with x-cancel"))
        }
    }

    /// Whether a program may answer for the handler or application that has the URL of a call.
    ///
    /// A handler's process is known, and so are the processes that descend from it. An application may hand the URL to another
    /// process of its own, so only a program with another identity is refused. A portal, and an opener whose parent is not known,
    /// prove their right by the token.
    private func isAnswerer(_ sender: Caller, _ claimant: Claimant) -> Bool {
        switch claimant {
        case .handler(let handler):
            if let application = sender.source.application { return application == handler.id.rawValue }
            if sender.callerClass == .user, sender.source.isIntermediary { return true }
            // A handler that was started by hand has no identity.
            let process = sessions[handler.id]?.process.running.flatMap { UInt32(exactly: $0.pid) }
            return process != nil && [sender.pid, sender.source.pid].contains(process)
        case .application(let application):
            return sender.source.application.map { "\($0).desktop" == application.id.rawValue } ?? true
        }
    }
}
