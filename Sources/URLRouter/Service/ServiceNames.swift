internal import DBus
internal import Logging
internal import Processes
internal import SchemeRegistry

/// Handlers' names as services that the bus can start.
///
/// This belongs to the router's actor.
final class ServiceNames {
    private let bus: any BusNames
    private let handlers: KnownHandlers
    private let recognition: OwnerRecognition
    private let log: Logger
    /// The handlers at the last ``makeActivatable()``.
    private var earlier: [Handler] = []

    init(_ handlers: KnownHandlers, _ shared: SharedParts) {
        self.handlers = handlers
        bus = shared.bus
        recognition = shared.launcher.recognition
        log = shared.log
    }

    /// How long the bus has to read its service files.
    private static let reloadTimeout = Duration.seconds(10)

    /// Checks that no other program has or can get the bus name of a handler that is about to be registered.
    ///
    /// - Parameter hasService: Whether a service file declares the name for the handler.
    func checkName(of handler: Handler, hasService: Bool) async throws(RegistrationError) {
        // If the handler is already registered, the owner of its name is examined before each delivery anyway.
        guard handlers.registry[handler.id] == nil, let name = BusName(handler.id.rawValue) else { return }
        let problem: String?
        do throws(CallError) {
            let hasOtherService = hasService ? false : try await isActivatable(name)
            problem =
                hasOtherService ? "the bus starts a service for it" : try await programOwning(name, of: handler)
        } catch {
            // Meanwhile, the owner may have exited.
            log.warning("the bus did not report who has a name: \(error)", metadata: ["handler": "\(handler.id)"])
            return
        }
        if let problem { throw .takenName(handler.id, by: problem) }
    }

    /// Returns whether the bus has a service for a name. If so, this asks again after the bus has reread its files,
    /// because the bus may still remember a file that has been removed.
    private func isActivatable(_ name: BusName) async throws(CallError) -> Bool {
        guard try await bus.activatableNames().contains(name) else { return false }
        try await bus.reloadConfiguration(timeout: Self.reloadTimeout)
        return try await bus.activatableNames().contains(name)
    }

    /// Describes the program that has a name; nil if there is none, or if a router started it for the handler.
    ///
    /// Even the manifest's own program is reported, because it is running without being a handler, and the router could
    /// end it.
    private func programOwning(_ name: BusName, of handler: Handler) async throws(CallError) -> String? {
        guard let owner = try await bus.owner(of: name) else { return nil }
        guard let pid = try await bus.credentials(of: owner).pid else { return "a process that the bus does not name" }
        if await recognition.claim(of: pid, handler, child: nil)?.isStrong == true { return nil }
        return "\(ProcessProgram.path(pid: pid) ?? "a program") has it, as process \(pid)"
    }

    /// Makes the bus read its service files again if it does not know about the service of a new handler, or of
    /// one that has changed.
    ///
    /// A bus notices changes on its own, but only in directories that existed when it read its configuration. When a
    /// program calls an unknown name, dbus-daemon looks again, but dbus-broker does not.
    func makeActivatable() async {
        var new = Set(handlers.registry.publishedHandlers(notAmong: earlier).map(\.id.rawValue))
        earlier = handlers.registry.handlers
        guard !new.isEmpty else { return }
        do throws(CallError) {
            for name in try await bus.activatableNames() { new.remove(name.rawValue) }
            if !new.isEmpty { try await bus.reloadConfiguration(timeout: Self.reloadTimeout) }
        } catch {
            log.warning("the bus could not read its service files again: \(error)")
        }
    }
}
