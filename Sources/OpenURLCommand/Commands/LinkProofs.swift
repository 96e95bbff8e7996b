internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct LinksProofs: Command {
    static let configuration = CommandConfiguration(
        commandName: "proofs",
        abstract: translated("List the sites that apps claim, and whether there is a proof."),
        discussion: translated(
            "PROOF is person, administrator or site; without one, the browser gets the links. PROBLEM says why."
        ),
        examples: [
            "openurl links proofs",
            "openurl links proofs --json",
        ]
    )

    @OptionGroup var tableOptions: TableOptions

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let proofs = try RouterClient(on: invocation).call(ProofsInterface.list, Empty())
        if tableOptions.json {
            for proof in proofs { invocation.output.print(JSON(proof).text) }
            return 0
        }
        Table(
            columns: [
                Column(translated("HOST"), .cut(least: 12)), Column(translated("HANDLER"), .cut(least: 16)),
                Column(translated("PROOF")), Column(translated("PATHS"), .cut(least: 10)),
                Column(translated("CONFIRMED")), Column(translated("PROBLEM"), .cut(least: 16)),
            ],
            rows: proofs.map(\.row),
            empty: translated("No app claims links to web pages.")
        ).print(invocation, isWide: tableOptions.wide)
        return 0
    }
}

struct LinksAllow: Command {
    static let configuration = CommandConfiguration(
        commandName: "allow",
        abstract: translated("Let an app open the links to a host."),
        discussion: translated(
            "The app gets the paths that its manifest claims. 'openurl links revoke' takes the permission back."
        ),
        examples: [
            "openurl links allow example.com com.example.notes",
            "openurl links allow www.example.com com.example.notes",
        ]
    )

    @OptionGroup var host: LinkHostArgument

    @Argument(
        help: .init(translated("The bundle identifier of a handler."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try host.decide(id, LinkProof.Decision.allow.rawValue, invocation)
    }
}

struct LinksRevoke: Command {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: translated("Give the links to a host back to the browser."),
        discussion: translated("This also counts against the file of the site and against the administrator."),
        examples: [
            "openurl links revoke example.com",
            "openurl links revoke example.com com.example.notes",
        ]
    )

    @OptionGroup var host: LinkHostArgument
    @OptionGroup var handler: LinkHandlerArgument

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try host.decide(handler.id, LinkProof.Decision.deny.rawValue, invocation)
    }
}

struct LinksReset: Command {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: translated("Forget what you have decided about a host."),
        discussion: translated("The file of the site, or the administrator, then decides again."),
        examples: [
            "openurl links reset example.com",
            "openurl links reset example.com com.example.notes",
        ]
    )

    @OptionGroup var host: LinkHostArgument
    @OptionGroup var handler: LinkHandlerArgument

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try host.decide(handler.id, "", invocation)
    }
}

struct LinksAsk: Command {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: translated("Ask the sites now whether they name the apps."),
        discussion: translated("The router asks them about once a week, and never when a link is opened."),
        examples: [
            "openurl links ask",
            "openurl links ask com.example.notes",
        ]
    )

    @OptionGroup var handler: LinkHandlerArgument

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let id = handler.id ?? ""
        do throws(CommandFailure) {
            _ = try router.call(ProofsInterface.fetch, id, timeout: RouterClient.longestCall)
        } catch {
            throw handler.id.map { router.suggestingHandler(for: $0, error) } ?? error
        }
        for proof in try router.call(ProofsInterface.list, Empty()) where id.isEmpty || proof.handler == id {
            invocation.output.print(proof.sentence.printable)
        }
        return 0
    }
}

/// The host of links, given on a command line.
struct LinkHostArgument: ParsableArguments {
    @Argument(
        help: .init(translated("The host of the links, such as example.com."), valueName: "host"),
        completion: .linkHosts,
        transform: CommandLineArgument.requiredText
    )
    var host: String

    /// Sends the person's decision to the router.
    ///
    /// - Parameter id: the handler's identifier; nil for all handlers.
    func decide(_ id: String?, _ decision: String, _ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        do throws(CommandFailure) {
            let input = Arguments(host, id ?? "", decision)
            _ = try router.call(ProofsInterface.decide, input, refusal: ExitStatus.failure)
        } catch {
            throw id.map { router.suggestingHandler(for: $0, error) } ?? error
        }
        return 0
    }
}

/// The handler of links, given on a command line. Without it, all handlers are meant.
struct LinkHandlerArgument: ParsableArguments {
    @Argument(
        help: .init(translated("Only the handler with this bundle identifier."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?
}

extension LinkProof {
    fileprivate var row: [Cell] {
        [
            Cell(host), Cell(handler),
            decision == .deny
                ? Cell(LinkProof.Decision.deny.rawValue)
                : Cell(origin.rawValue, as: origin == .known(.nothing) ? .pending : .good),
            rules.isEmpty ? .absent : Cell(rules.joined(separator: ", ")),
            confirmed.map { Cell(time: $0 / 1000) } ?? .absent,
            problem.map { Cell($0) } ?? .absent,
        ]
    }

    /// The proof, or the reason why there is none, in a sentence.
    var sentence: String {
        if decision == .deny {
            return translated("\(handler) gets no links to \(host), because you have revoked them")
        }
        switch origin.known {
        case .person: return translated("\(handler) gets the links to \(host), because you have allowed it")
        case .administrator:
            return translated("\(handler) gets the links to \(host), because the administrator has installed it")
        case .site: return translated("\(handler) gets links to \(host), because the site's file names it")
        case .nothing, nil:
            let command = "openurl links allow \(host) \(handler)"
            return translated(
                "\(handler) gets no links to \(host): \(problem ?? origin.rawValue); '\(command)' allows it"
            )
        }
    }
}
