internal import OpenURLBus
internal import SchemeRegistry

/// A program that calls the router, as the bus and the kernel know it.
struct Caller {
    /// The program that the caller's URLs come from, as the handler will see it. Its class decides what the caller may
    /// do.
    let source: OpenContext.Source
    /// The process that opened the caller's connection.
    let pid: UInt32?
    /// The caller's session if it is a handler; nil for every other program.
    let session: HandlerSession?
    /// The application that is charged for everything that the caller makes the router hold.
    let account: String
    /// The application or handler whose command the caller descends from, if the command was started a short time ago; nil
    /// for every other program.
    let command: String?

    init(
        _ source: OpenContext.Source,
        _ session: HandlerSession? = nil,
        pid: UInt32? = nil,
        command: String? = nil
    ) {
        self.source = source
        self.pid = pid
        self.session = session
        account = source.account
        self.command = command
    }

    var callerClass: CallerClass { source.callerClass.known ?? .unknown }

    /// The caller if it is a handler. Only a process that a router has started for a handler is considered one.
    var handler: Handler? { session?.handler }

    /// Among the requests that the handler is working on, the one with the longest chain of openings behind it.
    var cause: OpenRequest? { session?.requests.deepestInHand }
}

extension OpenContext.Source {
    /// The application that is charged for the program's requests: a handler, a sandbox, or the path of a program.
    ///
    /// All unknown programs share one account, and so do all sandboxes without an identifier. The text is worded to
    /// follow "of" in a sentence.
    var account: String {
        switch callerClass.known {
        case .handler: "the handler \(application ?? "")"
        case .sandboxed: application.map { "the sandbox of \($0)" } ?? "sandboxes without an identifier"
        case .remote: application.map { "the host \($0)" } ?? "other hosts"
        case .user: executable ?? Self.unknown
        case .unknown, nil: Self.unknown
        }
    }

    private static let unknown = "unknown programs"
}
