internal import DBus
internal import Glibc
internal import OpenURLBus

/// A program that runs as the handler of some schemes, and the claim that the router keeps as long as this process is connected.
final class RunOperation {
    private let schemes: [String]
    private let handler: String
    private let command: [CommandLineArgument]
    private let invocation: Invocation
    private let router: RouterClient
    /// Whether the router that runs now has answered the claim.
    private var isAnswered = false

    /// - Parameters:
    ///   - handler: the identifier of the program, or the absolute path of its bundle or manifest.
    ///   - command: the program and its arguments, never empty.
    init(_ schemes: [String], _ handler: String, _ command: [CommandLineArgument], _ invocation: Invocation) {
        self.schemes = schemes
        self.handler = handler
        self.command = command
        self.invocation = invocation
        router = RouterClient(for: invocation)
    }

    /// Claims the schemes, and runs the program; returns its exit status as a shell does.
    func perform() throws(CommandFailure) -> Int32 {
        let bus = try router.bus()
        let program = command[0].isPath ? try command[0].absolutePath() : command[0].shown
        try claim(program)
        // The end of the program must not come before the signal is taken over.
        let signals = try ProgramSignals()
        let child = try ChildProgram(command)
        while true {
            do throws(CallError) {
                _ = try bus.wait(
                    forSignalsOf: RouterService.name,
                    timeout: Self.endless,
                    watching: { [(descriptor: signals.descriptor, isReadable: { child.handle(signals.take()) })] },
                    until: { [self] in child.status != nil || !isAnswered && bus.hasOwner(RouterService.name) }
                )
            } catch .remote {
                // The router has ended, and the claim with it.
            } catch {
                invocation.errors.print("the session bus has ended, and the claim with it; the program runs on")
                while child.status == nil { child.handle(signals.take()) }
            }
            if let status = child.status { return status }
            claimAgain(program, bus)
        }
    }

    /// About thirty years.
    private static let endless = Duration.seconds(1_000_000_000)

    private func claim(_ program: String) throws(CommandFailure) {
        let handler = try router.call(
            RegistryInterface.claim,
            Arguments(schemes, handler, program),
            refusal: ExitStatus.failure
        )
        isAnswered = true
        for warning in handler.warnings { invocation.errors.print("warning: \(handler.id): \(warning)") }
    }

    /// Claims the schemes from the next router. The call makes the bus start one; without one, the claim waits until a router runs.
    private func claimAgain(_ program: String, _ bus: BlockingConnection) {
        do throws(CommandFailure) {
            try claim(program)
        } catch {
            isAnswered = bus.hasOwner(RouterService.name)
            let loss = "the router has ended, and the program has lost its claim"
            invocation.errors.print("warning: \(loss): \(error.message)")
        }
    }
}
