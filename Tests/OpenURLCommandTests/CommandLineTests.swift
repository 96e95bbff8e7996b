import ArgumentParser
import DBus
import Glibc
import OpenURLBus
import TestSupport
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// The reading of the command line.
@Suite struct CommandLineTests {
    @Test(arguments: [
        ([], "usage: openurl [open] <url> ..., or openurl <command> ... (see 'openurl --help')"),
        (
            ["lst"],
            "'lst' is neither a command, nor a URL with a ':', nor a file; did you mean 'list'? (see 'openurl --help')"
        ),
        (
            ["todolist"],
            "'todolist' is neither a command, nor a URL with a ':', nor a file; to open a URL, write 'todolist:' "
                + "(see 'openurl --help')"
        ),
        (["help", "foo"], "'foo' is not a command (see 'openurl --help')"),
        (["help", "queue", "dorp"], "'dorp' is not a command; did you mean 'drop'? (see 'openurl queue --help')"),
        (["help", "queue", "drop", "all"], "'all' is not a command (see 'openurl queue drop --help')"),
        (["help", "tasks", "bogus", "run"], "'bogus' is not a command (see 'openurl tasks --help')"),
        (["help", "list", "run"], "'run' is not a command (see 'openurl list --help')"),
        (["help", "regster"], "'regster' is not a command; did you mean 'register'? (see 'openurl --help')"),
        ([""], "'' is neither a command, nor a URL with a ':', nor a file (see 'openurl --help')"),
        (["open"], "Missing expected argument '<url> ...' (see 'openurl open --help')"),
        (["--json"], "Missing expected argument '<url> ...' (see 'openurl open --help')"),
        (["--unheard-of", "a:b"], "Unknown option '--unheard-of' (see 'openurl open --help')"),
        (["a:b", "--foreground"], "Unknown option '--foreground' (see 'openurl open --help')"),
        (["--verbos", "a:b"], "Unknown option '--verbos'; did you mean '--verbose'? (see 'openurl open --help')"),
        (["--verson"], "Unknown option '--verson'; did you mean '--version'? (see 'openurl open --help')"),
        (["--verson", "a:b"], "Unknown option '--verson'; did you mean '--version'? (see 'openurl open --help')"),
        (
            ["--json", "check", "a:b"],
            "'check' is a command, and comes before its options; write 'openurl check …' (see 'openurl check --help')"
        ),
        (["--hots=x", "list"], "Unknown option '--hots'; did you mean '--host'? (see 'openurl open --help')"),
        (["queue", "drop", "--al"], "Unknown option '--al'; did you mean '--all'? (see 'openurl queue drop --help')"),
        (["ssh", "--tyt"], "Unknown option '--tyt'; did you mean '--tty'? (see 'openurl ssh --help')"),
        (
            ["ssh", "", "ls", "--al"],
            "The value '' is invalid for '<host>': the value is empty (see 'openurl ssh --help')"
        ),
        (["queue", "wait", "-1"], "Unknown option '-1' (see 'openurl queue wait --help')"),
        (["-1"], "Unknown option '-1' (see 'openurl open --help')"),
        (
            ["hosts", "add", "box", "-oProxyCommand=x"],
            "Unknown option '-oProxyCommand' (see 'openurl hosts add --help')"
        ),
        (["tasks", "run"], "Missing expected argument '<id>' (see 'openurl tasks run --help')"),
        (
            ["--fallback", "", "a:b"],
            "The value '' is invalid for '--fallback <url>': the value is empty (see 'openurl open --help')"
        ),
        (["queue", "lst"], "Unexpected argument 'lst'; did you mean 'list'? (see 'openurl queue --help')"),
        (
            ["policy", "alow", "tel"],
            "2 unexpected arguments: 'alow', 'tel'; did you mean 'allow'? (see 'openurl policy --help')"
        ),
        (["can-open"], "Missing expected argument '<url> ...' (see 'openurl can-open --help')"),
        (["parse"], "give a URL to parse, or '-' (see 'openurl parse --help')"),
        (["parse", "-0", "a:b"], "-0 reads standard input; give '-' as a URL too (see 'openurl parse --help')"),
        (["register"], "Missing expected argument '<path> ...' (see 'openurl register --help')"),
        (["unregister"], "Missing expected argument '<id> ...' (see 'openurl unregister --help')"),
        (["list", "x"], "Unexpected argument 'x' (see 'openurl list --help')"),
        (["open", "\u{1B}[31m", "--unheard"], "Unknown option '--unheard' (see 'openurl open --help')"),
        (["default"], "name a scheme or a type (see 'openurl default --help')"),
        (["default", "a", "b", "c"], "Unexpected argument 'c' (see 'openurl default --help')"),
        (["default", "--reset", "a", "b"], "use --reset without an ID (see 'openurl default --help')"),
        (["explain"], "Missing expected argument '<url>' (see 'openurl explain --help')"),
        (["explain", "a:b", "c:d"], "Unexpected argument 'c:d' (see 'openurl explain --help')"),
        (["explain", "--quiet", "a:b"], "Unknown option '--quiet' (see 'openurl explain --help')"),
        (["activate"], "Missing expected argument '<id> ...' (see 'openurl activate --help')"),
        (["suspend", "--background", "a"], "Unknown option '--background' (see 'openurl suspend --help')"),
        (["publish"], "Missing expected argument '--system <directory>' (see 'openurl publish --help')"),
        (["queue", "drop"], "give the numbers of the URLs, or use --all (see 'openurl queue drop --help')"),
        (["queue", "drop", "--all", "3"], "use --all without numbers (see 'openurl queue drop --help')"),
        (
            ["notifications", "cancel", "a"],
            "give the identifiers of the notifications, or use --all (see 'openurl notifications cancel --help')"
        ),
        (
            ["notifications", "cancel", "--all", "a", "b"],
            "use --all without identifiers (see 'openurl notifications cancel --help')"
        ),
        (["tasks", "cancel", "x"], "give the names of the tasks, or use --all (see 'openurl tasks cancel --help')"),
        (["tasks", "cancel", "--all", "x", "y"], "use --all without names (see 'openurl tasks cancel --help')"),
        (
            ["share", "--for", "docker"],
            "use --for with a name, and without --stop and --foreground (see 'openurl share --help')"
        ),
        (
            ["share", "--for", "docker", "--stop", "devbox"],
            "use --for with a name, and without --stop and --foreground (see 'openurl share --help')"
        ),
        (
            ["share", "--for", "docker", "--foreground", "devbox"],
            "use --for with a name, and without --stop and --foreground (see 'openurl share --help')"
        ),
        (
            ["new", "--python", "--package", "/x", "com.example.greeter"],
            "--package is for a handler in Swift only (see 'openurl new --help')"
        ),
    ])
    func refusesAWrongCommandLine(arguments: [String], message: String) throws {
        let run = try openurl(arguments.map { .text($0) })
        #expect(run.status == 64)
        #expect(run.errors == "openurl: \(message)\n")
        #expect(run.output == "")
    }

