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

    @Argument(
        help: .init("A handler's bundle identifier.", valueName: "id"),
        transform: CommandLineArgument.requiredText
    )
    var ids: [String]

    func perform(_ output: StandardOutput) -> Int32 {
        let router = Router()
        let batch = Batch(key: "id", printsJSON: outputOptions.json, output: output)
        return batch.perform(ids, name: \.self) { (id) throws(Failure) in
            // The router bounds the time itself.
            _ = try router.call(LifecycleInterface.activate, id, timeout: nil)
            if outputOptions.json { output.print(JSON.object([("id", .string(id))]).text) }
        }
    }
}
