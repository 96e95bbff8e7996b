internal import UserFiles

/// A handler that no file declares, because a router has it in memory temporarily.
public struct TemporaryHandler: Sendable, Hashable {
    /// The handler. Unless it has ``claimed`` a scheme, it comes after all others. It is not published to the desktop,
    /// and opens no files.
    public let handler: Handler
    /// The schemes whose URLs all go to the handler while it runs; empty if it is only registered temporarily.
    public let claimed: Set<Scheme>

    /// Creates a handler that is registered temporarily.
    public init(registering handler: Handler) {
        self.handler = Handler(temporary: handler, claiming: handler.claims, program: handler.program)
        claimed = []
    }

    /// Creates a handler for a process that is running.
    ///
    /// - Parameters:
    ///   - handler: the handler's description.
    ///   - program: the program that runs.
    ///   - claimed: the schemes that the handler claims while it runs, never empty.
    ///   - other: the handler with the same id but without the claim; nil if there is none. The process gets that
    ///     handler's URLs too, because it owns the bus name.
    public init(
        running handler: Handler,
        _ program: Handler.Program,
        claiming claimed: [Scheme],
        apartFrom other: Handler?
    ) {
        let claims = (other?.claims ?? []) + [URLType(schemes: claimed)]
        self.handler = Handler(temporary: handler, claiming: claims, program: program)
        self.claimed = Set(claimed)
    }
}

extension Handler.Program {
    /// Creates the program that a caller specifies: an absolute path, or a name that was found on the caller's `PATH`.
    public init(named text: String) { self = isAbsolute(text) ? .path(text) : .nameOnPath(text) }
}

extension Handler {
    /// Creates a handler about which only the id and the program are known.
    public init(_ id: BundleIdentifier, running program: Program) {
        self.init(
            manifest: HandlerManifest(identifier: id, executable: nil),
            path: program.description,
            entry: program.description,
            program: program,
            scope: .memory,
            precedence: .max,
            registrationDate: RegistrationDate(nanoseconds: .max)
        )
    }
}
