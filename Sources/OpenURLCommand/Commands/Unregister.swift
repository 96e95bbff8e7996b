internal import ArgumentParser
internal import OpenURLBus

struct Unregister: Command {
    static let configuration = CommandConfiguration(
        commandName: "unregister",
        abstract: "Remove handlers that register has added."
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init("The bundle identifier of a handler.", valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var ids: [String]

    func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(for: invocation)
        let batch = Batch(key: "id", printsJSON: outputOptions.json, invocation: invocation)
        return batch.perform(ids, name: \.self) { (id) throws(CommandFailure) in
            do throws(CommandFailure) {
                _ = try router.call(RegistryInterface.unregister, id, refusal: ExitStatus.failure)
            } catch {
                throw router.suggestingHandler(for: id, error)
            }
            if outputOptions.json { invocation.output.print(JSON.object([("id", .string(id))]).text) }
        }
    }
}
