internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Check: Command {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: translated("Check manifests before they are registered."),
        discussion: translated(
            """
            Prints every problem that 'register' or a launch would find, with its line: misspelt keys, values of the wrong type, a \
            missing program, and more. Registers nothing.
            The exit status is 0 if the handler can be registered, even with warnings, 65 if it cannot, and 66 if there is no such file.
            """
        ),
        examples: [
            "openurl check com.example.hello.plist",
            "openurl check com.example.hello",
        ]
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(
            translated("The path of a bundle or a manifest, or the identifier of a handler."),
            valueName: "path"
        ),
        completion: .manifests
    )
    var handlers: [CommandLineArgument]

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "check")
        let router = RouterClient(on: invocation)
        let batch = Batch(key: "file", printsJSON: outputOptions.json, invocation: invocation)
        var status: Int32 = 0
        let failure = batch.perform(handlers, name: \.shown) { (handler) throws(CommandFailure) in
            // A name without a slash is an identifier, unless a file has this name, or the name ends with a manifest's
            // suffix. An empty text can be neither.
            let isFile =
                handler.isPath || handler.namesFile || handler.bytes.isEmpty || handler.shown.hasSuffix(".plist")
            let text = isFile ? try handler.manifestPath() : handler.shown
            let findings: [ManifestFinding]
            do throws(CommandFailure) {
                findings = try router.call(RegistryInterface.check, text)
            } catch {
                throw isFile ? error : router.suggestingHandler(for: text, error.ofHandler(text))
            }
            if findings.contains(where: { $0.severity != .known(.warning) }) { status = ExitStatus.dataError }
            if outputOptions.json {
                for finding in findings { invocation.output.print(JSON(finding).text) }
            } else {
                for finding in findings { invocation.output.print(finding.line(of: handler.shown).printable) }
                if findings.isEmpty {
                    invocation.output.print(translated("\(handler.shown.printable): no problems found"))
                }
            }
        }
        return failure == 0 ? status : failure
    }
}

extension ManifestFinding {
    /// Formats the finding as compilers do, `file:line: severity: key: message`, so that editors can jump to the line.
    fileprivate func line(of name: String) -> String {
        let place = (file ?? name) + (line.map { ":\($0)" } ?? "")
        return [place, severity.rawValue, key, message].compactMap { $0 }.joined(separator: ": ")
    }
}
