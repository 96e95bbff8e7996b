internal import DBus
internal import Desktop
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// Opens URLs with the desktop's applications as their desktop entries specify: over the bus, or with a command. It
/// does the same for handlers with a command (`OUCommand`).
///
/// An opener belongs to the router's actor, and knows nothing of the handlers' sessions.
final class ApplicationOpener {
    let bus: any BusNames & HandlerCalls
    let launcher: HandlerLauncher
    let loop: EventLoop
    let limits: RouterLimits
    let log: Logger
    let commandHops: CommandHops
    /// Commands that may still refuse their URL, by application and then by their callers' applications.
    var startingCommands: [String: Shares<String>] = [:]
    /// Commands that are running, by their callers' applications.
    var runningCommands: Shares<String>
    /// Running commands, by handler identifier or application name.
    var commandWriters: [String: CommandWriters] = [:]

    init(
        bus: any BusNames & HandlerCalls,
        launcher: HandlerLauncher,
        loop: EventLoop,
        limits: RouterLimits,
        log: Logger,
        commandHops: CommandHops
    ) {
        self.bus = bus
        self.launcher = launcher
        self.loop = loop
        self.limits = limits
        self.log = log
        self.commandHops = commandHops
        runningCommands = Shares(limit: limits.commands)
    }

    /// Opens a URL, and returns when the application has it.
    func open(_ request: ApplicationRequest) async throws(OpenURLError) -> OpenResult {
        if let id = request.claimant.handler?.desktopEntry { try check(request, id) }
        if let application = request.application, application.isDBusActivatable, request.command == nil {
            return try await openOverTheBus(request, application)
        }
        return try await openWithCommand(request)
    }

    /// Checks that the bus can start the application that a handler's manifest names.
    private func check(_ request: ApplicationRequest, _ id: DesktopFileID) throws(OpenURLError) {
        guard request.application?.isDBusActivatable != true else { return }
        let fact =
            request.application == nil
            ? "is not an application on this desktop" : "has no DBusActivatable=true, so the bus cannot start it"
        throw OpenURLError(.launchFailed, "\(request.id) names \(id) as OUDesktopEntry, which \(fact)")
    }
}
