internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// The router as a backend of xdg-desktop-portal: the portal asks it which application gets a link.
///
/// The router opens the link itself, because it knows more about it than the name of an application can say: the rules, the
/// handler's state, the outcome. Its answer has no application, so the portal starts none, and passes the outcome on to the
/// caller. The sender of the link is the program that called the portal, and not the portal: the handle that the portal made
/// for the call names the connection.
///
/// Files are left to another backend, because the portal has to let the application's sandbox see them. So are links that the
/// router has no program for.
///
/// This belongs to the router's actor.
final class PortalChooser {
    typealias Answer = Arguments<UInt32, [String: Value]>

    /// One question of the portal.
    struct Question: Sendable {
        /// The path of the caller's request at the portal.
        let handle: ObjectPath
        /// The caller's application, as the portal knows it; empty if it is unknown.
        let application: String
        let parentWindow: String
        /// The applications to choose from, without `.desktop`.
        let choices: [String]
        let options: [String: Value]
    }

    private let opener: Opener
    private let callers: Callers
    private let bus: any BusNames
    private let others: OtherAppChoosers?
    private let launcher: HandlerLauncher
    private let log: Logger
    /// The questions without an answer, by their handles.
    private var asked: [ObjectPath: RequestHandle] = [:]
    /// Those among them that another backend answers.
    private var windows: Set<ObjectPath> = []

    /// - Parameter others: the desktop's other backends; nil if there are none.
    init(
        _ opener: Opener,
        _ callers: Callers,
        _ bus: any BusNames,
        _ others: OtherAppChoosers?,
        _ launcher: HandlerLauncher,
        log: Logger
    ) {
        self.opener = opener
        self.callers = callers
        self.bus = bus
        self.others = others
        self.launcher = launcher
        self.log = log
    }

    /// Answers a question.
    ///
    /// - Parameters:
    ///   - bytes: the size of the call's arguments.
    ///   - abandon: makes pending calls fail once the question is withdrawn.
    /// - Throws: `notAllowed` if the caller is not xdg-desktop-portal; `limitsExceeded`.
    func answer(
        _ question: Question,
        caller: BusName?,
        bytes: Int,
        abandon: @escaping @Sendable () -> Void
    ) async throws -> Answer {
        let portal = try await portal(caller)
        guard asked[question.handle] == nil, let token = HandleToken(rawValue: "portal"), let caller else {
            throw RemoteError(.invalidArguments, "the handle is in use")
        }
        let handle = RequestHandle(token, of: caller)
        asked[question.handle] = handle
        defer { asked[question.handle] = nil }
        guard let link = question.link else { return await leave(question, handle) }
        let originator = await originator(of: question, by: portal)
        let stop = Stop(handle, abandon)
        let request = opener.request(link, question.openOptions, of: caller, bytes: bytes, stop: stop)
        request.originator = originator
        do throws(OpenURLError) {
            _ = try await opener.open(request)
            return Arguments(AppChooserPortal.Response.success.rawValue, [:])
        } catch {
            switch error.code {
            case .noHandler where request.destination == nil: return await leave(question, handle)
            // A program that a sandbox may not reach looks like none, and nothing else may start it.
            case .noHandler, .cancelled, .notAllowed:
                return Arguments(AppChooserPortal.Response.cancelled.rawValue, [:])
            default: return Arguments(AppChooserPortal.Response.other.rawValue, [:])
            }
        }
    }

    /// Withdraws a question, because its caller has cancelled it.
    ///
    /// The portal also closes the questions of programs that have exited. Their links are opened all the same, as those of
    /// other senders are.
    ///
    /// - Throws: `notAllowed` if the caller is not the portal that has asked; `UnknownObject` if there is no such question.
    func close(_ handle: ObjectPath, caller: BusName?) async throws {
        guard let question = asked[handle] else {
            throw RemoteError(.unknownObject, "there is no request \(handle); it may already have its answer")
        }
        guard question.owner == caller else {
            throw OpenURLError(.notAllowed, "only the portal may close a request")
        }
        if windows.contains(handle) { return question.cancel() }
        do throws(CallError) {
            guard let sender = AppChooserPortal.caller(of: handle), try await bus.owner(of: sender) != nil else {
                return
            }
        } catch {
            return log.warning("the bus did not report whether a caller of the portal has exited: \(error)")
        }
        question.cancel()
    }

