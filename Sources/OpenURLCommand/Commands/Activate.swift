internal import ArgumentParser
internal import DBus
internal import OpenURLBus

struct Activate: Command {
    static let configuration = CommandConfiguration(
        commandName: "activate",
        abstract: "Start or wake a handler without a URL.",
        discussion: "Returns when the handler is ready."
    )

    @OptionGroup var outputOptions: OutputOptions

    @Flag(help: "Leave the foreground as it is.")
    var background = false

    @OptionGroup var handlers: HandlerArguments

    func perform(_ invocation: Invocation) -> Int32 {
        let method = background ? LifecycleInterface.wake : LifecycleInterface.activate
        return handlers.call(method, outputOptions, invocation)
    }
}

struct Background: Command {
    static let configuration = CommandConfiguration(
        commandName: "background",
        abstract: "Take a handler to the background.",
        discussion: "Returns when the handler has saved its state, or has ended because its manifest says so."
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var handlers: HandlerArguments

    func perform(_ invocation: Invocation) -> Int32 {
        handlers.call(LifecycleInterface.background, outputOptions, invocation)
    }
}

struct Suspend: Command {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract: "Take a handler to the background and stop its process.",
        discussion: "A URL, 'openurl activate' or a call of its name on the bus wakes it."
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var handlers: HandlerArguments

    func perform(_ invocation: Invocation) -> Int32 {
        handlers.call(LifecycleInterface.suspend, outputOptions, invocation)
    }
}

struct Terminate: Command {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: "End a handler and forget the state that it has saved.",
        discussion: "Returns when the handler's process is gone."
    )

    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var handlers: HandlerArguments

    func perform(_ invocation: Invocation) -> Int32 {
        handlers.call(LifecycleInterface.terminate, outputOptions, invocation)
    }
}

/// The handlers that a command of the lifecycle is for.
struct HandlerArguments: ParsableArguments {
    @Argument(
        help: .init("A handler's bundle identifier.", valueName: "id"),
        transform: CommandLineArgument.requiredText
    )
    var ids: [String]

    /// Calls a method for each of them, in order; one that fails does not stop the rest.
    ///
    /// - Returns: the exit status.
    func call(_ method: Method<String, Empty>, _ options: OutputOptions, _ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation.bus)
        let batch = Batch(key: "id", printsJSON: options.json, invocation: invocation)
        return batch.perform(ids, name: \.self) { (id) throws(CommandFailure) in
            // The router bounds the time itself.
            _ = try router.call(method, id, timeout: nil)
            if options.json { invocation.output.print(JSON.object([("id", .string(id))]).text) }
        }
    }
}
