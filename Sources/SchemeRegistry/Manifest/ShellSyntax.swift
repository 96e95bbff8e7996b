internal import UserFiles

/// A part of a word that has a meaning only to a shell. No shell reads the words in a manifest, so the program gets the
/// part as it is written.
enum ShellSyntax {
    /// A pipe, a redirection or another way to join commands.
    case joining(String)
    /// Text that a shell would replace, such as `~/` or `$HOME`.
    case replaced(String)

    private static let operators: Set = ["|", "|&", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", "&>"]

    /// Finds the first such part; nil if there is none.
    init?(in word: String) {
        if Self.operators.contains(word) || [">", "2>", "&>"].contains(where: word.hasPrefix) {
            self = .joining(word)
        } else if word == "~" || word.hasPrefix("~/") {
            self = .replaced("~")
        } else if let match = word.firstMatch(of: /\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^}]*\}|\([^)]*\))|`[^`]*`/) {
            self = .replaced(String(match.output))
        } else {
            return nil
        }
    }

    /// The warning about the part, worded to follow the key.
    var reason: String {
        switch self {
        case .joining(let text):
            "is '\(printable(text))', but no shell reads this command; to use one, write the strings sh, -c, the script "
                + "with \"$1\" in place of the URL, sh and %u"
        case .replaced(let text): "has '\(printable(text))', but no shell reads it; write what it stands for"
        }
    }
}

extension HandlerManifest {
    /// Warnings about the words that would need a shell. The scripts of interpreters are left out.
    var shellSyntax: [ManifestProblem] {
        let words = command?.words ?? [executable?.description ?? ""] + arguments
        let scripts = ProgramText(in: words).indices
        let found = words.indices.dropFirst().filter { !scripts.contains($0) }.compactMap { index in
            let key = command == nil ? "OUArguments[\(index - 1)]" : "OUCommand[\(index)]"
            return ShellSyntax(in: words[index]).map { ManifestProblem(key: key, reason: $0.reason) }
        }
        return found
            + environment.sorted { $0.key < $1.key }.compactMap { name, value in
                guard let syntax = ShellSyntax(in: value), case .replaced = syntax else { return nil }
                return ManifestProblem(key: "OUEnvironment.\(printable(name))", reason: syntax.reason)
            }
    }
}