    /// The word after an option is its value, as with getopt_long(3). But nobody means an option of the command as one.
    @Test(arguments: [
        (
            ["--timeout", "-3s", "a:b"],
            "The value '-3s' is invalid for '--timeout <time>': write a time as a whole number above 0 with ms, s or m, "
                + "such as 500ms or 5s (see 'openurl open --help')"
        ),
        (
            ["open", "a:b", "--query", "---"],
            "The value '---' is invalid for '--query <key=value>': write a parameter as key=value "
                + "(see 'openurl open --help')"
        ),
        (
            ["log", "-n", "-3"],
            "The value '-3' is invalid for '-n <number>': give a number of requests above 0 (see 'openurl log --help')"
        ),
        (["--timeout", "--json", "a:b"], "Missing value for '--timeout <time>' (see 'openurl open --help')"),
        (["--timeout", "--handler=x", "a:b"], "Missing value for '--timeout <time>' (see 'openurl open --help')"),
        (["--timeout", "-vq", "a:b"], "Missing value for '--timeout <time>' (see 'openurl open --help')"),
        (["--timeout", "--", "a:b"], "Missing value for '--timeout <time>' (see 'openurl open --help')"),
    ])
    func wordAfterAnOptionIsItsValue(arguments: [String], message: String) throws {
        let run = try openurl(arguments.map { .text($0) })
        #expect(run.status == 64)
        #expect(run.errors == "openurl: \(message)\n")
    }

