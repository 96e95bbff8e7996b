internal import ArgumentParser
internal import OpenURLBus

struct CanOpen: Command {
    static let configuration = CommandConfiguration(
        commandName: "can-open",
        abstract: "Say whether there is a handler for each URL; start none.",
        discussion: "The exit status is 0 if all can be opened, and 3 if there is no handler for one of them."
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("What to ask about.", valueName: "url"))
    var urls: [CommandLineArgument]

    func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation.bus)
        var table = Table(header: ["URL", "CAN OPEN"])
        let batch = Batch(key: "url", printsJSON: outputOptions.json, invocation: invocation)
        var canOpenAll = true
        let status = batch.perform(urls, name: \.shown) { (url) throws(CommandFailure) in
            let text = try url.urlText()
            let canOpen = try router.call(RouterInterface.canOpenURL, text)
            canOpenAll = canOpenAll && canOpen
            if outputOptions.json {
                invocation.output.print(JSON.object([("url", .string(text)), ("canOpen", .boolean(canOpen))]).text)
            } else {
                table.rows.append([text, canOpen ? "yes" : "no"])
            }
        }
        table.print(to: invocation.output)
        guard status == 0 else { return status }
        return canOpenAll ? 0 : OpenURLError.Code.noHandler.exitStatus
    }
}
