internal import Reactor
internal import SchemeRegistry

/// Asks the user with a program that shows a dialog: `zenity` or `kdialog`.
struct ProgramPerson: PersonAsking {
    let launcher: HandlerLauncher
    let environment: [String: String]

    /// Maximum number of bytes that are read from a program's output.
    private static let outputLimit = 1 << 16

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        for program in DialogProgram.all {
            do throws(ProgramStart.Failure) {
                let result = try await AnsweringProgram(launcher).run(
                    program.name,
                    .nameOnPath(program.name),
                    [program.name] + program.arguments(dialog, time),
                    environment: environment,
                    limit: Self.outputLimit,
                    within: time
                )
                guard let result else { return .late }
                let lines = result.output.split(separator: UInt8(ascii: "\n"))
                let words = lines.map { String(decoding: $0, as: UTF8.self) }
                if let reply = program.reply(result.exit, words) { return reply }
            } catch {
                // It is not installed, or cannot be started.
                continue
            }
        }
        return nil
    }
}

/// A program that shows a question.
struct DialogProgram: Sendable {
    let name: String
    let arguments: @Sendable (PolicyDialog, Duration) -> [String]
    /// Returns the reply for a program's exit and its lines of output; nil if the program could not ask.
    let reply: @Sendable (ProcessExit, [String]) -> PersonReply?

    static let all = [zenity, kdialog]

    /// GNOME's dialog. If the user chooses an extra button, the program exits with status 1, and a line of the output
    /// is the button's label.
    static let zenity = DialogProgram(
        name: "zenity",
        arguments: { dialog, time in
            let further = PersonReply.choices(isMemorable: dialog.isMemorable).filter(\.isForLater)
            return [
                "--question", "--title", dialog.title,
                // As in C, a backslash begins an escape in zenity.
                "--text", "\(markup(dialog.text))\n\n\(markup(dialog.publicURL))".replacing("\\", with: "\\\\"),
                "--ok-label", PersonReply.once.label, "--cancel-label", PersonReply.no.label, "--default-cancel",
                "--timeout", "\(max(1, time.components.seconds))",
            ] + further.flatMap { ["--extra-button", $0.label] }
        },
        reply: { exit, lines in
            switch exit {
            case .exited(status: 0): .once
            case .exited(status: 1): [.always, .never].first { lines.contains($0.label) } ?? refusal(lines)
            case .exited(status: 5): .late
            default: nil
            }
        }
    )

    /// KDE's dialog: a list. A line of the output is the user's choice.
    static let kdialog = DialogProgram(
        name: "kdialog",
        arguments: { dialog, _ in
            let text = "<qt>\(markup(dialog.text))<br><br>\(markup(dialog.publicURL))</qt>"
            let choices = PersonReply.choices(isMemorable: dialog.isMemorable)
            return ["--title", dialog.title, "--menu", text] + choices.flatMap { [$0.rawValue, $0.label] }
        },
        reply: { exit, lines in
            switch exit {
            case .exited(status: 0): PersonReply.allCases.first { lines.contains($0.rawValue) } ?? .no
            case .exited(status: 1): refusal(lines)
            default: nil
            }
        }
    )

    /// Returns ``PersonReply/no``, or nil if the program could not reach the display. In the latter case, the program
    /// exits with the same status as if its window had been closed, but prints the reason.
    private static func refusal(_ lines: [String]) -> PersonReply? {
        lines.contains { $0.lowercased().contains("display") } ? nil : .no
    }

    /// Returns the text with the characters escaped that Pango, Qt or a notification would take for markup.
    static func markup(_ text: String) -> String {
        // A character may begin or end with other scalars, so each scalar is looked at.
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
