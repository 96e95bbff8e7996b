internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

/// An interruption of a handler, which lasts as long as this process is connected.
final class InterruptionOperation {
    private let id: String
    private let invocation: Invocation
    private let router: RouterClient
    private var isDone = false

    init(_ id: String, _ invocation: Invocation) {
        self.id = id
        self.invocation = invocation
        router = RouterClient(on: invocation)
    }

    /// Interrupts the handler until Ctrl-C, or until the handler is no longer inactive.
    func perform() throws(CommandFailure) -> Int32 {
        let bus = try router.bus()
        bus.receive(LifecycleInterface.stateChanged, from: RouterService.object) { [unowned self] change in
            let (id, state) = change.values
            if id == self.id, state != HandlerState.inactive.rawValue { isDone = true }
        }
        let interrupt = invocation.makeInterrupt()
        defer { interrupt?.end() }
        _ = try router.call(RouterInterface.subscribe, Empty())
        do throws(CommandFailure) {
            _ = try router.call(LifecycleInterface.interrupt, id, timeout: RouterClient.lifecycleCall)
        } catch {
            throw router.suggestingHandler(for: id, error.ofHandler(id))
        }
        // A script reads this line to know when the handler is inactive.
        invocation.output.print(translated("\(id) is inactive until Ctrl-C or 'openurl resume \(id)'"))
        invocation.output.flush()
        do throws(CallError) {
            try bus.followRouter(interrupt) { isDone }
        } catch {
            let failure = CommandFailure(error, refusal: ExitStatus.unavailable)
            let message = translated("the router has exited; \(id) becomes active again when the next router finds it")
            throw CommandFailure(failure.name, message, exitStatus: ExitStatus.unavailable)
        }
        return 0
    }
}
