internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import URLOpener

/// A program that runs as the handler of some schemes, and its claim, which lasts as long as this process is connected.
final class RunOperation {
    private let schemes: [String]
    private let handler: String
    private let command: [CommandLineArgument]
    private let invocation: Invocation
    private let router: RouterClient
    /// Whether the current router has answered the claim.
    private var isAnswered = false
    /// The name that the program must take; nil until the router has answered.
    private var name: BusName?
    /// Whether the user has been told that the program has its name.
    private var isNamed = false
    /// When to warn that the program has not taken its name; nil after the warning.
    private var nameDeadline: ContinuousClock.Instant?

    /// - Parameters:
    ///   - handler: the program's identifier, or the absolute path of its bundle or manifest.
    ///   - command: the program and its arguments, never empty.
    init(_ schemes: [String], _ handler: String, _ command: [CommandLineArgument], _ invocation: Invocation) {
        self.schemes = schemes
        self.handler = handler
        self.command = command
        self.invocation = invocation
        router = RouterClient(on: invocation)
    }

    /// Claims the schemes, runs the program, and returns its exit status in the form that a shell uses.
    func perform() throws(CommandFailure) -> Int32 {
        let bus = try router.bus()
        let program = command[0].isPath ? try command[0].absolutePath() : command[0].shown
        try claim(program, bus)
        // Take over the signals before the program starts, because it may exit at once.
        let signals = try ProgramSignals()
        let child = try ChildProgram(command)
        nameDeadline = .now + Self.nameTime
        while true {
            var isLost = false
            do throws(CallError) {
                _ = try bus.wait(
                    forSignalsOf: RouterService.name,
                    timeout: isNamed ? .endless : nameTimeLeft ?? .endless,
                    watching: { [(descriptor: signals.descriptor, isReadable: { child.handle(signals.take()) })] },
                    until: { [self] in
                        child.status != nil || !isAnswered && bus.hasOwner(RouterService.name) || canBeNamed(bus)
                    }
                )
            } catch .remote {
                // The router has exited, which ended the claim.
                isLost = true
            } catch {
                invocation.errors.print(
                    translated("the session bus is gone, and so is the claim; the program keeps running")
                )
                while child.status == nil { child.handle(signals.take()) }
            }
            if let status = child.status { return status }
            reportName(of: child, bus)
            if isLost || !isAnswered && bus.hasOwner(RouterService.name) { claimAgain(program, bus) }
        }
    }

    /// How long a program may take to get its name before a warning is printed. A handler without `OULaunchTimeout`
    /// gets the same time from the router.
    private static let nameTime = Duration.seconds(5)
    /// The time limit for a question to the bus.
    private static let busTime = Duration.seconds(5)

    // MARK: The name

    /// The time until the warning; nil if none is due.
    private var nameTimeLeft: Duration? {
        nameDeadline.map { ContinuousClock.now.duration(to: $0) }
    }

    /// Returns whether the program's name has an owner that the user has not been told about yet.
    private func canBeNamed(_ bus: BlockingConnection) -> Bool {
        guard let name, !isNamed else { return false }
        return bus.hasOwner(name)
    }

    /// Reports on standard error that the program has taken its name, or that it took too long.
    private func reportName(of child: ChildProgram, _ bus: BlockingConnection) {
        guard let name, !isNamed else { return }
        if bus.hasOwner(name), let pid = pid(of: name.rawValue, bus) {
            isNamed = true
            // If another process took the name, the router reports that to the senders.
            guard child.isAncestor(of: pid) else { return }
            let list = schemes.joined(separator: ", ")
            return invocation.errors.print(
                translated(
                    schemes.count,
                    one: "\(list) goes to process \(pid) (\(name)) until it exits",
                    other: "\(list) go to process \(pid) (\(name)) until it exits"
                )
            )
        }
        guard let deadline = nameDeadline, deadline <= .now else { return }
        nameDeadline = nil
        let others = otherNames(of: child, bus)
        let words = others.prefix(3) + (others.count > 3 ? [translated("\(others.count - 3) more")] : [])
        let seconds = Self.nameTime.components.seconds
        invocation.errors.print(
            words.isEmpty
                ? translated(
                    """
                    warning: the program did not take the name \(name) on the bus within \(seconds) seconds; it must take the name \
                    that --handler or its manifest gives
                    """
                )
                : translated(
                    """
                    warning: the program did not take the name \(name) on the bus within \(seconds) seconds, but took \
                    \(words.joined(separator: translated(" and "))); it must take the name that --handler or its manifest gives
                    """
                )
        )
    }

    /// Returns the names that the program and its descendants have taken.
    private func otherNames(of child: ChildProgram, _ bus: BlockingConnection) -> [String] {
        do throws(CallError) {
            let names = try bus.call(BusDriver.listNames, on: BusDriver.object, Empty(), timeout: Self.busTime)
            return names.filter { name in
                !name.hasPrefix(":") && pid(of: name, bus).map(child.isAncestor) == true
            }.sorted()
        } catch {
            // The warning is worth printing even without the names.
            return []
        }
    }

    /// Returns the process that owns a name; nil if the bus does not know of one.
    private func pid(of name: String, _ bus: BlockingConnection) -> UInt32? {
        do throws(CallError) {
            return try bus.call(BusDriver.processID, on: BusDriver.object, name, timeout: Self.busTime)
        } catch {
            // The name no longer has an owner.
            return nil
        }
    }

    // MARK: The claim

    private func claim(_ program: String, _ bus: BlockingConnection) throws(CommandFailure) {
        let handler = try router.call(
            RegistryInterface.claim,
            Arguments(schemes, handler, program),
            refusal: ExitStatus.failure
        )
        isAnswered = true
        follow(handler.id, bus)
        for warning in handler.warnings { invocation.errors.print(translated("warning: \(handler.id): \(warning)")) }
    }

    /// Follows the owner of the name that the program must take.
    private func follow(_ id: String, _ bus: BlockingConnection) {
        guard name == nil, let name = BusName(id) else { return }
        do throws(CallError) {
            try bus.followOwner(of: name)
            self.name = name
        } catch {
            // The wait for the program reports that the bus is gone.
        }
    }

    /// Claims the schemes from the next router.
    ///
    /// This call makes the bus start a router. If the bus cannot start one, the claim waits until a router runs.
    private func claimAgain(_ program: String, _ bus: BlockingConnection) {
        do throws(CommandFailure) {
            try claim(program, bus)
        } catch {
            isAnswered = bus.hasOwner(RouterService.name)
            invocation.errors.print(
                translated("warning: the router exited, and the program lost its claim: \(error.message)")
            )
        }
    }
}
