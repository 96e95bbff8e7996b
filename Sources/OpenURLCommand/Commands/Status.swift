internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Reactor
internal import Translations
internal import URLOpener

struct Status: Command {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: translated("Show the states, processes and memory of the handlers."),
        discussion: translated("For one handler, also shows its latest request, and the last lines of its output."),
        examples: [
            "openurl status",
            "openurl status com.acme.todolist",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    @Argument(
        help: .init(translated("Show the handler with this bundle identifier in detail.")),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let handlers = try router.call(LifecycleInterface.list, Empty())
        if let id { return try show(id, handlers, router, invocation) }
        if tableOptions.json {
            for handler in handlers { invocation.output.print(JSON(handler).text) }
            return 0
        }
        Table(
            columns: [
                Column(translated("ID"), .cut(least: 28)), Column(translated("STATE")), Column(translated("PID")),
                Column(translated("SINCE")), Column(translated("MEMORY")), Column(translated("TASKS"), .cut(least: 8)),
            ],
            rows: handlers.map(\.row),
            empty: translated("No handlers are registered. Register one with 'openurl register PATH'.")
        ).print(invocation, isWide: tableOptions.wide)
        invocation.print(notes: handlers.flatMap(\.notes))
        return 0
    }

    private func show(
        _ id: String,
        _ handlers: [HandlerStatus],
        _ router: RouterClient,
        _ invocation: Invocation
    ) throws(CommandFailure) -> Int32 {
        guard let status = handlers.first(where: { $0.id == id }) else {
            let registered = try router.call(RegistryInterface.listHandlers, Empty())
            if registered.contains(where: { $0.id == id }) {
                let reason = translated("\(id) has no process of its own: an application of the desktop opens its URLs")
                throw CommandFailure(OpenURLError(.noHandler, reason))
            }
            throw router.suggestingHandler(for: id, CommandFailure(unknownHandler: id))
        }
        let details = HandlerDetails(status, from: router, invocation)
        if tableOptions.json {
            invocation.output.print(details.json.text)
        } else {
            details.print(to: invocation.output, TerminalStyle(invocation))
        }
        return 0
    }
}

extension Reported<TemporaryRegistration> {
    /// Returns a note if a handler is registered only temporarily; nil otherwise.
    func sentence(about id: String) -> String? {
        switch self {
        case .known(.registration): translated("\(id) is registered until the router exits")
        case .known(.claim): translated("\(id) claims its schemes while its program runs")
        case .unknown(let word): word.isEmpty ? nil : translated("\(id) is registered only temporarily (\(word))")
        }
    }
}

extension HandlerStatus {
    var row: [Cell] {
        [
            Cell(id), Cell(state.rawValue, as: meaning), pid.map { Cell(String($0)) } ?? .absent,
            since.map { Cell(time: $0) } ?? .absent, memoryText.map { Cell($0) } ?? .absent,
            backgroundTasks.isEmpty ? .absent : Cell(backgroundTasks.joined(separator: ", ")),
        ]
    }

    /// The resident memory in the largest unit; nil without a process.
    var memoryText: String? { residentMemory.map(Self.size) }

    /// When and how the last process ended; nil if none has.
    var lastEnd: String? {
        guard let ended else { return nil }
        let time = LocalTime.text(ended)
        if let exitStatus { return translated("\(time), with exit status \(exitStatus)") }
        guard let signal else { return time }
        let cause = ProcessExit.text(ofSignal: CInt(truncatingIfNeeded: signal))
        return translated("\(time), by signal \(cause)")
    }

    /// The sentences about the handler that have no column in the table.
    var notes: [String] {
        [unregistered, lifetime, startedByHand, earlierProgram, overdue, quarantine].compactMap(\.self)
    }

    /// A note if the process still runs but its handler is no longer registered; nil otherwise.
    var unregistered: String? {
        isRegistered
            ? nil
            : translated(
                "\(id) is no longer registered, but its process is still running; 'openurl terminate \(id)' ends it"
            )
    }

    /// A note if the handler is registered only temporarily; nil otherwise.
    var lifetime: String? { temporary.sentence(about: id) }

    /// A note if no router started the process; nil otherwise.
    var startedByHand: String? {
        isVerified || temporary == .known(.claim)
            ? nil
            : translated(
                "\(id) was started by hand; it gets URLs, but the URLs that it opens do not carry its identifier"
            )
    }

    /// A note if the process runs an earlier program; nil otherwise.
    var earlierProgram: String? { runsEarlierProgram ? earlierProgramNote(of: id) : nil }

    /// A note if the handler has not answered a request in time; nil otherwise.
    var overdue: String? {
        isOverdue ? translated("\(id) has not answered a request in time, and gets no other until it does") : nil
    }

    /// A note if the handler is temporarily not started; nil otherwise.
    var quarantine: String? {
        quarantinedUntil.map { end in
            translated(
                """
                \(id) crashed too often and will not be started until \(LocalTime.text(end)); 'openurl activate --reset \(id)' \
                starts it now
                """
            )
        }
    }

    /// Returns a number of bytes in the largest unit that gives at least 1, rounded down to one decimal.
    private static func size(_ bytes: UInt64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var unit: UInt64 = 1024
        var names = ["KiB", "MiB", "GiB", "TiB"][...]
        while bytes / unit >= 1024, names.count > 1 {
            unit *= 1024
            names.removeFirst()
        }
        let tenths = bytes % unit * 10 / unit
        return "\(bytes / unit).\(tenths) \(names.first ?? "")"
    }
}
