internal import DBus
internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry

/// The way of a file from its sender into the inbox of a handler.
extension URLRouter {
    /// Copies files into a handler's inbox, and opens the copies as a URL is opened.
    ///
    /// - Parameter bytes: the size of the call's arguments.
    /// - Returns: the outcome of each file.
    /// - Throws: an error that concerns all files.
    func openFiles(
        _ files: [SentFile],
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int
    ) async throws -> [OpenOutcome] {
        guard let id = options.handler else {
            throw RemoteError(.invalidArguments, "the options do not name the 'handler' that gets the files")
        }
        guard files.count <= RouterInterface.filesPerCall else {
            throw OpenURLError(.limitsExceeded, "more than \(RouterInterface.filesPerCall) files in one call")
        }
        var options = try options.takingDescriptors()
        options.contentType = nil
        options.fallback = []
        let copies = try await copies(of: files, for: id, caller, bytes)
        var outcomes: [OpenOutcome] = []
        for copy in copies {
            await Task.yield()
            do throws(OpenURLError) {
                let path = try copy.get()
                outcomes.append(.opened(try await openCopy(path, options, caller: caller, bytes: bytes)))
            } catch {
                outcomes.append(.failed(error.dbusError))
            }
        }
        return outcomes
    }

    private func copies(
        of files: [SentFile],
        for id: String,
        _ caller: BusName?,
        _ bytes: Int
    ) async throws(OpenURLError) -> [Result<String, OpenURLError>] {
        try await callers.counting(caller, bytes: bytes) { counted async throws(OpenURLError) in
            let sender = try await callers.caller(caller, of: counted)
            // Nothing is copied for a handler that the caller does not reach. The error is that of a handler which does not exist.
            do throws(OpenURLError) {
                guard let handler = registry.handler(named: id), !handler.fileClaims.isEmpty else {
                    throw OpenURLError(.noHandler, "\(id) takes no files; 'openurl list' shows the handlers")
                }
                try handler.checkAccess(of: sender.handler?.id, sender.callerClass)
                return try await inboxes.receive(files, for: handler.id, sender.account)
            } catch {
                guard sender.callerClass.isConfined else { throw error }
                throw error.forConfinedCallers
            }
        }
    }

    /// Opens a copy. A copy that no handler has learnt of is removed.
    private func openCopy(
        _ path: String,
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int
    ) async throws(OpenURLError) -> OpenResult {
        do throws(OpenURLError) {
            return try await inboxes.opening(path) { () async throws(OpenURLError) in
                try await open(fileURL(ofPath: path), options, caller: caller, bytes: bytes)
            }
        } catch {
            switch error.code {
            // The handler had the URL, and may still read the file.
            case .declined, .handlerCrashed, .timedOut, .invalidReply, .cancelled: break
            default: await inboxes.remove(path)
            }
            throw error
        }
    }
}
