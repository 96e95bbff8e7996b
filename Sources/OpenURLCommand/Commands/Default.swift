internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Default: Command {
    static let configuration = CommandConfiguration(
        commandName: "default",
        abstract: translated("Show or choose the handler of a scheme or file type."),
        discussion: translated(
            """
            Without an ID, prints the current handler. Your choice is stored in mimeapps.list, which the \
            desktop and other programs read too.
            """
        ),
        examples: [
            "openurl default mailto",
            "openurl default image/png org.gimp.GIMP.desktop",
        ]
    )

    @Flag(help: .init(translated("Remove your choice.")))
    var reset = false

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The scheme, without a colon, or the MIME type, such as image/png.")),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var scheme: String

    /// Whether the argument is a MIME type.
    private var isType: Bool { scheme.utf8.contains(UInt8(ascii: "/")) }

    @Argument(
        help: .init(translated("The bundle identifier of a handler, or the name of a desktop file.")),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func validate() throws {
        if reset, id != nil { throw ValidationError(translated("use --reset without an ID")) }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        if reset || id != nil {
            let input = Arguments(scheme, id ?? "")
            do throws(CommandFailure) {
                _ = try router.call(RegistryInterface.setDefault, input, refusal: ExitStatus.failure)
            } catch {
                throw id.map { router.suggestingHandler(for: $0, error) } ?? error
            }
        }
        var options = OpenOptions()
        if isType { options.contentType = scheme }
        // A type has a handler even without a file.
        let url = isType ? "file:///" : "\(scheme):"
        let explanation = try router.call(RouterInterface.explain, Arguments(url, options))
        if outputOptions.json {
            let handler = explanation.handler.map(JSON.string) ?? .null
            invocation.output.print(
                JSON.object([(isType ? "type" : "scheme", .string(scheme)), ("handler", handler)]).text
            )
        } else if let handler = explanation.handler {
            invocation.output.print(handler.printable)
        }
        guard explanation.handler == nil else { return 0 }
        if let error = explanation.error {
            invocation.errors.print(router.suggestingScheme(for: url, explanation.failure(error)))
        }
        return reset ? 0 : OpenURLError.Code.noHandler.exitStatus
    }
}
