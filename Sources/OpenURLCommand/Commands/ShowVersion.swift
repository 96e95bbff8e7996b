internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Release
internal import Translations
internal import URLOpener

struct ShowVersion: Command {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: translated("Print the versions of openurl and of the router."),
        examples: [
            "openurl version",
            "openurl --host alice@box version",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = try routerVersion(for: invocation)
        if outputOptions.json {
            let members: [(name: String, value: JSON)] = [
                ("openurl", .string(Version.current)), ("router", router.map { .string($0) } ?? .null),
            ]
            invocation.output.print(JSON.object(members).text)
        } else {
            invocation.output.print(Invocation.version)
            if let router { invocation.output.print("openurld \(router.printable)") }
        }
        return 0
    }

    private func routerVersion(for invocation: Invocation) throws(CommandFailure) -> String? {
        do throws(CommandFailure) {
            return try RouterClient(on: invocation).runningVersion()
        } catch  where invocation.host == nil {
            // The version of this program is useful even without a bus or an answer.
            return nil
        }
    }
}
