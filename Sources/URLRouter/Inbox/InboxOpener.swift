internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// Takes a file from its sender into a handler's inbox.
///
/// It belongs to the router's actor.
final class InboxOpener {
    private let opener: Opener
    private let inboxes: Inboxes
    private let handlers: KnownHandlers
    private let callers: Callers
    private let permissions: Permissions
    private let questions: Questions

    init(
        _ opener: Opener,
        _ inboxes: Inboxes,
        _ handlers: KnownHandlers,
        _ callers: Callers,
        _ permissions: Permissions,
        _ questions: Questions
    ) {
        self.opener = opener
        self.inboxes = inboxes
        self.handlers = handlers
        self.callers = callers
        self.permissions = permissions
        self.questions = questions
    }

    /// Copies files into a handler's inbox, and opens the copies in the same way as URLs.
    ///
    /// - Parameter bytes: The size of the call's arguments.
    /// - Returns: The outcome for each file.
    /// - Throws: An error that concerns all files.
    func openFiles(
        _ files: [SentFile],
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int
    ) async throws -> [OpenOutcome] {
        guard let id = options.handler else {
            throw RemoteError(.invalidArguments, "name the handler that gets the files in the option 'handler'")
        }
        // The other host cannot read the copy.
        guard options.host == nil else {
            throw RemoteError(.invalidArguments, "files cannot be sent to another host")
        }
        guard files.count <= RouterInterface.filesPerCall else {
            throw OpenURLError(.limitsExceeded, "more than \(RouterInterface.filesPerCall) files in one call")
        }
        var options = try options.takingDescriptors()
        options.contentType = nil
        options.fallback = []
        let target = options
        // This may take a long time, and when a caller leaves, the descriptors in its call are closed.
        let taken = files.map { SentFile(name: $0.name, descriptor: UnixFD(owning: $0.descriptor.take() ?? -1)) }
        var load = RequestLoad(bytes: bytes, descriptors: files.count)
        try callers.count(&load, of: caller)
        defer { callers.discount(load) }
        let sender = await callers.caller(caller)
        try callers.move(&load, to: sender.account)
        var outcomes: [OpenOutcome] = []
        // The rules and the user treat all files in a call alike. So after the first refusal, no more questions are
        // asked.
        var refusal: RemoteError?
        for file in taken {
            if let refusal {
                outcomes.append(.failed(refusal))
                continue
            }
            await Task.yield()
            let name: InboxName
            do throws(InboxName.ParseError) {
                name = try InboxName(file.name)
            } catch {
                // An inbox never contains such a file, no matter who sends it.
                let reason = "'\(printable(file.name))' cannot be sent: its name \(error)"
                outcomes.append(.failed(RemoteError(.fileNotFound, reason)))
                continue
            }
            // It is never opened: it holds the options, and the time for which the sender waits for the person.
            let asking = OpenRequest("", target, from: .caller(caller), named: "", observed: nil)
            do throws(OpenURLError) {
                outcomes.append(.opened(try await open(file, name, for: id, asking, sender, caller)))
            } catch {
                let told = sender.callerClass.isConfined ? error.forConfinedCallers : error
                outcomes.append(.failed(told.dbusError))
                if error.code == .notAllowed || asking.lateError != nil { refusal = told.dbusError }
            }
        }
        return outcomes
    }

    /// Copies one file, and opens the copy. If the handler does not get its URL, the copy is removed.
    private func open(
        _ file: SentFile,
        _ name: InboxName,
        for id: String,
        _ asking: OpenRequest,
        _ sender: Caller,
        _ caller: BusName?
    ) async throws(OpenURLError) -> OpenResult {
        let handler = try handler(named: id, for: sender)
        try await checkPermission(for: name, handler, asking, sender)
        let path = try await inboxes.receive(name, file.descriptor, for: handler.id.rawValue, sender.account)
        let request = opener.request(fileURL(ofPath: path), asking.options, of: caller, inbox: handler.id.rawValue)
        do throws(OpenURLError) {
            return try await opener.open(request)
        } catch {
            // A handler that has had the URL may still read the file.
            if !request.wasHandedOver { await inboxes.remove(path) }
            throw error
        }
    }

    /// Returns the handler for a file. Nothing is copied if the sender cannot reach it, and the error is then the same
    /// as if the handler did not exist.
    private func handler(named id: String, for sender: Caller) throws(OpenURLError) -> Handler {
        guard let handler = handlers.registry.handler(named: id), !handler.fileClaims.isEmpty else {
            guard handlers.registry.mayHave(id) else { throw OpenURLError(unknownHandler: id) }
            throw OpenURLError(.noHandler, "\(id) takes no files; 'openurl list' shows the handlers that do")
        }
        try handler.checkAccess(of: sender.handler?.id, sender.callerClass)
        return handler
    }

    /// Decides whether a file may be sent, and asks the user if necessary. This happens before the file is copied,
    /// because the handler sees a copy immediately.
    private func checkPermission(
        for name: InboxName,
        _ handler: Handler,
        _ asking: OpenRequest,
        _ sender: Caller
    ) async throws(OpenURLError) {
        guard let path = inboxes.path(of: name, for: handler.id.rawValue) else { return }
        let url = try GenericURL(ofCaller: fileURL(ofPath: path))
        let destination = Destination(url, toCopyFor: handler)
        let verdict = permissions.verdict(on: destination, from: sender.source)
        switch permissions.decision(verdict, on: destination, from: sender, asking.options) {
        case .go: return
        case .ask(let dialog): try await ask(dialog, asking)
        case .refuse(let error): throw error
        }
        // During the question, the registry and the rules may have changed.
        let current = Destination(url, toCopyFor: try self.handler(named: handler.id.rawValue, for: sender))
        if case .refuse(let error) = permissions.decisionAfterQuestion(on: current, from: sender.source) { throw error }
    }

    /// Asks the user, but only as long as the sender waits.
    private func ask(_ dialog: PolicyDialog, _ asking: OpenRequest) async throws(OpenURLError) {
        let place = Questions.Place()
        let timer = asking.limitPerson(on: opener.parts.sessions.shared.loop) { [questions] in questions.giveUp(place) }
        defer { timer?.cancel() }
        do throws(OpenURLError) {
            try await questions.ask(dialog, place)
        } catch {
            throw asking.lateError ?? error
        }
        if let error = asking.lateError { throw error }
    }
}
