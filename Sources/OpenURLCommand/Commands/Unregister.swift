internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Unregister: Command {
    static let configuration = CommandConfiguration(
        commandName: "unregister",
        abstract: translated("Remove handlers that 'register' has added."),
        examples: [
            "openurl unregister com.example.hello",
            "openurl unregister com.example.hello com.example.python",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The bundle identifier of a handler."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var ids: [String]

    func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation)
        let batch = Batch(key: "id", printsJSON: outputOptions.json, invocation: invocation)
        return batch.perform(ids, name: \.self) { (id) throws(CommandFailure) in
            do throws(CommandFailure) {
                _ = try router.call(RegistryInterface.unregister, id, refusal: ExitStatus.failure)
            } catch {
                throw router.suggestingHandler(for: id, error.ofHandler(id))
            }
            let running = try router.call(LifecycleInterface.list, Empty()).first { $0.id == id && !$0.isRegistered }
            if outputOptions.json {
                let pid = running?.pid.map { [("pid", JSON.number($0))] } ?? []
                invocation.output.print(JSON.object([("id", .string(id))] + pid).text)
            } else if let running {
                invocation.errors.print(
                    running.pid.map { pid in
                        translated(
                            """
                            \(id) is no longer registered, but its process \(pid) is still running; 'openurl terminate \(id)' ends it
                            """
                        )
                    } ?? running.unregistered ?? ""
                )
            }
        }
    }
}
