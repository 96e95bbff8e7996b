internal import DBus
internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry

/// The files, the bus and the router as one run finds them, for the checks to judge.
struct Evidence {
    let files: ExaminedFiles
    /// The subject that the user asks about; nil for everything.
    let topic: Topic?
    /// The version of the command that the user ran.
    let commandVersion: String
    let connection: Result<SessionBus, ConnectionError>
    /// The router's process; nil if no router is running.
    let router: ProcessFacts?
    /// The handlers that the router lists, or the reason why it lists none; nil if no router is running.
    let listed: Result<[HandlerEntry], CallError>?

    /// Collects the evidence.
    init(
        _ files: ExaminedFiles,
        _ connection: Result<SessionBus, ConnectionError>,
        topic: Topic?,
        commandVersion: String
    ) {
        self.files = files
        self.connection = connection
        self.topic = topic
        self.commandVersion = commandVersion
        guard case .success(let bus) = connection, let pid = bus.pid(of: RouterService.name.rawValue) else {
            router = nil
            listed = nil
            return
        }
        router = ProcessFacts(pid: pid)
        listed = Result { () throws(CallError) in
            try bus.call(RegistryInterface.listHandlers, on: RouterService.object, Empty())
        }
    }

    /// The session bus, if there is one.
    var bus: SessionBus? {
        if case .success(let bus) = connection { bus } else { nil }
    }

    /// The session bus, if a router is running on it.
    var routerBus: SessionBus? { router == nil ? nil : bus }

    /// The schemes to check.
    var schemes: [Scheme] { topic?.schemes ?? files.handlerSchemes }

    /// The handlers to check.
    var handlers: [Handler] { files.registry.handlers.filter { concerns($0) } }

    /// The handlers that the router has only in memory.
    var temporary: [HandlerEntry] {
        guard case .success(let handlers)? = listed else { return [] }
        return handlers.filter { $0.temporary != .absent }
    }

    /// The identifiers of the handlers that the router does not know; none if it lists no handlers.
    var unknown: Set<String> {
        guard let known else { return [] }
        return found.subtracting(known).subtracting(temporary.map(\.id))
    }

    /// The identifiers of the handlers that the router knows and this process does not find.
    var unfound: Set<String> { (known ?? []).subtracting(found) }

    /// The identifiers of the handlers that the router has from manifests; nil if it lists no handlers.
    private var known: Set<String>? {
        guard case .success(let handlers)? = listed else { return nil }
        return Set(handlers.filter { $0.temporary == .absent && DesktopFileID.name(in: $0.id) == nil }.map(\.id))
    }

    /// The identifiers of the handlers in the files.
    private var found: Set<String> { Set(files.registry.handlers.map(\.id.rawValue)) }

    /// Returns whether the topic concerns a handler.
    func concerns(_ handler: Handler) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier { return handler.id.rawValue == identifier }
        return handler.schemes.contains { topic.schemes.contains($0) }
    }

    /// Returns whether the topic concerns something with a scheme, which may be for a handler.
    func concerns(scheme: some StringProtocol, handler: String?) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier, handler == identifier { return true }
        return topic.schemes.contains { $0.rawValue == scheme.lowercased() }
    }
}
