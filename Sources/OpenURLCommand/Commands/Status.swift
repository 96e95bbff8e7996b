internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import URLOpener

struct Status: Command {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the states, processes and memory of the handlers."
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: "Show only the handler with this bundle identifier.",
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        var handlers = try router.call(LifecycleInterface.list, Empty())
        if let id {
            handlers = handlers.filter { $0.id == id }
            guard !handlers.isEmpty else {
                let registered = try router.call(RegistryInterface.listHandlers, Empty())
                if registered.contains(where: { $0.id == id }) {
                    let reason = "\(id) has no process of its own: an application of the desktop opens its URLs"
                    throw CommandFailure(OpenURLError(.noHandler, reason))
                }
                throw router.suggestingHandler(for: id, CommandFailure(unknownHandler: id))
            }
        }
        if outputOptions.json {
            for handler in handlers { invocation.output.print(JSON(handler).text) }
        } else if handlers.isEmpty {
            invocation.errors.print("no handler is registered; 'openurl register PATH' adds one")
        } else {
            Table(header: ["ID", "STATE", "PID", "SINCE", "MEMORY", "TASKS"], rows: handlers.map(\.row))
                .print(to: invocation.output)
            let notes = handlers.flatMap { handler in
                [handler.unregistered, handler.lifetime, handler.startedByHand, handler.quarantine].compactMap(\.self)
            }
            if !notes.isEmpty { invocation.output.print("") }
            Table(rows: notes.map { [$0] }).print(to: invocation.output)
        }
        return 0
    }
}

extension Reported<TemporaryRegistration> {
    /// Returns a note if a handler is registered only temporarily; nil otherwise.
    func sentence(about id: String) -> String? {
        switch self {
        case .known(.registration): "\(id) is registered until the router exits"
        case .known(.claim): "\(id) claims its schemes while its program runs"
        case .unknown(let word): word.isEmpty ? nil : "\(id) is registered only temporarily (\(word))"
        }
    }
}

extension HandlerStatus {
    var row: [String] {
        [
            id, state.rawValue, pid.map(String.init) ?? Table.absent, since.map(LocalTime.text) ?? Table.absent,
            residentMemory.map(Self.size) ?? Table.absent,
            backgroundTasks.isEmpty ? Table.absent : backgroundTasks.joined(separator: ", "),
        ]
    }

    /// A note if the process still runs but its handler is no longer registered; nil otherwise.
    var unregistered: String? {
        isRegistered
            ? nil : "\(id) is no longer registered, but its process is still running; 'openurl terminate \(id)' ends it"
    }

    /// A note if the handler is registered only temporarily; nil otherwise.
    var lifetime: String? { temporary.sentence(about: id) }

    /// A note if no router started the process; nil otherwise.
    var startedByHand: String? {
        isVerified || temporary == .known(.claim)
            ? nil : "\(id) was started by hand; it gets URLs, but the URLs that it opens do not carry its identifier"
    }

    /// A note if the handler is temporarily not started; nil otherwise.
    var quarantine: String? {
        quarantinedUntil.map { end in
            "\(id) crashed too often and is not started before \(LocalTime.text(end)); "
                + "'openurl activate --reset \(id)' starts it now"
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
