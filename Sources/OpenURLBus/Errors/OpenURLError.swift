public import DBus

/// Why a URL was not opened: one cause, with one D-Bus error name.
///
/// The message is for people to read. It mentions the handler and the phase, and gives advice where possible.
public struct OpenURLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The causes of an error.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The handler's `open` answered no.
        case declined = "Declined"
        /// Either `willFinishLaunching` or `didFinishLaunching` answered no, so `open` was not called.
        case launchVetoed = "LaunchVetoed"
        /// No manifest claims the scheme.
        case noHandler = "NoHandler"
        /// The handler could not be started, exited before it was ready, or did not take its name.
        case launchFailed = "LaunchFailed"
        /// The handler had the URL and exited before it answered. It may have acted on the URL.
        case handlerCrashed = "HandlerCrashed"
        /// Time ran out for the launch, for opening the URL, or for the caller.
        case timedOut = "TimedOut"
        /// The handler does not accept URLs from this sender.
        case notAllowed = "NotAllowed"
        /// Too many requests are waiting, for this caller or for this handler, or the URL is too long.
        case limitsExceeded = "LimitsExceeded"
        /// Handlers open each other in a circle.
        case loopDetected = "LoopDetected"
        /// The router cannot store the URL for a later delivery.
        case notQueued = "NotQueued"
        /// The caller withdrew the request, or the user did so in the handler.
        case cancelled = "Cancelled"
        /// The handler's answer does not have the type in the contract. The handler may have acted on the URL.
        case invalidReply = "InvalidReply"
        /// Another program is waiting for the same callback, or has claimed the scheme.
        case alreadyClaimed = "AlreadyClaimed"
        /// The text is not a URL.
        case malformedURL = "MalformedURL"

        /// The D-Bus error's name, such as `org.openurl.Error.Declined`.
        public var errorName: ErrorName { ErrorName(stringLiteral: Self.prefix + rawValue) }

        fileprivate static let prefix = "org.openurl.Error."
    }

    /// The error's cause.
    public let code: Code
    /// A description of the error, as a sentence without a full stop.
    public let text: QuotingText
    /// ``text`` as a plain string.
    public var message: String { text.description }

    /// Creates an error from a literal. Interpolated parts count as quotations.
    public init(_ code: Code, _ text: QuotingText) {
        self.code = code
        self.text = text
    }

    // Literals become a `QuotingText`, although `String` is their usual type, because this initializer is generic and
    // disfavoured.
    /// Creates an error whose whole message is a quotation, such as another program's message.
    @_disfavoredOverload public init(_ code: Code, _ message: some StringProtocol) {
        self.init(code, QuotingText(quoting: String(message)))
    }

    /// Creates an error from a D-Bus error.
    ///
    /// - Returns: Nil if the name is not that of a ``Code``.
    public init?(_ error: RemoteError) {
        guard error.name.rawValue.hasPrefix(Code.prefix),
            let code = Code(rawValue: String(error.name.rawValue.dropFirst(Code.prefix.count)))
        else { return nil }
        self.init(code, error.message)
    }

    /// Same as ``message``.
    public var description: String { message }
}

extension OpenURLError: DBusErrorConvertible {
    /// This error as it is sent over the bus.
    public var dbusError: RemoteError { RemoteError(code.errorName, message) }
}
