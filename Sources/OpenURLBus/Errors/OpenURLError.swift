public import DBus

/// An error of an open: one cause, one D-Bus error name.
///
/// The message is for a person. The message names the handler and the phase, and gives advice where advice is possible.
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
        /// The handler had the URL and ended before the answer. The handler may have acted on the URL.
        case handlerCrashed = "HandlerCrashed"
        /// The time limit of the launch, of the open or of the caller ran out.
        case timedOut = "TimedOut"
        /// The handler does not accept URLs from this sender.
        case notAllowed = "NotAllowed"
        /// Too many requests wait, for this caller or for this handler, or the URL is too long.
        case limitsExceeded = "LimitsExceeded"
        /// Handlers open each other in a circle.
        case loopDetected = "LoopDetected"
        /// The router cannot store the URL for a later delivery.
        case notQueued = "NotQueued"
        /// The caller withdrew the request, or the person did so in the handler.
        case cancelled = "Cancelled"
        /// The handler's answer has another type than the contract says. The handler may have acted on the URL.
        case invalidReply = "InvalidReply"
        /// Another program waits for the same callback, or has claimed the scheme.
        case alreadyClaimed = "AlreadyClaimed"
        /// The text is not a URL.
        case malformedURL = "MalformedURL"

        /// The name of the D-Bus error, such as `org.openurl.Error.Declined`.
        public var errorName: ErrorName { ErrorName(stringLiteral: Self.prefix + rawValue) }

        fileprivate static let prefix = "org.openurl.Error."
    }

    /// The cause.
    public let code: Code
    /// The description of the error, in a sentence without a full stop.
    public let text: QuotingText
    /// The description of the error as plain text.
    public var message: String { text.description }

    /// Creates an error with a literal, whose interpolated parts are quotations.
    public init(_ code: Code, _ text: QuotingText) {
        self.code = code
        self.text = text
    }

    // A literal becomes a `QuotingText`, although `String` is the usual type of literals: the initializer is generic, and disfavoured.
    /// Creates an error whose whole message is a quotation, such as the message of another program.
    @_disfavoredOverload public init(_ code: Code, _ message: some StringProtocol) {
        self.init(code, QuotingText(quoting: String(message)))
    }

    /// Creates an error from an error of the bus.
    ///
    /// - Returns: nil for an error with another name.
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
    /// The error as it is on the bus.
    public var dbusError: RemoteError { RemoteError(code.errorName, message) }
}
