internal import OpenURLBus
internal import SchemeRegistry

/// Tells the user's programs where the handlers' output goes.
///
/// The router reads none of it for them: a handler's output may be secret, and only the user may read it. The object
/// belongs to the router's actor.
final class OutputPlaces {
    private let handlers: KnownHandlers
    private let sessions: HandlerSessions
    private let output: HandlerOutput

    init(_ handlers: KnownHandlers, _ sessions: HandlerSessions, _ output: HandlerOutput) {
        self.handlers = handlers
        self.sessions = sessions
        self.output = output
    }

    /// Returns where a handler's output goes. This works even for a handler that is no longer registered, as long as
    /// its process runs.
    ///
    /// - Throws: `noHandler` if the handler is not known or has no process of its own, and `notAllowed` if `openurl run` runs it.
    func place(of id: BundleIdentifier) async throws(OpenURLError) -> OutputPlace {
        let session: HandlerSession?
        let isRead: Bool
        if let handler = handlers.registry[id] {
            guard handler.kind != .freedesktop else {
                throw OpenURLError(noProcessOf: id, in: handlers.registry)
            }
            guard handlers.temporary.reason(for: id) != .claim else {
                throw OpenURLError(
                    .notAllowed,
                    "'openurl run' runs \(id), so its output is where that command was started"
                )
            }
            isRead = handler.kind == .exec
            session = isRead ? nil : await sessions.find(handler)
        } else {
            guard let running = sessions[id], running.isRunning else {
                throw OpenURLError(noProcessOf: id, in: handlers.registry)
            }
            (session, isRead) = (running, false)
        }
        let known = session.map(\.process.output) ?? .nowhere
        var place = OutputPlace(
            known == .nowhere ? output.place(for: id.rawValue, file: id.rawValue, isRead: isRead) : known
        )
        if let process = session?.process, process.running != nil {
            place.isElsewhere = process.claim?.isStrong == false
        }
        return place
    }
}

extension OutputPlace {
    fileprivate init(_ output: ProcessOutput) {
        switch output {
        case .journal(let identifier): self.init(journal: identifier)
        case .file(let path, _): self.init(file: path)
        case .nowhere: self.init()
        }
    }
}
