internal import DBus
internal import OpenURLBus

/// The calls that open URLs, each with the handle that its caller may have asked for.
extension URLRouter {
    /// Performs `OpenURL`.
    ///
    /// - Parameters:
    ///   - bytes: the size of the call's arguments; nil for the URL alone.
    ///   - abandon: makes the calls fail that the request waits for, once a cancelled request need not wait any longer.
    /// - Throws: `OpenURLError`, and `InvalidArgs` if the token is in use.
    func openURL(
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int? = nil,
        abandon: @escaping @Sendable () -> Void = {}
    ) async throws -> OpenResult {
        let options = try options.takingDescriptors()
        return try await withHandle(options.handleToken, caller) { handle in
            try await open(url, options, caller: caller, bytes: bytes, stop: handle.map { Stop($0, abandon) })
        }
    }

    /// Performs `OpenURLs`: opens the URLs in order. A failure does not stop the rest, but a cancel does.
    ///
    /// - Throws: `InvalidArgs` if the token is in use, or if several URLs would have one name; `limitsExceeded` if the caller's
    ///   application has too many URLs in such calls.
    func openURLs(
        _ urls: [String],
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int,
        abandon: @escaping @Sendable () -> Void = {}
    ) async throws -> [OpenOutcome] {
        guard options.requestID == nil || urls.count <= 1 else {
            throw RemoteError(.invalidArguments, "'request-id' names one request, not \(urls.count)")
        }
        let options = try options.takingDescriptors()
        return try await withHandle(options.handleToken, caller) { handle in
            let stop = handle.map { Stop($0, abandon) }
            return try await callers.batching(urls.count * (1 + options.fallback.count), caller) {
                var outcomes: [OpenOutcome] = []
                for url in urls {
                    // Each URL may be long and have long fallbacks, so others have their turn in between.
                    await Task.yield()
                    do throws(OpenURLError) {
                        let result = try await open(url, options, caller: caller, bytes: bytes, stop: stop)
                        outcomes.append(.opened(result))
                    } catch {
                        outcomes.append(.failed(error.dbusError))
                    }
                }
                return outcomes
            }
        }
    }

    /// Performs `Cancel` of a handle.
    func cancelRequest(at path: ObjectPath, caller: BusName?) throws {
        try handles.handle(at: path, for: caller).cancel()
    }

    /// Performs `ReportProgress` of a handler.
    ///
    /// - Throws: `notAllowed` if the caller is not the handler that has the request.
    func reportProgress(_ report: ProgressReport, on request: String, caller: BusName?) throws(OpenURLError) {
        guard let caller, let session = sessions.session(ofConnection: caller),
            let found = session.requests.inHand(named: request)
        else {
            throw OpenURLError(.notAllowed, "the caller has no request of this name")
        }
        session.report(report, on: found)
    }

    /// Performs a call that may have a handle. The handle lives until `body` has returned.
    func withHandle<Result>(
        _ token: HandleToken?,
        _ caller: BusName?,
        _ body: (RequestHandle?) async throws -> Result
    ) async throws -> Result {
        guard let token else { return try await body(nil) }
        let handle = try handles.make(token, for: caller)
        defer { handles.remove(handle) }
        return try await body(handle)
    }
}
