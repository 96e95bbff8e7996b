internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import URLOpener

/// The values of options and arguments, as known to the router. If the router does not list them within two seconds,
/// there are none.
///
/// The first element of a result specifies which files the shell adds.
extension CompletionKind {
    /// Identifiers of handlers.
    static let handlers = values { router throws(CommandFailure) in try router.handlers() }

    /// Schemes that have a handler.
    static let schemes = values { router throws(CommandFailure) in try router.schemes() }

    /// Schemes with a colon, and files.
    static let urls = values(.files) { router throws(CommandFailure) in try router.schemes().map { "\($0):" } }

    /// Manifests, bundles, and identifiers of handlers.
    static let manifests = values(.files) { router throws(CommandFailure) in try router.handlers() }

    /// Schemes, and identifiers of handlers.
    static let schemesAndHandlers = values { router throws(CommandFailure) in
        try router.schemes() + router.handlers()
    }

    /// The callers that a rule can be about: their classes, and handlers' identifiers.
    static let sources = values { router throws(CommandFailure) in
        try CallerClass.allCases.map(\.rawValue) + router.handlers()
    }

    /// Numbers of the URLs in the queue.
    static let queuedURLs = values { router throws(CommandFailure) in
        try router.call(QueueInterface.list, "", timeout: .seconds(2)).map(\.id)
    }

    /// Names of the other hosts.
    static let hosts = values { router throws(CommandFailure) in
        try router.call(HostsInterface.list, Empty(), timeout: .seconds(2)).map(\.name)
    }

    /// Identifiers of the notifications that handlers have scheduled.
    static let notifications = values { router throws(CommandFailure) in
        try router.call(NotificationsInterface.list, "", timeout: .seconds(2)).map(\.identifier)
    }

    /// Hosts whose links handlers claim.
    static let linkHosts = values { router throws(CommandFailure) in
        let hosts = try router.call(ProofsInterface.list, Empty(), timeout: .seconds(2)).map(\.host)
        return Set(hosts).sorted()
    }

    /// Names of tasks.
    static let tasks = values { router throws(CommandFailure) in
        let names = try router.call(TasksInterface.list, Empty(), timeout: .seconds(2)).map(\.name)
        return Set(names).sorted()
    }

    private static func values(
        _ files: Completions.AddedFiles = .none,
        _ list: @escaping @Sendable (RouterClient) throws(CommandFailure) -> [String]
    ) -> CompletionKind {
        custom { _, _, prefix in
            do throws(CommandFailure) {
                let values = try list(RouterClient(on: .ofProcess))
                return [files.rawValue]
                    + values.filter { $0.utf8.starts(with: prefix.utf8) && $0.printable == $0 }
            } catch {
                // In this case, the shell offers nothing.
                return [files.rawValue]
            }
        }
    }
}

extension RouterClient {
    fileprivate func handlers() throws(CommandFailure) -> [String] {
        try call(RegistryInterface.listHandlers, Empty(), timeout: .seconds(2)).map(\.id)
    }

    fileprivate func schemes() throws(CommandFailure) -> [String] {
        try call(RegistryInterface.listSchemes, Empty(), timeout: .seconds(2)).keys.sorted()
    }
}