    @Test func wordsOfACommandForAnotherMachineStayAsTheyAre() throws {
        let words = CommandDescription.joiningValues(in: ["ssh", "-o", "-4", "host", "cmd", "-o", "-l"])
        #expect(words == ["ssh", "-o=-4", "host", "cmd", "-o", "-l"])
        let ssh = try #require(try CommandLineInterface.parseAsRoot(words) as? SSH)
        #expect(ssh.options == ["-4"] && ssh.host == "host" && ssh.command == ["cmd", "-o", "-l"])
    }

    @Test func passesAtMost16Files() throws {
        let files = (1...16).map { "--attach=key\($0)=/dev/null" }
        #expect(try openurl((files + ["a:b"]).map { .text($0) }).status == 69)
        let run = try openurl((files + ["--attach", "x=/dev/null", "a:b"]).map { .text($0) })
        #expect(run.status == 64)
        #expect(run.errors == "openurl: --attach can pass at most 16 files (see 'openurl open --help')\n")
    }

    /// The command looks at a file before it looks for a bus.
    @Test func attachedFileMustBeReadable() throws {
        let directory = try openurl("--attach", "in=/", "a:b")
        #expect(directory.status == 66 && directory.errors == "openurl: /: Is a directory\n")
        // Standard input stands for one that was closed: it cannot be read.
        let closed = try captured { invocation in
            var invocation = invocation
            invocation.arguments = ["--attach", "in=-", "a:b"].map { .text($0) }
            invocation.input = open("/dev/null", O_WRONLY | O_CLOEXEC)
            defer { close(invocation.input) }
            return invocation.run()
        }
        #expect(closed.status == 74 && closed.errors == "openurl: standard input: Bad file descriptor\n", "\(closed)")
    }

    @Test(.enabled(if: geteuid() != 0, "root may read every file"))
    func manifestMustBeReadable() throws {
        let directory = try TemporaryDirectory()
        let manifest = try directory.write("", to: "a.plist")
        try #require(chmod(manifest, 0) == 0)
        let run = ["run", "--claim", "a", "--handler", manifest, "--", "true"]
        for arguments in [["check", manifest], ["register", manifest], run] {
            let run = try openurl(arguments.map { .text($0) })
            #expect(run.status == 66 && run.errors == "openurl: \(manifest): Permission denied\n", "\(run)")
        }
    }

