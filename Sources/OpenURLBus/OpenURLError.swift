public import DBus

/// Why a URL was not opened: one cause, one D-Bus error name.
///
/// The message is for a person: it names the handler and the phase, and says what to do where something can be done.
public struct OpenURLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The causes.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The handler's `open` answered no.
        case declined = "Declined"
        /// `willFinishLaunching` or `didFinishLaunching` answered no, so `open` was not called.
        case launchVetoed = "LaunchVetoed"
        /// No manifest claims the scheme.
        case noHandler = "NoHandler"
        /// The handler could not be started, ended before it was ready, or did not take its name.
        case launchFailed = "LaunchFailed"
        /// The handler had the URL and ended before it answered. It may have acted.
        case handlerCrashed = "HandlerCrashed"
        /// The launch, the opening or the caller's own time limit ran out.
        case timedOut = "TimedOut"
        /// The handler takes nothing from this sender.
        case notAllowed = "NotAllowed"
        /// Too much is waiting, for this caller or for this handler, or the URL is too long.
        case limitsExceeded = "LimitsExceeded"
        /// Handlers open each other in a circle.
        case loopDetected = "LoopDetected"
        /// The URL cannot be stored for later.
        case notQueued = "NotQueued"
        /// The text is no URL.
        case malformedURL = "MalformedURL"

        /// The cause as an error of D-Bus, such as `org.openurl.Error.Declined`.
        public var errorName: ErrorName { ErrorName(stringLiteral: Self.prefix + rawValue) }

        fileprivate static let prefix = "org.openurl.Error."
    }

    /// The cause.
    public let code: Code
    /// What happened, in a sentence without a full stop.
    public let message: String

    /// Makes an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Takes an error from the bus; nil where it is none of these.
    public init?(_ error: RemoteError) {
        guard error.name.rawValue.hasPrefix(Code.prefix),
            let code = Code(rawValue: String(error.name.rawValue.dropFirst(Code.prefix.count)))
        else { return nil }
        self.init(code, error.message)
    }

    /// The message.
    public var description: String { message }
}

extension OpenURLError: DBusErrorConvertible {
    /// The error as it goes over the bus.
    public var dbusError: RemoteError { RemoteError(code.errorName, message) }
}
