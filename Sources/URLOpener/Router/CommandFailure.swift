package import DBus
internal import Glibc
package import OpenURLBus
package import RFC1808
internal import Translations

/// The failure of a command, or of one of its items.
package struct CommandFailure: Error, Hashable {
    /// The error's name on the bus. The command's own errors have names of the same kind.
    package let name: ErrorName
    /// The message for people to read: what happened and, if known, what to do.
    package let message: String
    /// The program's exit status if this is the first failure.
    package let exitStatus: Int32

    package init(_ name: ErrorName, _ message: String, exitStatus: Int32) {
        self.name = name
        self.message = message
        self.exitStatus = exitStatus
    }

    package init(_ error: OpenURLError) {
        self.init(error.code.errorName, error.message, exitStatus: error.code.exitStatus)
    }

    /// Creates the failure for an identifier that no handler has, in the router's words.
    ///
    /// - Parameter reason: why no handler can have it; nil if one can.
    package init(unknownHandler id: String, because reason: String? = nil) {
        let message =
            reason.map { translated("no handler is registered as \(id): \($0); 'openurl list' shows all that are") }
            ?? translated("no handler is registered as \(id); 'openurl list' shows all that are")
        self.init(OpenURLError(.noHandler, message))
    }

    /// Returns the failure of a call for a handler, in which a handler that does not exist is always an unknown one.
    ///
    /// The router calls text that cannot be an identifier a wrong argument, but for the user, it is only misspelt. Empty
    /// text stays a wrong argument.
    ///
    /// - Parameter id: the handler, as the user has named it.
    package func ofHandler(_ id: String) -> CommandFailure {
        let isIdentifier = BusName(id).map { !$0.isUnique && $0 != .bus && $0 != RouterService.name } ?? false
        guard name == .invalidArguments, !isIdentifier, !id.isEmpty else { return self }
        return CommandFailure(unknownHandler: id, because: message)
    }

    /// The failure for a URL that was not opened because the user pressed Ctrl-C.
    package static let interrupted = CommandFailure(
        OpenURLError(.cancelled, translated("the request was cancelled before the router got the URL"))
    )

    package init(_ error: GenericURL.ParseError) {
        self.init(OpenURLError(.malformedURL, error.description).withOutcome)
    }

    /// Creates the failure for an argument that does not refer to a file, with the system's error.
    package init(unusable file: String, _ code: CInt) {
        let problem = translated("'\(file)' is neither a URL with a scheme nor a file: \(systemErrorText(code))")
        self.init(
            .fileNotFound,
            Self.missingColon(file).map { translated("\(problem); to open a URL, write '\($0)'") } ?? problem,
            exitStatus: ExitStatus.noInput
        )
    }

    /// Returns the URL that was probably meant by text without a colon, such as `hello`, `hello//x` or
    /// `www.example.com`; nil if the text is more like a path.
    package static func missingColon(_ text: String) -> String? {
        if text.hasPrefix("www.") { return "https://\(text)" }
        let scheme = text.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-") }
        let rest = text[scheme.endIndex...]
        guard scheme.first?.isLetter == true, rest.isEmpty || rest.hasPrefix("//") || rest.hasPrefix("?") else {
            return nil
        }
        return "\(scheme):\(rest)"
    }

    /// Creates the failure for a program that has no session bus.
    ///
    /// - Parameter environment: returns the value of a variable.
    package init(_ error: ConnectionError, _ environment: (String) -> String?) {
        let advice =
            BusAddress.missed(by: environment).map { translated("run: export DBUS_SESSION_BUS_ADDRESS=\($0)") }
            ?? translated("use a terminal of your desktop, or 'dbus-run-session -- sh' for a shell with a separate bus")
        self.init(
            "org.freedesktop.DBus.Error.NoServer",
            translated("cannot reach the router, because there is no session bus: \(error); \(advice)"),
            exitStatus: ExitStatus.unavailable
        )
    }

    /// Creates the failure of a call.
    ///
    /// - Parameter refusal: the exit status if the router's error does not have its own.
    package init(_ error: CallError, refusal: Int32) {
        switch error {
        case .remote(let error):
            self.init(error, refusal: refusal)
        case .disconnected:
            let message = translated("the connection to the session bus was lost before the router answered")
            self.init(
                "org.freedesktop.DBus.Error.Disconnected",
                Self.withUnknownOutcome(message),
                exitStatus: ExitStatus.unavailable
            )
        case .notSent(.tooLarge(let limit)):
            self.init(OpenURLError(.limitsExceeded, translated("the message is larger than \(limit) bytes")))
        case .notSent:
            self.init(.invalidArguments, error.description, exitStatus: ExitStatus.usage)
        case .timedOut, .cancelled:
            self.init(.noReply, translated("the router did not answer"), exitStatus: ExitStatus.unavailable)
        case .unexpectedReply:
            self.init(
                "org.freedesktop.DBus.Error.InconsistentMessage",
                translated(
                    "the router's answer cannot be understood; are openurl and openurld the same version? (\(error))"
                ),
                exitStatus: ExitStatus.unavailable
            )
        }
    }

    private static func withUnknownOutcome(_ message: String) -> String {
        translated("\(message); whether the request arrived is unknown")
    }

    private init(_ error: RemoteError, refusal: Int32) {
        let unavailable = ExitStatus.unavailable
        switch error.name {
        case .invalidArguments:
            self.init(error.name, error.message, exitStatus: ExitStatus.usage)
        case .fileNotFound:
            self.init(error.name, error.message, exitStatus: ExitStatus.noInput)
        case .invalidFileContent:
            self.init(error.name, error.message, exitStatus: ExitStatus.dataError)
        case .limitsExceeded:
            self.init(error.name, error.message, exitStatus: OpenURLError.Code.limitsExceeded.exitStatus)
        case .serviceUnknown, .nameHasNoOwner:
            let message = translated(
                "the router is not running, and the bus cannot start it; start openurld, or run 'openurl doctor' to see why"
            )
            self.init(error.name, message, exitStatus: unavailable)
        case .noReply:
            let message = Self.withUnknownOutcome(translated("the router exited before it answered"))
            self.init(error.name, message, exitStatus: unavailable)
        case .unknownMethod, .unknownInterface, .unknownObject:
            let message = translated(
                """
                the router does not know this request; are openurl and openurld the same version? (\(error.message))
                """
            )
            self.init(error.name, message, exitStatus: unavailable)
        case _ where error.name.isAboutStarting:
            let message = translated(
                "the router cannot be started: \(error.message); run openurld by hand to see the reason"
            )
            self.init(error.name, message, exitStatus: unavailable)
        default:
            if let error = OpenURLError(error) {
                self.init(error.withOutcome)
            } else {
                self.init(error.name, error.message.isEmpty ? error.name.rawValue : error.message, exitStatus: refusal)
            }
        }
    }
}

