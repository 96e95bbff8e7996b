internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Explain: Command {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: translated("Show which handler would open a URL, and why."),
        discussion: translated(
            """
            Opens nothing. Prints the parts of the URL, its handler, and every candidate with the reason why it wins or \
            loses.
            The exit status is 0 if a handler may get the URL, even if its program is missing, 3 if no handler claims it \
            or the sender may not learn of the handler, and 7 if the handler does not accept URLs from the sender or the \
            policy denies the URL.
            """
        ),
        examples: [
            "openurl explain https://a.example/",
            "openurl explain --source sandboxed tel:1234",
        ]
    )

    @Option(
        help: .init(translated("Consider this handler only.")),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var handler: String?

    @Option(
        help: .init(translated("Decide as if the desktop passed the URL through this entry."), valueName: "file"),
        transform: CommandLineArgument.requiredText
    )
    var desktopEntry: String?

    @Option(
        help: .init(translated("Decide as for a sender of this class, such as sandboxed."), valueName: "class"),
        completion: .list(CallerClass.allCases.map(\.rawValue)),
        transform: CallerClass.init(argument:)
    )
    var source: CallerClass?

    @OptionGroup var tableOptions: TableOptions

    @Argument(help: .init(translated("The URL or the file to explain."), valueName: "url"), completion: .urls)
    var url: CommandLineArgument

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.checkMeaningThere(url)
        var options = OpenOptions()
        options.handler = handler
        options.desktopEntry = desktopEntry
        options.senderClass = source
        let router = RouterClient(on: invocation)
        let explanation = try router.call(
            RouterInterface.explain,
            Arguments(url.urlText(passedBy: desktopEntry), options)
        )
        if tableOptions.json {
            invocation.output.print(JSON(explanation).text)
        } else {
            let rows = explanation.rows(from: source)
            Table(rows: rows.map { [Cell(word: $0, Explanation.label($0)), $1] }).print(invocation)
            let candidates = explanation.candidates.map { candidate -> [Cell] in
                [
                    candidate.wins ? Cell(word: "wins", translated("wins")) : Cell(word: "loses", translated("loses")),
                    Cell(candidate.id),
                    Cell(candidate.kind.rawValue), candidate.host.map { Cell($0) } ?? .absent, Cell(candidate.reason),
                ]
            }
            if !candidates.isEmpty { invocation.output.print("") }
            Table(
                columns: [
                    "", Column(translated("CANDIDATE"), .cut(least: 28)), Column(translated("KIND")),
                    Column(translated("HOST"), .cut(least: 8)),
                    Column(translated("REASON"), .wrapped(least: 16)),
                ],
                rows: candidates
            ).print(invocation, isWide: tableOptions.wide)
        }
        guard let error = explanation.error else { return 0 }
        let failure = explanation.failure(error)
        if !tableOptions.json { invocation.errors.print(router.suggestingName(for: url.shown, handler, failure)) }
        return failure.exitStatus
    }
}

extension CallerClass {
    /// Reads a class, such as `sandboxed`, without regard to case.
    ///
    /// - Throws: `ValidationError`.
    fileprivate init(argument: String) throws {
        guard let known = Self(rawValue: argument.lowercased()) else {
            let classes = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(translated("write a class of senders: \(classes)"))
        }
        self = known
    }
}

extension Explanation {
    /// Returns the failure that opening the URL would cause.
    func failure(_ error: (name: String, message: String)) -> CommandFailure {
        let code = OpenURLError.Code.allCases.first { $0.errorName.rawValue == error.name }
        let failure = code.map { CommandFailure(OpenURLError($0, error.message).withOutcome) }
        return failure ?? CommandFailure(.failed, error.message, exitStatus: ExitStatus.failure)
    }

    /// Returns the rows of a table about the URL and its handler.
    ///
    /// - Parameter source: the class of the assumed sender; nil if the sender is this program.
    fileprivate func rows(from source: CallerClass?) -> [(name: String, cell: Cell)] {
        var rows: [(name: String, cell: Cell)] = [("url", Cell(url))]
        for name in Self.partNames {
            if let text = parts[name] { rows.append((name, Cell(text.isEmpty ? "\"\"" : text))) }
        }
        if let contentType { rows.append(("type", Cell(contentType))) }
        if let linkRule { rows.append(("rule", Cell(linkRule))) }
        if let changedURL { rows.append(("opens", Cell(changedURL))) }
        if let source {
            let text = "assumed to be of the class \(source.rawValue)"
            rows.append(("sender", Cell(word: text, translated("assumed to be of the class \(source.rawValue)"))))
        }
        rows.append(("goes to", Cell(handler ?? Table.absent)))
        if handler != nil, let error { rows.append(("refused", Cell(error.message))) }
        if let meaning = typeName ?? urlName { rows.append(("meaning", Cell(meaning))) }
        if let transport { rows.append(("transport", Cell(transport.rawValue))) }
        if let state { rows.append(("state", Cell(state.rawValue))) }
        if let handler, let quarantinedUntil {
            let end = LocalTime.text(quarantinedUntil)
            let sentence = Cell(
                word: "crashed too often; will not be started until \(end); "
                    + "'openurl activate --reset \(handler)' starts it now",
                translated(
                    """
                    crashed too often; will not be started until \(end); \
                    'openurl activate --reset \(handler)' starts it now
                    """
                )
            )
            rows.append(("quarantine", sentence))
        }
        if let programProblem { rows.append(("program", Cell(programProblem))) }
        if let reach, reach != .known(.everyone) { rows.append(("reach", Cell(reach.rawValue))) }
        if let allowedSources { rows.append(("allowed from", Cell(allowedSources.joined(separator: ",")))) }
        if answersCallbacks == true {
            let text = "opened with the handler's reply"
            rows.append(("callbacks", Cell(word: text, translated("opened with the handler's reply"))))
        }
        if let decision {
            rows.append(("policy", Cell("\(decision.rawValue)\(decisionReason.map { ": \($0)" } ?? "")")))
        }
        return rows
    }

    /// Returns the name of a row for people. The names of a URL's parts are those of RFC 1808.
    fileprivate static func label(_ name: String) -> String {
        switch name {
        case "type": translated("type")
        case "rule": translated("rule")
        case "opens": translated("opens")
        case "sender": translated("sender")
        case "goes to": translated("goes to")
        case "refused": translated("refused")
        case "meaning": translated("meaning")
        case "transport": translated("transport")
        case "state": translated("state")
        case "quarantine": translated("quarantine")
        case "program": translated("program")
        case "reach": translated("reach")
        case "allowed from": translated("allowed from")
        case "callbacks": translated("callbacks")
        case "policy": translated("policy")
        default: name
        }
    }
}
