internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct List: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the handlers or the schemes."),
        examples: [
            "openurl list",
            "openurl list --schemes",
        ]
    )

    @Flag(help: .init(translated("List the schemes with their handlers, the one that gets the URLs first.")))
    var schemes = false

    @OptionGroup var tableOptions: TableOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        if schemes {
            show(try router.call(RegistryInterface.listSchemes, Empty()).sorted { $0.key < $1.key }, invocation)
        } else {
            show(try router.call(RegistryInterface.listHandlers, Empty()), invocation)
        }
        return 0
    }

    private func show(_ schemes: [(key: String, value: [String])], _ invocation: Invocation) {
        if tableOptions.json {
            for (scheme, ids) in schemes {
                invocation.output.print(JSON.object([("scheme", .string(scheme)), ("ids", .strings(ids))]).text)
            }
            return
        }
        Table(
            columns: [
                Column(translated("SCHEME"), .cut(least: 24)), Column(translated("HANDLERS"), .wrapped(least: 24)),
            ],
            rows: schemes.map { scheme, ids in
                [Cell(scheme), Cell(ids.joined(separator: ","), brief: ids.joined(separator: ", "))]
            },
            empty: translated("No scheme has a handler. Register one with 'openurl register PATH'.")
        ).print(invocation, isWide: tableOptions.wide)
    }

    private func show(_ handlers: [HandlerEntry], _ invocation: Invocation) {
        if tableOptions.json {
            for handler in handlers { invocation.output.print(JSON(handler).text) }
            return
        }
        Table(
            columns: [
                Column(translated("ID"), .cut(least: 28)), Column(translated("NAME"), .cut(least: 8)),
                Column(translated("KIND")),
                Column(translated("SCHEMES"), .cut(least: 12)), Column(translated("STATE")),
                Column(translated("PATH"), .cut(least: 16)), Column(translated("REACH")),
                Column(translated("TYPES"), .cut(least: 12)),
            ],
            rows: handlers.map(\.row),
            empty: translated("No handlers are registered. Register one with 'openurl register PATH'.")
        ).print(invocation, isWide: tableOptions.wide)
        let cut = handlers.filter(\.isCut).map { "\($0.id): \($0.warnings.joined(separator: "; "))" }
        invocation.print(notes: handlers.compactMap { $0.temporary.sentence(about: $0.id) } + cut)
    }
}

extension HandlerEntry {
    fileprivate var row: [Cell] {
        [
            Cell(id), Cell(name, brief: name == id ? Table.absent : nil), Cell(kind.rawValue),
            Cell((schemes + links).joined(separator: ",")),
            Cell(state.rawValue, as: state.known?.meaning), Cell(place), Cell(reach.rawValue),
            types.isEmpty ? .absent : Cell(types.joined(separator: ",")),
        ]
    }

    /// The sites whose links the handler claims, as URLs.
    var links: [String] { domains.map { "https://\($0)" } }

    /// The path of the bundle, the manifest or the desktop file that defines the handler.
    var place: String { bundle ?? manifest ?? desktopEntry ?? Table.absent }
}
