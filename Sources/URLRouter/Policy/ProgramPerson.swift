internal import CLinux
internal import DBus
internal import Glibc
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// Asks the user with a program that shows a dialog: `zenity` or `kdialog`.
struct ProgramPerson: PersonAsking {
    let launcher: HandlerLauncher
    let environment: [String: String]

    /// Maximum number of bytes that are read from a program's output.
    private static let outputLimit = 1 << 16

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        for program in DialogProgram.all {
            do throws(ProgramStart.Failure) {
                let arguments = [program.name] + program.arguments(dialog, time)
                guard let (exit, output) = try await run(program, arguments, within: time) else { return .late }
                if let reply = program.reply(exit, output) { return reply }
            } catch {
                // It is not installed, or cannot be started.
                continue
            }
        }
        return nil
    }

    /// How long the file systems on `PATH` may take to provide a program.
    private static let startTime = Duration.seconds(5)

    /// Runs a program. Returns how it ended and its lines of output, or nil if the time ran out.
    private func run(
        _ program: DialogProgram,
        _ arguments: [String],
        within time: Duration
    ) async throws(ProgramStart.Failure) -> (ProcessExit, [String])? {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw .refused(Errno(rawValue: errno)) }
        defer { close(ends[0]) }
        // If the program has descendants, one of them may keep the pipe open.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let ending = Ending()
        let start = ProgramStart(
            program: .nameOnPath(program.name),
            arguments: arguments,
            environment: environment,
            directory: "/",
            output: UnixFD(owning: ends[1])
        )
        let process = try await launcher.launch(program.name, start, within: min(time, Self.startTime)) {
            ending.end($0)
        }
        let timer = launcher.loop.schedule(at: .now + time) {
            process.kill()
            ending.end(nil)
        }
        // This closure runs on the loop, to which both objects belong.
        nonisolated(unsafe) let stop = {
            process.kill()
            ending.end(nil)
        }
        let exit = await withTaskCancellationHandler {
            await withCheckedContinuation { ending.wait($0) }
        } onCancel: {
            launcher.loop.execute { stop() }
        }
        launcher.loop.cancelTimer(timer)
        return exit.map { ($0, Self.lines(of: ends[0])) }
    }

    private static func lines(of descriptor: CInt) -> [String] {
        var bytes: [UInt8] = []
        while bytes.count < outputLimit {
            let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, 4096))
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The end of a program, for which one task waits. This belongs to the loop.
private final class Ending {
    private var exit: ProcessExit??
    private var continuation: CheckedContinuation<ProcessExit?, Never>?

    func end(_ exit: ProcessExit?) {
        guard self.exit == nil else { return }
        self.exit = exit
        continuation?.resume(returning: exit)
        continuation = nil
    }

    func wait(_ continuation: CheckedContinuation<ProcessExit?, Never>) {
        if let exit { continuation.resume(returning: exit) } else { self.continuation = continuation }
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
                "--text", "\(markup(dialog.text))\n\n\(markup(dialog.shownURL))".replacing("\\", with: "\\\\"),
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
            let text = "<qt>\(markup(dialog.text))<br><br>\(markup(dialog.shownURL))</qt>"
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
