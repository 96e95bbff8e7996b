internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Spelling
internal import Translations
internal import URLOpener

struct Tasks: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tasks",
        abstract: translated("Show, try and remove the tasks that handlers do in the background."),
        examples: [
            "openurl tasks",
            "openurl tasks run com.acme.todolist sync",
        ],
        subcommands: [TasksList.self, TasksRun.self, TasksCancel.self],
        defaultSubcommand: TasksList.self
    )
}

struct TasksList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the tasks."),
        discussion: translated(
            """
            NEXT is the earliest time; the router may wait a tenth of the time longer, or five minutes, for other tasks.
            When its time has come, a task waits until everything that it needs is true.
            """
        ),
        examples: [
            "openurl tasks list",
            "openurl tasks list com.acme.todolist --wide",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    @Argument(
        help: .init(translated("List only the tasks of the handler with this bundle identifier."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let tasks = try RouterClient(on: invocation).tasks(of: id)
        if tableOptions.json {
            for task in tasks { invocation.output.print(JSON(task).text) }
            return 0
        }
        Table(
            columns: [
                Column(translated("HANDLER"), .cut(least: 16)), Column(translated("NAME"), .cut(least: 8)),
                Column(translated("STATE")), Column(translated("NEXT")), Column(translated("EVERY")),
                Column(translated("NEEDS")),
                Column(translated("FAILURES")), Column(translated("ERROR"), .cut(least: 16)),
            ],
            rows: tasks.map(\.row),
            empty: id == nil ? translated("No handler has tasks.") : translated("The handler has no tasks.")
        ).print(invocation, isWide: tableOptions.wide)
        return 0
    }
}

struct TasksRun: Command {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: translated("Run a task now, without regard to its time and to what it needs."),
        discussion: translated("Prints the handler's answer: new-data, no-data or failed."),
        examples: [
            "openurl tasks run com.acme.todolist sync",
            "openurl tasks run --json com.acme.todolist fetch",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var handler: TaskHandlerArgument

    @Argument(
        help: .init(translated("The task's name."), valueName: "name"),
        completion: .tasks,
        transform: CommandLineArgument.requiredText
    )
    var name: String

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let input = Arguments(handler.id, name)
        let result: Reported<TaskResult>
        do throws(CommandFailure) {
            result = try router.call(TasksInterface.run, input, timeout: RouterClient.longestCall)
        } catch {
            let failure = error.ofHandler(handler.id).ofMissingItem
            throw outputOptions.json ? failure : router.suggestingHandler(for: handler.id, failure)
        }
        if outputOptions.json {
            invocation.output.print(JSON.object([("result", .string(result.rawValue))]).text)
        } else {
            invocation.output.print(result.rawValue.printable)
        }
        return result == .known(.failed) ? ExitStatus.failure : 0
    }
}

struct TasksCancel: Command {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: translated("Remove tasks."),
        discussion: translated(
            "A task that is running is not interrupted. The handler may schedule it again at its next launch."
        ),
        examples: [
            "openurl tasks cancel com.acme.todolist sync",
            "openurl tasks cancel --all com.acme.todolist",
        ]
    )

    @Flag(help: .init(translated("Select every task of the handler.")))
    var all = false

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var handler: TaskHandlerArgument

    @Argument(
        help: .init(translated("A task's name."), valueName: "name"),
        completion: .tasks,
        transform: CommandLineArgument.requiredText
    )
    var names: [String] = []

    func validate() throws {
        if all == names.isEmpty { return }
        throw ValidationError(
            all ? translated("use --all without names") : translated("give the names of the tasks, or use --all")
        )
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        // The router accepts any name, because a handler may cancel a task that is already over.
        let known = try router.tasks(of: handler.id).map(\.name)
        if all {
            _ = try router.call(TasksInterface.cancel, Arguments(handler.id, ""))
            for name in known { report(name, invocation) }
            return 0
        }
        let batch = Batch(key: "name", printsJSON: outputOptions.json, invocation: invocation)
        return batch.perform(names, name: \.self) { (name) throws(CommandFailure) in
            guard known.contains(name) else {
                let id = handler.id
                let problem = translated("\(id) has no task '\(name)'; 'openurl tasks \(id)' lists its tasks")
                let message = outputOptions.json ? problem : asking(whether: name.nearest(in: known), problem)
                throw CommandFailure(.failed, message, exitStatus: ExitStatus.failure)
            }
            _ = try router.call(TasksInterface.cancel, Arguments(handler.id, name))
            report(name, invocation)
        }
    }

    private func report(_ name: String, _ invocation: Invocation) {
        if outputOptions.json { invocation.output.print(JSON.object([("name", .string(name))]).text) }
    }
}

/// The handler of a task, given on a command line.
struct TaskHandlerArgument: ParsableArguments {
    @Argument(
        help: .init(translated("The bundle identifier of a handler."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String
}

extension RouterClient {
    /// Returns the tasks of a handler; all tasks without an identifier.
    ///
    /// - Throws: the failure for an identifier that no handler has, with the one that was probably meant.
    fileprivate func tasks(of id: String?) throws(CommandFailure) -> [ScheduledTask] {
        let all = try call(TasksInterface.list, Empty())
        guard let id else { return all }
        let tasks = all.filter { $0.handler == id }
        if tasks.isEmpty { try checkHandler(id) }
        return tasks
    }
}

extension ScheduledTask {
    var row: [Cell] {
        let needs = state == .known(.waiting) && !unmet.isEmpty ? unmet : requirements
        return [
            Cell(handler), Cell(name), Cell(state.rawValue, as: state.meaning), Cell(time: next / 1000, isExact: true),
            interval.map { Cell(Self.words($0)) } ?? .absent,
            needs.isEmpty ? .absent : Cell(needs.map(\.rawValue).joined(separator: ",")), Cell("\(failures)"),
            error.map { Cell(CommandFailure($0.name, $0.message, exitStatus: 0).lines[0]) } ?? .absent,
        ]
    }

    /// Returns a time in its largest whole unit, such as `90m`.
    private static func words(_ milliseconds: UInt64) -> String {
        let units: [(UInt64, String)] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")]
        let unit = units.first { milliseconds % $0.0 == 0 } ?? (1, "ms")
        return "\(milliseconds / unit.0)\(unit.1)"
    }
}

extension Reported<ScheduledTask.State> {
    fileprivate var meaning: TerminalStyle.Meaning? {
        switch known {
        case .scheduled, nil: nil
        case .waiting: .pending
        case .running: .good
        }
    }
}
