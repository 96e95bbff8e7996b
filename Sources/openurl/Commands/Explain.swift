internal import ArgumentParser
internal import DBus
internal import OpenURLBus

struct Explain: Command {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say what would open a URL, and why; open nothing.",
        discussion: """
            Prints the URL's parts, what would get it, and everything that claims it with the reason why it won or lost.
            The exit status is the one that opening it would begin with: 0, or 3 where nothing handles it, 7 where it is \
            not allowed.
            """
    )

    @Option(help: "Only this handler.", transform: CommandLineArgument.requiredText)
    var handler: String?

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("What to explain.", valueName: "url"))
    var url: CommandLineArgument

    func perform(_ output: StandardOutput) throws(Failure) -> Int32 {
        var options = OpenOptions()
        options.handler = handler
        let explanation = try Router().call(RouterInterface.explain, Arguments(url.urlText(), options))
        if outputOptions.json {
            output.print(JSON(explanation).text)
        } else {
            Table(rows: explanation.rows).print(to: output)
            let candidates = explanation.candidates.map { candidate in
                [
                    candidate.wins ? "wins" : "loses", candidate.id, candidate.kind.rawValue,
                    candidate.host ?? Table.absent, candidate.reason,
                ]
            }
            if !candidates.isEmpty { output.print("") }
            Table(header: ["", "CANDIDATE", "KIND", "HOST", "REASON"], rows: candidates).print(to: output)
        }
        guard let error = explanation.error else { return 0 }
        if !outputOptions.json { StandardError.print(error.message) }
        let code = OpenURLError.Code.allCases.first { $0.errorName.rawValue == error.name }
        return code?.exitStatus ?? ExitStatus.failure
    }
}

extension Explanation {
    fileprivate var rows: [[String]] {
        var rows = [["url", url]]
        for name in Self.partNames {
            if let text = parts[name] { rows.append([name, text.isEmpty ? "\"\"" : text]) }
        }
        rows.append(["goes to", handler ?? Table.absent])
        if let transport { rows.append(["transport", transport.rawValue]) }
        if let state { rows.append(["state", state.rawValue]) }
        if let allowedSources { rows.append(["allowed from", allowedSources.joined(separator: ",")]) }
        return rows
    }
}