extension ErrorName {
    /// Whether this name means that the bus could not start a service.
    var isAboutStarting: Bool {
        rawValue.hasPrefix("org.freedesktop.DBus.Error.Spawn.") || rawValue == "org.freedesktop.DBus.Error.TimedOut"
    }
}

extension OpenURLError {
    /// This error with its cause in the user's language before a message that is in English.
    package var withOutcome: OpenURLError {
        code.outcome.map { OpenURLError(code, "\($0): \(message)") } ?? self
    }
}

extension OpenURLError.Code {
    /// The cause in the user's language; nil if that is English, because the message says more.
    fileprivate var outcome: String? {
        switch self {
        case .declined: translatedOnly("the handler declined the URL")
        case .launchVetoed: translatedOnly("the launch was vetoed")
        case .noHandler: translatedOnly("no handler was found")
        case .launchFailed: translatedOnly("the handler could not be started")
        case .handlerCrashed: translatedOnly("the handler crashed")
        case .timedOut: translatedOnly("a time limit ran out")
        case .notAllowed: translatedOnly("this is not allowed")
        case .limitsExceeded: translatedOnly("a limit was exceeded")
        case .loopDetected: translatedOnly("handlers open each other in a loop")
        case .notQueued: translatedOnly("the URL was not stored")
        case .cancelled: translatedOnly("the request was cancelled")
        case .alreadyClaimed: translatedOnly("another program already has the claim")
        case .invalidReply: translatedOnly("the handler's answer has the wrong type")
        case .malformedURL: translatedOnly("the URL is malformed")
        }
    }
}
