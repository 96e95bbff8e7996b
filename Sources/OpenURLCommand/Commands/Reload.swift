internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Reload: Command {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: translated("Read all manifests and entries again."),
        discussion: translated(
            """
            The router notices changes by itself, except on file systems that report none. Prints the problems that it finds, with \
            their files.
            """
        ),
        examples: [
            "openurl reload",
            "openurl reload --json",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let problems = try RouterClient(on: invocation).call(RegistryInterface.reload, Empty())
        for (file, problem) in problems.sorted(by: { $0.key < $1.key }) {
            guard !outputOptions.json else {
                invocation.output.print(JSON.object([("file", .string(file)), ("message", .string(problem))]).text)
                continue
            }
            for line in problem.split(separator: "\n") { invocation.output.print("\(file): \(line)".printable) }
        }
        return 0
    }
}
