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
            With --all-links, openurl becomes the default for http and https, and its rules for links choose the browser. \
            The browser that was the default before opens the links that no rule covers. --undo takes this back.
            """
        ),
        examples: [
            "openurl default image/png org.gimp.GIMP.desktop",
            "openurl default --all-links",
        ]
    )

    @Flag(help: .init(translated("Remove your choice.")))
    var reset = false

    @Flag(help: .init(translated("Let openurl get all http and https links.")))
    var allLinks = false

    @Flag(help: .init(translated("With --all-links, restore what was there before.")))
    var undo = false

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The scheme, without a colon, or the MIME type, such as image/png.")),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var scheme: String?

    /// Whether the argument is a MIME type.
    private var isType: Bool { scheme?.utf8.contains(UInt8(ascii: "/")) == true }

    @Argument(
        help: .init(translated("The bundle identifier of a handler, or the name of a desktop file.")),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func validate() throws {
        if reset, id != nil { throw ValidationError(translated("use --reset without an ID")) }
        if allLinks, reset || scheme != nil { throw ValidationError(translated("use --all-links without a scheme")) }
        if undo, !allLinks { throw ValidationError(translated("use --undo with --all-links")) }
        if !allLinks, scheme == nil { throw ValidationError(translated("name a scheme or a type")) }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        guard let scheme else {
            try invocation.requireNoHost(for: "default --all-links")
            let arguments = ["--links", undo ? "--give-back" : "--take"] + (outputOptions.json ? ["--json"] : [])
            throw InstalledProgram.router.become(arguments)
        }
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
        // Without the choice, the scheme or type need not have a handler.
        guard explanation.handler == nil, !reset else { return 0 }
        if let error = explanation.error {
            invocation.errors.print(router.suggestingScheme(for: url, explanation.failure(error)))
        }
        return OpenURLError.Code.noHandler.exitStatus
    }
}