    // MARK: The sender

    /// Checks that the caller is xdg-desktop-portal: the process that owns its name and runs the system's program.
    private func portal(_ caller: BusName?) async throws(OpenURLError) -> Caller {
        let portal = await callers.confirmedCaller(caller)
        do throws(CallError) {
            if let caller, URLOrigin.isPortal(portal.source.executable), portal.callerClass == .user,
                try await bus.owner(of: AppChooserPortal.portal) == caller
            {
                return portal
            }
        } catch {
            log.warning("the bus did not report who has the portal's name: \(error)")
        }
        throw OpenURLError(.notAllowed, "only xdg-desktop-portal may ask which application opens a link")
    }

    /// Looks up the program that has called the portal.
    private func originator(of question: Question, by portal: Caller) async -> Caller {
        var known = Caller(OpenContext.Source())
        if let name = AppChooserPortal.caller(of: question.handle) { known = await callers.caller(name) }
        return Self.originator(known, isNamed: !question.application.isEmpty, by: portal)
    }

    /// Returns the sender of a link that the portal passes on.
    ///
    /// The identifier that the portal gives for it does not count: for a program outside Flatpak and snap, it is the
    /// name of a systemd unit, or what the program has said itself, so the program can choose it. If the portal gives
    /// none for a program that has exited, the portal itself is the sender, which is marked as an intermediary.
    ///
    /// - Parameters:
    ///   - known: the program that has called the portal, as the bus and the kernel know it.
    ///   - isNamed: whether the portal gives an identifier for it.
    static func originator(_ known: Caller, isNamed: Bool, by portal: Caller) -> Caller {
        if known.callerClass == .unknown, !isNamed { return portal }
        var source = known.source
        source.via = (portal.source.executable.map { [$0] } ?? []) + source.via
        return Caller(source, known.session, pid: known.pid)
    }

    // MARK: Other backends

    /// Lets another backend answer. If there is none, the answer is the application that was chosen last, or the first one.
    ///
    /// If the question is closed meanwhile, the other backend closes its window.
    private func leave(_ question: Question, _ handle: RequestHandle) async -> Answer {
        windows.insert(question.handle)
        defer { windows.remove(question.handle) }
        if let answer = await others?.ask(question, launcher.environment, handle) { return answer }
        let last = question.options["last_choice"]?.string
        guard let choice = last.flatMap({ question.choices.contains($0) ? $0 : nil }) ?? question.choices.first else {
            return Arguments(AppChooserPortal.Response.other.rawValue, [:])
        }
        var results = ["choice": Value.string(choice)]
        results["activation_token"] = question.token.map(Value.string)
        return Arguments(AppChooserPortal.Response.success.rawValue, results)
    }
}

extension PortalChooser.Question {
    /// The link; nil if the question is about a file.
    fileprivate var link: String? {
        guard let uri = options["uri"]?.string, uri.prefix("file:".count).lowercased() != "file:" else { return nil }
        return uri
    }

    /// The token with which the application may take the focus; nil if there is none.
    ///
    /// xdg-desktop-portal 1.16 passes on the URI in its place.
    fileprivate var token: String? {
        let token = FocusToken.checked(options["activation_token"]?.string)
        return token == options["uri"]?.string ? nil : token
    }

    fileprivate var openOptions: OpenOptions {
        var opening = OpenOptions()
        opening.activationToken = token
        // The portal does not check URLs, so they are repaired as those of a desktop entry are.
        let entry = options["last_choice"]?.string.flatMap { choices.contains($0) ? $0 : nil }
        opening.desktopEntry = "\(entry ?? RouterService.name.rawValue).desktop"
        return opening
    }
}
