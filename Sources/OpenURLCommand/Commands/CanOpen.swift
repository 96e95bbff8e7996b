internal import ArgumentParser
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct CanOpen: Command {
    static let configuration = CommandConfiguration(
        commandName: "can-open",
        abstract: translated("Check whether you can open URLs."),
        discussion: translated(
            """
            You can open a URL if it has a handler that the policy lets you reach. Starts no handler.
            The exit status is 0 if you can open every URL, and 3 if at least one of them cannot be opened.
            """
        ),
        examples: [
            "openurl can-open todolist:",
            "openurl can-open https://a.example/ ./report.pdf",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    @Argument(help: .init(translated("A URL or a file to ask about."), valueName: "url"), completion: .urls)
    var urls: [CommandLineArgument]

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        for url in urls { try invocation.checkMeaningThere(url) }
        let router = RouterClient(on: invocation)
        var table = Table(columns: [Column(translated("URL"), .cut(least: 24)), Column(translated("CAN OPEN"))])
        let batch = Batch(key: "url", printsJSON: tableOptions.json, invocation: invocation)
        var canOpenAll = true
        let status = batch.perform(urls, name: \.shown) { (url) throws(CommandFailure) in
            let text = try url.urlText()
            let canOpen = try router.call(RouterInterface.canOpenURL, text)
            canOpenAll = canOpenAll && canOpen
            if tableOptions.json {
                invocation.output.print(JSON.object([("url", .string(text)), ("canOpen", .boolean(canOpen))]).text)
            } else {
                table.rows.append([
                    Cell(text),
                    canOpen
                        ? Cell(word: "yes", translated("yes"), as: .good)
                        : Cell(word: "no", translated("no"), as: .bad),
                ])
            }
        }
        table.print(invocation, isWide: tableOptions.wide)
        guard status == 0 else { return status }
        return canOpenAll ? 0 : OpenURLError.Code.noHandler.exitStatus
    }
}
