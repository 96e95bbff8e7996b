internal import OpenURLBus
internal import Processes
internal import SchemeRegistry

/// A program that calls the router, as the bus and the kernel know it.
///
/// It is a class, so that the stages of a request do not copy the facts about it.
final class Caller {
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

    /// Returns whether a URL comes from a handler itself, perhaps through other handlers or a command.
    ///
    /// - Parameter origin: the handler that a stored URL comes from; nil for any other URL.
    func descends(from handler: Handler, origin: String? = nil) -> Bool {
        let id = handler.id.rawValue
        if self.handler?.id == handler.id || origin == id || command == id { return true }
        var request = cause
        while let link = request {
            if link.destination?.claimant.id == id { return true }
            request = link.cause
        }
        return false
    }
}

extension OpenContext.Source {
    /// The application that is charged for the program's requests: a handler, a sandbox, another machine, a
    /// container, or the path of a program.
    ///
    /// All unknown programs share one account, and so do all sandboxes without an identifier. The text is worded to
    /// follow "of" in a sentence.
    var account: String {
        switch callerClass.known {
        case .handler: "the handler \(application ?? "")"
        case .sandboxed: application.map { "the sandbox of \($0)" } ?? "sandboxes without an identifier"
        case .remote:
            host.map { "the host \($0)" } ?? container.map { "the container \($0)" } ?? "other hosts"
        case .user: program ?? Self.unknown
        case .unknown, nil: Self.unknown
        }
    }

    private static let unknown = "unknown programs"

    /// The path with which the program was started. After an update, ``executable`` has the kernel's mark for a file
    /// that was replaced.
    ///
    /// A file whose own name ends with the mark passes for the file without it, but whoever can put one there can also
    /// replace the other.
    var program: String? { executable.map(ProcessProgram.withoutMark) }
}
