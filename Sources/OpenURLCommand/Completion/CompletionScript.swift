internal import ArgumentParser
internal import Translations
internal import URLOpener

/// The script that a shell uses to ask for completions. It replaces the parser's own scripts, which would run commands
/// that appear in file names.
struct CompletionScript {
    private let shell: String?

    /// Answers `--generate-completion-script`, which the parser would accept anywhere before `--`.
    ///
    /// - Returns: nil without the option.
    init?(requestedBy arguments: [String]) {
        let option = "--generate-completion-script"
        let own = arguments.prefix { $0 != "--" }
        guard let index = own.firstIndex(where: { $0 == option || $0.hasPrefix("\(option)=") }) else { return nil }
        let value = own[index].dropFirst(option.count + 1)
        shell =
            value.isEmpty ? own.dropFirst(index + 1).first ?? CompletionShell.autodetected()?.rawValue : String(value)
    }

    private var text: [UInt8]? {
        switch shell {
        case "bash": PackageResources.openurl_bash
        case "fish": PackageResources.openurl_fish
        case "zsh": PackageResources.openurl_zsh
        default: nil
        }
    }

    /// Prints the script.
    ///
    /// - Returns: the exit status.
    func print(_ invocation: Invocation) -> Int32 {
        guard let text else {
            invocation.errors.print(translated("give bash, zsh or fish as the shell (see 'openurl --help')"))
            return ExitStatus.usage
        }
        invocation.output.append(String(decoding: text, as: UTF8.self))
        return 0
    }
}
