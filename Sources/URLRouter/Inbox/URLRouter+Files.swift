internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

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
        let target = options
        // The call may take long, and the descriptors of a call are closed when its caller leaves.
        let taken = files.map { SentFile(name: $0.name, descriptor: UnixFD(owning: $0.descriptor.take() ?? -1)) }
        return try await callers.counting(caller, bytes: bytes, descriptors: files.count) {
            counted async throws(OpenURLError) in
            let sender = try await callers.caller(caller, of: counted)
            var outcomes: [OpenOutcome] = []
            // The rules and the person decide about all files of a call alike, so a no is asked for once.
            var refusal: RemoteError?
            for file in taken {
                if let refusal {
                    outcomes.append(.failed(refusal))
                    continue
                }
                await Task.yield()
                do throws(OpenURLError) {
                    outcomes.append(.opened(try await open(file, for: id, target, sender, caller)))
                } catch {
                    let told = sender.callerClass.isConfined ? error.forConfinedCallers : error
                    outcomes.append(.failed(told.dbusError))
                    if error.code == .notAllowed { refusal = told.dbusError }
                }
            }
            return outcomes
        }
    }

    /// Copies one file, and opens the copy. A copy whose URL the handler does not get is removed.
    private func open(
        _ file: SentFile,
        for id: String,
        _ options: OpenOptions,
        _ sender: Caller,
        _ caller: BusName?
    ) async throws(OpenURLError) -> OpenResult {
        // Nothing is copied for a handler that the caller does not reach. The error is that of a handler which does not exist.
        guard let handler = registry.handler(named: id), !handler.fileClaims.isEmpty else {
            throw OpenURLError(.noHandler, "\(id) takes no files; 'openurl list' shows the handlers")
        }
        try handler.checkAccess(of: sender.handler?.id, sender.callerClass)
        let name = try InboxName(of: file)
        try await checkPermission(for: name, handler, options, sender)
        let path = try await inboxes.receive(name, file.descriptor, for: handler.id.rawValue, sender.account)
        let copy = InboxCopy(for: handler.id.rawValue)
        do throws(OpenURLError) {
            return try await open(fileURL(ofPath: path), options, caller: caller, copy: copy)
        } catch {
            // A handler that has had the URL may still read the file.
            if !copy.isHandedOver { await inboxes.remove(path) }
            throw error
        }
    }

    /// Decides about a file before the file is copied: a copy is visible to its handler at once. Asks the person if necessary.
    private func checkPermission(
        for name: InboxName,
        _ handler: Handler,
        _ options: OpenOptions,
        _ sender: Caller
    ) async throws(OpenURLError) {
        guard let path = inboxes.path(of: name, for: handler.id.rawValue) else { return }
        let url = try GenericURL(ofCaller: fileURL(ofPath: path))
        let destination = Destination(url, toCopyFor: handler)
        guard let dialog = try permissions.check(destination, from: sender, options) else { return }
        try await questions.ask(dialog, Questions.Place())
    }
}

extension InboxName {
    /// Checks the name of a sent file.
    fileprivate init(of file: SentFile) throws(OpenURLError) {
        do throws(ParseError) {
            self = try InboxName(file.name)
        } catch {
            throw OpenURLError(.declined, "'\(printable(file.name))' \(error)")
        }
    }
}