    @Test func namedPipeIsAttachedWhenItHasInput() throws {
        let directory = try TemporaryDirectory()
        let pipe = "\(directory.path)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let file = KeyedFile(key: "in", path: pipe)
        let late = #expect(throws: CommandFailure.self) {
            try Value?.none.attaching([file], standardInput: STDIN_FILENO, until: .now)
        }
        #expect(late?.exitStatus == 6)
        #expect(late?.message == "the time limit ran out before anything was written to \(pipe)")
        // A writer that also reads does not wait for a reader.
        let writer = open(pipe, O_RDWR | O_CLOEXEC)
        defer { close(writer) }
        try #require(write(writer, "x", 1) == 1)
        let annotation = try Value?.none.attaching([file], standardInput: STDIN_FILENO, until: .now + .seconds(60))
        guard case .unixFD(let input)? = annotation?.options?["in"] else {
            Issue.record("\(String(describing: annotation))")
            return
        }
        #expect(fcntl(input.rawValue, F_GETFL) & O_NONBLOCK == 0)
        var byte: UInt8 = 0
        let count = read(input.rawValue, &byte, 1)
        #expect(count == 1 && byte == UInt8(ascii: "x"))
    }

    @Test func emptyNameOfAFileIsNamed() throws {
        let run = try openurl("send", "--to", "com.acme.todolist", "")
        #expect(run.status == 66)
        #expect(run.errors == "openurl: '' cannot be sent: its name is empty\n")
        let check = try openurl("check", "")
        #expect(check.status == 64 && check.errors == "openurl: the path is empty\n", "\(check)")
        // An empty URL is no file on this machine.
        #expect(try !openurl("open", "--to", "laptop", "").errors.contains("is a file"))
    }

    @Test(arguments: ["call", "callback", "can-open", "explain"])
    func fileHereMeansNothingOnAnotherMachine(_ command: String) throws {
        let run = try openurl("--host", "box", command, "./report.txt")
        #expect(run.status == 64 && run.output == "")
        #expect(
            run.errors == "openurl: './report.txt' is a file on this machine; give a URL that box can open\n"
        )
    }

    @Test func fileIsNotSentToAnotherMachine() throws {
        let run = try openurl("--host", "box", "send", "--to", "com.acme.todolist", "report.txt")
        #expect(run.status == 64)
        #expect(
            run.errors == "openurl: 'send' works on one machine only; run 'ssh box openurl send' instead\n"
        )
    }

    @Test(arguments: ["0", "0s", "-1", "5x", "s", "1.5s", "", "99999999999999999999s", "99999999m", "٣s"])
    func refusesATime(_ time: String) throws {
        #expect(throws: (any Error).self) { try TimeLimit(time) }
        let run = try openurl("--timeout=\(time)", "a:b")
        #expect(run.status == 64)
        #expect(run.errors.contains("--timeout"))
    }

    @Test func publicationNeedsAbsoluteDirectories() throws {
        for arguments in [["--system", "share"], ["--system", "/share", "--root", "x"]] {
            let run = try openurl((["publish"] + arguments).map { .text($0) })
            #expect(run.status == 64)
            #expect(run.errors.contains("give the absolute path of the directory"), "\(run.errors)")
        }
    }

    @Test func readsATime() throws {
        for (text, duration) in [
            ("5", .seconds(5)), ("2m", .seconds(120)), ("3s", .seconds(3)), ("1ms", .milliseconds(1)),
            ("4294967295ms", .milliseconds(4_294_967_295)),
        ] as [(String, Duration)] {
            #expect(try TimeLimit(text).duration == duration)
        }
        for text in ["4294967296ms", "99999999999999999999s"] {
            let run = try openurl("--timeout", text, "a:b")
            #expect(run.status == 64 && run.errors.contains("a time can be at most 49 days"), "\(run)")
        }
    }

    @Test func readsAKeyAndAValue() throws {
        for (text, key, value) in [("k=1", "k", "1"), ("k=", "k", ""), ("k=2=3", "k", "2=3")] {
            let pair = try KeyValue(text)
            #expect(pair.key == key)
            #expect(pair.value == value)
        }
    }

    @Test(arguments: ["k", "=v", ""])
    func refusesAnAnnotation(_ annotation: String) throws {
        let run = try openurl("--annotation=\(annotation)", "a:b")
        #expect(run.status == 64)
        #expect(run.errors.contains("write an annotation as key=value"))
    }

    /// The bus carries no such bytes, so the command gives them the escapes that the router gives to other decoded bytes.
    @Test func bytesOfADesktopThatAreNotUTF8AreEscaped() throws {
        let url = CommandLineArgument.notUTF8(Array("a:".utf8) + [0xFF, 0x20])
        #expect(try url.urlText(passedBy: "x.desktop") == "a:%FF%20")
        #expect(throws: CommandFailure.self) { try url.urlText() }
    }

    private static let notUTF8 = CommandLineArgument.notUTF8([0xFF])

    @Test(arguments: [
        [.text("unregister"), notUTF8], [.text("status"), notUTF8], [.text("register"), notUTF8],
        [.text("default"), notUTF8], [.text("default"), .text("a"), notUTF8], [.text("activate"), notUTF8],
        [.text("queue"), .text("drop"), notUTF8], [.text("--handler"), notUTF8, .text("a:b")],
        [.notUTF8(Array("--handler=".utf8) + [0xFF]), .text("a:b")],
        [.notUTF8(Array("--annotation=".utf8) + [0xFF] + Array("=1".utf8)), .text("a:b")],
    ])
    func refusesBytesThatAreNotUTF8(_ arguments: [CommandLineArgument]) throws {
        let run = try openurl(arguments)
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("openurl: "))
        #expect(run.errors.contains("not UTF-8"))
    }

    private static let coffee = CommandLineArgument.notUTF8(Array("caf".utf8) + [0xE9])

    @Test(arguments: [
        ([coffee], "'caf\u{FFFD}' is neither a command, nor a URL with a ':', nor a file (see 'openurl --help')"),
        ([.text("help"), coffee], "'caf\u{FFFD}' is not a command (see 'openurl --help')"),
        (
            [.text("list"), coffee, coffee],
            "2 unexpected arguments: 'caf\u{FFFD}', 'caf\u{FFFD}' (see 'openurl list --help')"
        ),
        (
            [.text("status"), coffee],
            "The value 'caf\u{FFFD}' is invalid for '<id>': the value is not UTF-8 (see 'openurl status --help')"
        ),
    ])
    func bytesThatAreNotUTF8AreShownAsInOtherMessages(arguments: [CommandLineArgument], message: String) throws {
        let run = try openurl(arguments)
        #expect(run.status == 64)
        #expect(run.errors == "openurl: \(message)\n")
    }

    /// A dot after such bytes is seen too.
    @Test func fileWhoseNameIsNotUTF8IsMissing() throws {
        let run = try openurl([.notUTF8([0xE9] + Array(".txt".utf8))])
        #expect(run.status == 66 && run.errors.contains("'\u{FFFD}.txt' is neither a URL with a scheme nor a file"))
    }

    @Test(
        arguments: [
            [], Array("a:b".utf8), [0xFF], Array("a:".utf8) + [0xFF, 0, 0x41], [0xC3, 0x28], Array("ü".utf8),
        ] as [[UInt8]]
    )
    func anArgumentGoesThroughTheParserUnchanged(bytes: [UInt8]) {
        let argument =
            String(validating: bytes, as: UTF8.self).map(CommandLineArgument.text) ?? CommandLineArgument.notUTF8(bytes)
        let parsed = CommandLineArgument(argument: argument.parserArgument)
        #expect(parsed == argument)
        #expect(parsed.bytes == bytes)
    }

    // MARK: URLs alone

    @Test(arguments: [
        (["a:b"], ["a:b"]), (["a:b", "x"], ["a:b", "x"]), (["open", "x"], ["x"]), (["open", "--", "-x"], ["-x"]),
        (["--", "x", "--json"], ["x", "--json"]), (["a:b", "-"], ["a:b", "-"]),
        (["./x"], ["./x"]), (["/x", "a:b"], ["/x", "a:b"]), (["a/b", "-"], ["a/b", "-"]),
    ])
    func aCommandLineOfURLsNeedsNoParser(arguments: [String], urls: [String]) {
        #expect(OpenOperation(plain: arguments.map { .text($0) })?.urls == urls.map { .text($0) })
    }

    @Test func theCommandOfADesktopEntryNeedsNoParser() {
        let arguments = ["open", "--desktop-entry", "com.acme.todolist.desktop", "--", "a:b"]
        let operation = OpenOperation(plain: arguments.map { .text($0) })
        #expect(operation?.urls == [.text("a:b")])
        #expect(operation?.options.desktopEntry == "com.acme.todolist.desktop")
    }

    @Test(arguments: [
        ["open", "--desktop-entry", "--", "a:b"], ["open", "--desktop-entry", "x", "--json", "a:b"],
        ["--desktop-entry", "x", "a:b"], ["open", "--desktop-entry"], ["open", "--desktop-entry", "x"],
        [], ["open"], ["--"], ["list"], ["x"], ["--json", "a:b"], ["a:b", "--json"], ["open", "a:b", "-x"],
        ["open", "a:b", "--"],
    ])
    func anyOtherCommandLineNeedsTheParser(arguments: [String]) {
        #expect(OpenOperation(plain: arguments.map { .text($0) }) == nil)
    }

    @Test(arguments: [
        ["a:b"], ["open", "a:b"], ["--", "-a:b"], ["--verbose", "a:b"], ["can-open", "a:b"], ["explain", "a:b"],
        ["default", "a"], ["list"], ["status"], ["queue"], ["notifications"], ["tasks"], ["register", "/x"],
        ["unregister", "x"],
        ["activate", "x"], ["--handler", "-x", "a:b"], ["a:b", "--annotation", "-x=-y=1"],
    ])
    func needsABus(_ arguments: [String]) throws {
        let run = try openurl(arguments.map { .text($0) })
        #expect(run.status == 69)
        #expect(run.errors.hasPrefix("openurl: cannot reach the router, because there is no session bus: "))
        #expect(run.output == "")
    }

    // MARK: Help

    @Test(arguments: [["--help"], ["-h"], ["help"]])
    func explainsItself(_ arguments: [String]) throws {
        let run = try openurl(arguments.map { .text($0) })
        #expect(run.status == 0)
        #expect(run.errors == "")
        #expect(run.output.contains("USAGE: openurl [open] [<options>] <url or file> ..."))
        for command in CommandLineInterface.configuration.subcommands {
            let name = try #require(command.configuration.commandName)
            let names = ([name] + command.configuration.aliases).joined(separator: ", ")
            #expect(run.output.contains("\n  \(names) "))
        }
    }

    @Test func explainsEachCommand() throws {
        for command in CommandLineInterface.configuration.subcommands {
            let name = try #require(command.configuration.commandName)
            let abstract = command.configuration.abstract
            for arguments in [[name, "--help"], ["help", name]] {
                let run = try openurl(arguments.map { .text($0) })
                #expect(run.status == 0)
                #expect(run.output.hasPrefix("OVERVIEW: \(abstract)\n"))
                #expect(run.output.contains("\nUSAGE: openurl \(name)"))
            }
            #expect(abstract.hasSuffix("."))
        }
    }

    @Test func commandsComeInGroups() throws {
        let lines = try openurl("--help").output.split(separator: "\n")
        let titles = CommandLineInterface.configuration.groupedSubcommands.map { "\($0.name.uppercased()):" }
        #expect(lines.filter { titles.contains(String($0)) }.map(String.init) == titles)
        #expect(!lines.contains { $0.hasSuffix("SUBCOMMANDS:") })
        #expect(try openurl("queue", "--help").output.contains("\nSUBCOMMANDS:\n"))
    }

    /// Splits a command line as a shell does, with single quotes as the only special characters.
    private func words(_ line: Substring) -> [String] {
        var words: [String] = []
        for (index, part) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            words += index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
        }
        return words
    }

    @Test func everyHelpHasTwoExamplesThatTheParserTakes() throws {
        let names = CommandLineInterface.configuration.subcommands.flatMap {
            [$0.configuration.commandName ?? ""] + $0.configuration.aliases
        }
        func check(_ path: [String], _ command: any ParsableCommand.Type) throws {
            let help = try openurl((path + ["--help"]).map { .text($0) }).output
            let examples = help.split(separator: "\n").drop { $0 != "EXAMPLES" }.dropFirst()
                .prefix { $0.hasPrefix("  openurl ") }
            #expect(examples.count == 2, "\(path)")
            for example in examples {
                var line = Array(words(example).dropFirst())
                if line[0] == "--host" { line.removeFirst(2) }
                if !names.contains(line[0]) { line.insert(Open.name, at: 0) }
                let parsed = try CommandLineInterface.parseAsRoot(line)
                let meant = [command] + command.configuration.subcommands
                #expect(meant.contains { $0 == type(of: parsed) }, "\(path): \(example)")
            }
            for subcommand in command.configuration.subcommands {
                try check(path + [try #require(subcommand.configuration.commandName)], subcommand)
            }
        }
        try check([], CommandLineInterface.self)
    }

    @Test func shortOptionsAreTheLongOnes() throws {
        let open = try #require(try CommandLineInterface.parseAsRoot(["open", "-vq", "a:b"]) as? Open)
        #expect(open.verbose && open.quiet)
        let log = try #require(try CommandLineInterface.parseAsRoot(["log", "-v", "-n", "20"]) as? Log)
        #expect(log.display.verbose && log.limit == 20)
        let monitor = try #require(try CommandLineInterface.parseAsRoot(["monitor", "-vn", "2"]) as? Monitor)
        #expect(monitor.display.verbose && monitor.count == 2)
        let output = try #require(try CommandLineInterface.parseAsRoot(["output", "-fn", "2", "a"]) as? Output)
        #expect(output.follow && output.lines == 2)
    }

    @Test func explainsOptionsOfOpen() throws {
        let run = try openurl("--json", "--help")
        #expect(run.status == 0)
        for option in [
            "--handler", "--annotation", "--timeout", "--fallback", "--desktop-entry", "--json", "-q, --quiet",
            "-v, --verbose",
        ] {
            #expect(run.output.contains("\n  \(option) "))
        }
    }

    @Test func printsItsVersionWithoutABus() throws {
        #expect(try openurl("--version").output == "openurl 0.1.0\n")
        let run = try openurl("version")
        #expect(run.status == 0)
        #expect(run.output == "openurl 0.1.0\n")
        #expect(try openurl("version", "--json").output == "{\"openurl\":\"0.1.0\",\"router\":null}\n")
    }
}
