internal import DBus
internal import Loopback
public import OpenURLBus
public import RFC1808
internal import Reactor

extension OpenURLClient {
    /// Opens a URL and returns the URL that comes back, for example to sign in through a browser (RFC 8252).
    ///
    /// ```swift
    /// let callback = try await client.openForCallback(authorizeURL, expecting: .prefix("myapp://auth"))
    /// let code = callback.query["code"]
    /// ```
    ///
    /// If the URL has a `state`, the callback must have the same one. A callback with a different `state` is refused,
    /// and the wait continues. You need not register anything. While the program waits, no other program gets the
    /// callback or can wait for the same one. If the task is cancelled, the wait ends.
    ///
    /// - Parameter timeout: the time limit; at most `CallbackOptions.maximumTimeout` from `OpenURLBus`.
    /// - Throws: ``OpenURLClientError/notOpened(_:)`` with the cause: `noHandler` if nothing opens the URL, `timedOut`,
    ///   `notAllowed`, `alreadyClaimed`, `limitsExceeded`, `malformedURL` for an expectation that no URL can meet;
    ///   another ``OpenURLClientError``; `CancellationError`.
    public func openForCallback(
        _ url: GenericURL,
        expecting expectation: CallbackExpectation,
        timeout: Duration = CallbackOptions.usualTimeout
    ) async throws -> Callback {
        try await withErrorsOfClient {
            switch expectation {
            case .scheme(let scheme):
                guard let pattern = CallbackPattern(scheme: scheme) else {
                    throw OpenURLError(.malformedURL, "'\(scheme)' is not a scheme")
                }
                return try await ways.call { try await $0.claim(pattern, url, timeout) }
            case .prefix(let prefix):
                return try await ways.call { try await $0.claim(CallbackPattern(prefix), url, timeout) }
            case .loopback(let path):
                return try await serve(path, url, timeout)
            }
        }
    }

    // MARK: At a server

    private func serve(_ path: String, _ url: GenericURL, _ timeout: Duration) async throws -> Callback {
        guard timeout <= CallbackOptions.maximumTimeout else {
            throw OpenURLClientError.refused("the time limit is longer than a day")
        }
        let address = try callbackURL("http://127.0.0.1\(path)")
        let waiter: LoopbackWait
        do throws(LoopbackError) {
            waiter = try LoopbackWait(
                address,
                state: FormParameters(url)["state"],
                on: ways.loop
            )
        } catch {
            throw OpenURLClientError.refused(error.description)
        }
        let opened = try url.setting("redirect_uri", to: await waiter.redirect.description)
        ways.add(waiter)
        defer { ways.remove(waiter) }
        await waiter.start()
        let result: Result<GenericURL?, any Error>
        do {
            result = .success(
                try await withThrowingTaskGroup(of: GenericURL?.self) { group in
                    group.addTask {
                        let callback = await waiter.callbacks.first { _ in true }
                        await waiter.stop()
                        guard let callback else {
                            throw OpenURLClientError.unknown("the client was closed before the callback arrived")
                        }
                        return callback
                    }
                    group.addTask {
                        try await Task.sleep(for: timeout)
                        throw OpenURLError(.timedOut, "no callback arrived within the time limit")
                    }
                    group.addTask {
                        _ = try await open(opened)
                        return nil
                    }
                    defer { group.cancelAll() }
                    while let found = try await group.next() { if let found { return found } }
                    return nil
                }
            )
        } catch {
            result = .failure(error)
        }
        await waiter.stop()
        try Task.checkCancellation()
        guard let callback = try result.get() else { throw CancellationError() }
        return Callback(callback)
    }
}

// MARK: Through the router

extension WayToRouter {
    fileprivate func claim(_ pattern: CallbackPattern, _ url: GenericURL, _ timeout: Duration) async throws -> Callback
    {
        try await refuseStranger()
        var options = CallbackOptions()
        options.handleToken = HandleToken.next()
        options.timeout = timeout
        guard let path = path(of: options.handleToken) else {
            throw OpenURLClientError.unavailable("the program is not on a bus")
        }
        let input = Arguments(url.description, pattern.description, options)
        let end: Arguments<UInt32, String, CallbackDetails>?
        do {
            end = try await waitForCallback(at: path) {
                _ = try await connection.call(
                    CallbackInterface.request,
                    on: RouterService.object,
                    input,
                    timeout: nil
                )
            }
        } catch {
            try Task.checkCancellation()
            throw error
        }
        try Task.checkCancellation()
        guard let (code, text, details) = end?.values else {
            throw OpenURLClientError.unknown("the router exited before the callback arrived")
        }
        guard CallbackEnd(rawValue: code) == .received else {
            throw CallError.remote(details.error ?? RemoteError(.failed, "the router gave no reason"))
        }
        return Callback(try callbackURL(text), details)
    }
}

private func callbackURL(_ text: String) throws(OpenURLError) -> GenericURL {
    do throws(GenericURL.ParseError) {
        return try GenericURL(text)
    } catch {
        throw OpenURLError(.malformedURL, error.description)
    }
}
