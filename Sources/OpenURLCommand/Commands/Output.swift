internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import SystemPackage
internal import Translations
internal import URLOpener
internal import UserFiles

struct Output: Command {
    static let configuration = CommandConfiguration(
        commandName: "output",
        abstract: translated("Show what a handler has written."),
        discussion: translated(
            """
            Shows the standard output and standard error of its processes. They are in the journal, or for a \
            command and where there is no journal, in a file. Unlike the log of the router, they are shown as the handler \
            wrote them, with any secrets.
            """
        ),
        examples: [
            "openurl output -n 20 com.acme.todolist",
            "openurl output -f com.acme.todolist",
        ]
    )

    @Flag(
        name: .shortAndLong,
        help: .init(translated("Begin with the last 10 lines, and wait for further output, until Ctrl-C."))
    )
    var follow = false

    @Option(
        name: [.customShort("n", allowingJoined: true), .long],
        help: .init(translated("Show only this many lines, the last ones."), valueName: "number"),
        transform: { try LineCount($0).value }
    )
    var lines: Int?

    @Argument(
        help: .init(translated("The bundle identifier of a handler.")),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "output")
        let router = RouterClient(on: invocation)
        let place: OutputPlace
        do throws(CommandFailure) {
            place = try router.call(LifecycleInterface.output, id, refusal: ExitStatus.failure)
        } catch {
            throw router.suggestingHandler(for: id, error.ofHandler(id))
        }
        if place.isElsewhere {
            invocation.errors.print(
                translated(
                    """
                    \(id) was started by hand, so its output goes to where it was started; this is the output of its earlier processes
                    """
                )
            )
        }
        var printer = OutputPrinter(invocation.output)
        if let identifier = place.journal {
            try JournalProgram(identifier, last: lines, follows: follow).run { printer.print($0) }
        } else if let path = place.file {
            try show(path, &printer, invocation)
        } else {
            let reason = translated(
                "the output of \(id) is lost, because there is neither a journal nor a directory for its file"
            )
            throw CommandFailure(.failed, reason, exitStatus: ExitStatus.failure)
        }
        printer.end()
        if let failure = router.latestFailure(of: id) {
            invocation.errors.print(translated("the latest request failed: \(failure)"))
        }
        if !printer.hasPrinted, invocation.output.isTerminal {
            invocation.errors.print(translated("\(id) has written nothing"))
        }
        return 0
    }

    private func show(
        _ path: String,
        _ printer: inout OutputPrinter,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        var file = HandlerOutputFile(path)
        do throws(FileError) {
            guard follow else { return try file.read(last: lines) { printer.print($0) } }
            let changes = try changes(of: path)
            var count = lines ?? Self.followedLines
            while invocation.output.isIntact {
                try wait(for: changes)
                try file.read(last: count) { printer.print($0) }
                count = 0
            }
        } catch {
            throw CommandFailure(
                .failed,
                translated("the output cannot be read: \(path) \(error)"),
                exitStatus: ExitStatus.failure
            )
        }
    }

    /// The number of lines shown before `--follow` waits for more, as in tail(1).
    private static let followedLines = 10

    private func changes(of path: String) throws(FileError) -> FileChanges {
        do throws(Errno) {
            return try FileChanges(of: path)
        } catch {
            throw FileError(translated("cannot be watched: \(error)"))
        }
    }

    private func wait(for changes: FileChanges) throws(FileError) {
        do throws(Errno) {
            try changes.wait()
        } catch {
            throw FileError(translated("cannot be watched: \(error)"))
        }
    }
}

extension RouterClient {
    /// Returns the message of a handler's latest request if it failed; nil otherwise, or if the log cannot be read. The
    /// message's advice to look at the output is left out.
    fileprivate func latestFailure(of id: String) -> String? {
        var filter = MonitorFilter()
        filter.handler = id
        let parts = loggedRequest(filter)?.error?.message.split(separator: "; ")
        return parts?.filter { !$0.hasPrefix("'openurl output \(id)' ") }.joined(separator: "; ")
    }
}

/// A number of lines on the command line.
private struct LineCount {
    let value: Int

    init(_ argument: String) throws {
        guard let value = Int(argument), value >= 0 else {
            throw ValidationError(translated("give a number of lines, such as 20"))
        }
        self.value = value
    }
}
