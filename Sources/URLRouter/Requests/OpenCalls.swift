internal import DBus
internal import OpenURLBus

/// Handles the calls that open URLs, each with the handle that its caller may have asked for.
///
/// It belongs to the router's actor.
final class OpenCalls {
    private let opener: Opener
    private let handles: RequestHandles
    private let callers: Callers
    private let signals: any RouterSignals

    init(_ opener: Opener, _ handles: RequestHandles, _ callers: Callers, _ signals: any RouterSignals) {
        self.opener = opener
        self.handles = handles
        self.callers = callers
        self.signals = signals
    }

    /// Performs `OpenURL`.
    ///
    /// - Parameters:
    ///   - bytes: The size of the call's arguments; nil if only the URL counts.
    ///   - relayed: The program for which the caller passes the URL on; nil if the URL is the caller's own.
    ///   - abandon: Makes the request's pending calls fail, once a cancelled request need not wait any longer.
    /// - Throws: `OpenURLError`, and `InvalidArgs` if the token is in use.
    func openURL(
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int? = nil,
        relayed: OpenContext.Source? = nil,
        abandon: @escaping @Sendable () -> Void = {}
    ) async throws -> OpenResult {
        let request = try request(url, options, caller, bytes, relayed, abandon)
        defer { if let handle = request.stop?.handle { handles.remove(handle) } }
        return try await opener.open(request)
    }

    private func request(
        _ url: String,
        _ options: OpenOptions,
        _ caller: BusName?,
        _ bytes: Int?,
        _ relayed: OpenContext.Source?,
        _ abandon: @escaping @Sendable () -> Void
    ) throws -> OpenRequest {
        let options = try options.takingDescriptors()
        let handle = try options.handleToken.map { token in try handles.make(token, for: caller) }
        let stop = handle.map { Stop($0, abandon) }
        let request = opener.request(url, options, of: caller, bytes: bytes, stop: stop)
        if let relayed {
            request.originator = Caller(relayed)
            if let handle {
                request.whenStarted = { [signals] in signals.reportStart(from: handle.path, to: handle.owner) }
            }
        }
        return request
    }

    /// Performs `OpenURLs`: opens the URLs in order. If one fails, the rest are still opened, but a cancellation stops
    /// them.
    ///
    /// - Throws: `InvalidArgs` if the token is in use, or if several URLs would share one ID; `limitsExceeded` if the
    ///   caller's application has too many URLs in such calls.
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
        let handle = try options.handleToken.map { token in try handles.make(token, for: caller) }
        defer { if let handle { handles.remove(handle) } }
        let stop = handle.map { Stop($0, abandon) }
        return try await callers.batching(urls.count * (1 + options.fallback.count), caller) {
            var outcomes: [OpenOutcome] = []
            for url in urls {
                // Because each URL may be long and have long fallbacks, let other jobs take their turn in between.
                await Task.yield()
                do throws(OpenURLError) {
                    let request = opener.request(url, options, of: caller, bytes: bytes, stop: stop)
                    outcomes.append(.opened(try await opener.open(request)))
                } catch {
                    outcomes.append(.failed(error.dbusError))
                }
            }
            return outcomes
        }
    }
}
