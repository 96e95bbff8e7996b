internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Activate: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate",
        abstract: translated("Start or wake a handler without a URL."),
        discussion: translated(
            """
            Returns when the handler is ready.
            If a handler crashes too often, the router temporarily does not start it; --reset starts it at once.
            """
        ),
        examples: [
            "openurl activate com.acme.todolist",
            "openurl activate --reset com.acme.todolist",
        ],
        aliases: ["start"]
    )

    @Flag(help: .init(translated("Do not bring the handler to the foreground.")))
    var background = false

    @Flag(help: .init(translated("Forget the handler's crashes first, so that it starts at once.")))
    var reset = false

    @OptionGroup var handlers: HandlerArguments

    var methods: [Method<String, Empty>] {
        (reset ? [LifecycleInterface.reset] : []) + [background ? LifecycleInterface.wake : LifecycleInterface.activate]
    }
}

struct Background: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "background",
        abstract: translated("Move a handler to the background."),
        discussion: translated(
            "Returns when the handler has saved its state, or has exited because its manifest says so."
        ),
        examples: [
            "openurl background com.acme.todolist",
            "openurl background com.acme.todolist com.example.hello",
        ]
    )

    @OptionGroup var handlers: HandlerArguments

    var methods: [Method<String, Empty>] { [LifecycleInterface.background] }
}

struct Suspend: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: translated("Move a handler to the background and pause it."),
        discussion: translated(
            """
            Its process takes no processor time. A URL, 'openurl activate' or a call to the handler's name on the bus wakes \
            it.
            """
        ),
        examples: [
            "openurl suspend com.acme.todolist",
            "openurl suspend com.acme.todolist com.example.hello",
        ]
    )

    @OptionGroup var handlers: HandlerArguments

    var methods: [Method<String, Empty>] { [LifecycleInterface.suspend] }
}

struct InterruptHandler: Command {
    static let configuration = CommandConfiguration(
        commandName: "interrupt",
        abstract: translated("Make an active handler inactive, until Ctrl-C."),
        discussion: translated(
            """
            The handler stays in the foreground and still gets URLs, but it pauses, as it does while the screen is locked. \
            The interruption ends with this command, with 'openurl resume', or when the handler leaves the foreground.
            """
        ),
        examples: [
            "openurl interrupt com.acme.todolist",
            "openurl interrupt com.example.hello",
        ]
    )

    @Argument(
        help: .init(translated("The bundle identifier of a handler."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try InterruptionOperation(id, invocation).perform()
    }
}

struct Resume: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: translated("End all interruptions of a handler."),
        discussion: translated(
            "Returns when the handler is active again. This also ends the interruption by a locked screen."
        ),
        examples: [
            "openurl resume com.acme.todolist",
            "openurl resume com.acme.todolist com.example.hello",
        ]
    )

    @OptionGroup var handlers: HandlerArguments

    var methods: [Method<String, Empty>] { [LifecycleInterface.resume] }
}

struct Terminate: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: translated("End a handler and forget its saved state."),
        discussion: translated("Returns when the handler's process has exited."),
        examples: [
            "openurl terminate com.acme.todolist",
            "openurl stop com.acme.todolist com.example.hello",
        ],
        aliases: ["stop"]
    )

    @OptionGroup var handlers: HandlerArguments

    var methods: [Method<String, Empty>] { [LifecycleInterface.terminate] }
}

struct Restart: LifecycleCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: translated("End a handler and start it again."),
        discussion: translated(
            """
            Use this after a build of the handler's program. \
            Does what 'terminate' and 'activate --reset' do, so the handler loses its saved state, and its crashes are forgotten. \
            A handler that is not running is just started.
            """
        ),
        examples: [
            "openurl restart com.acme.todolist",
            "openurl restart --background com.acme.todolist",
        ]
    )

    @Flag(help: .init(translated("Do not bring the handler to the foreground.")))
    var background = false

    @OptionGroup var handlers: HandlerArguments

    var methods: [Method<String, Empty>] {
        let start = background ? LifecycleInterface.wake : LifecycleInterface.activate
        return [LifecycleInterface.terminate, LifecycleInterface.reset, start]
    }
}

/// A command that calls `LifecycleInterface` methods for each handler on its command line.
protocol LifecycleCommand: Command {
    var handlers: HandlerArguments { get }
    /// The methods to call, in order. Each takes a bundle identifier.
    var methods: [Method<String, Empty>] { get }
}

/// The handlers on the command line of a ``LifecycleCommand``.
struct HandlerArguments: ParsableArguments {
    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The bundle identifier of a handler."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var ids: [String]
}

extension LifecycleCommand {
    /// Calls the methods for each handler in order. If a call fails, the other handlers' methods are still called.
    func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation)
        let printsJSON = handlers.outputOptions.json
        let batch = Batch(key: "id", printsJSON: printsJSON, invocation: invocation)
        return batch.perform(handlers.ids, name: \.self) { (id) throws(CommandFailure) in
            do throws(CommandFailure) {
                for method in methods { _ = try router.call(method, id, timeout: RouterClient.lifecycleCall) }
            } catch {
                throw router.suggestingHandler(for: id, error.ofHandler(id))
            }
            if printsJSON { invocation.output.print(JSON.object([("id", .string(id))]).text) }
        }
    }
}
