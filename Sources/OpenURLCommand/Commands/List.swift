internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import URLOpener

struct List: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the handlers or the schemes."
    )

    @Flag(help: "List the schemes with their handlers, the one that gets the URLs first.")
    var schemes = false

    @OptionGroup var outputOptions: OutputOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        if schemes {
            let schemes = try router.call(RegistryInterface.listSchemes, Empty()).sorted { $0.key < $1.key }
            if outputOptions.json {
                for (scheme, ids) in schemes {
                    invocation.output.print(JSON.object([("scheme", .string(scheme)), ("ids", .strings(ids))]).text)
                }
            } else {
                let rows = schemes.map { [$0.key, $0.value.joined(separator: ",")] }
                Table(header: ["SCHEME", "HANDLERS"], rows: rows).print(to: invocation.output)
            }
        } else {
            let handlers = try router.call(RegistryInterface.listHandlers, Empty())
            if outputOptions.json {
                for handler in handlers { invocation.output.print(JSON(handler).text) }
            } else {
                let rows = handlers.map { handler in
                    [
                        handler.id, handler.name, handler.kind.rawValue, handler.schemes.joined(separator: ","),
                        handler.state.rawValue, handler.place, handler.reach.rawValue,
                        handler.types.isEmpty ? Table.absent : handler.types.joined(separator: ","),
                    ]
                }
                Table(header: ["ID", "NAME", "KIND", "SCHEMES", "STATE", "PATH", "REACH", "TYPES"], rows: rows)
                    .print(to: invocation.output)
                let cut = handlers.filter(\.isCut).map { "\($0.id): \($0.warnings.joined(separator: "; "))" }
                let notes = handlers.compactMap { $0.temporary.sentence(about: $0.id) } + cut
                if !notes.isEmpty { invocation.output.print("") }
                Table(rows: notes.map { [$0] }).print(to: invocation.output)
            }
        }
        return 0
    }
}

extension HandlerEntry {
    /// Where the handler is defined: the path of its bundle, its manifest or its desktop file.
    var place: String { bundle ?? manifest ?? desktopEntry ?? Table.absent }
}
