import Foundation
import Testing

/// Texts for people are translated, and output for programs is not.
///
/// In the language `xx`, no letter of a translation is ASCII, so each word with ASCII letters is either data or a text that
/// cannot be translated.
@Suite(.timeLimit(.minutes(10))) struct TranslationTests {
    @Test func helpIsTranslated() async throws {
        // The check finds English.
        #expect(!Self.words(inHelp: try await openurl("--help").output).isEmpty)
        let commands = try await Self.commands()
        try await TranslatedInstallation.with("xx") { installation in
            for command in commands {
                let run = try await installation.openurl(command + ["--help"])
                #expect(run.status == 0, "\(command)")
                #expect(Self.words(inHelp: run.output) == [], "\(command): \(run.output)")
            }
        }
    }

    /// Each case is a command line, and the words of its output that are data.
    @Test func errorsAreTranslated() async throws {
        let cases: [([String], [String])] = [
            ([], []), (["nonsense"], ["nonsense"]), (["lisst"], ["lisst", "list"]),
            (["www.a"], ["https://www", "www", "No such file or directory"]),
            (["help", "nonsense"], ["nonsense"]), (["open"], ["open"]), (["open", "--every", "day", "a:b"], ["open"]),
            (["open", "--at", "2026-12-01T09:30Z", "--every", "day", "a:b"], ["open"]),
            (["open", "--queue", "--attach", "a=b", "a:b"], ["open"]),
            (["open", "--save", "a=b", "--save", "a=c", "a:b"], ["open"]),
            (["open", "--save", "a=-", "-v", "a:b"], ["open"]), (["open", "--save", "a=b", "a:b", "a:c"], ["open"]),
            (["open", "--trace", "-", "-v", "a:b"], ["open"]), (["open", "a:b", "c"], []),
            (["open", "/no-such/file"], ["no-such", "file", "No such file or directory"]),
            (["--host"], []), (["--host", "box", "doctor"], ["box", "doctor", "ssh"]),
            (["call", "--param", "x-a=b", "a:b"], ["call"]), (["callback", "--timeout", "1500m", "a:b"], ["callback"]),
            (["default", "--reset", "a", "b"], ["default"]), (["log", "--graph", "-v"], ["log"]),
            (["new", "a"], []), (["new", "a.1"], []), (["new", "a.b", "--scheme", "1"], []),
            (["new", "a.b", "--c", "--package", "/"], ["new"]), (["share", "--for", "docker"], ["share"]),
            (["notifications", "cancel", "a.b"], ["notifications", "cancel"]),
            (["notifications", "cancel", "--all", "a.b", "c"], ["notifications", "cancel"]),
            (["parse"], ["parse"]), (["parse", "-0", "a:b"], ["parse"]),
            (["policy", "reset"], ["policy", "reset"]), (["policy", "forget", "--all", "a"], ["policy", "forget"]),
            (["publish", "--system", ""], ["publish", "<directory>"]), (["queue", "drop"], ["queue", "drop"]),
            (["queue", "drop", "--all", "1"], ["queue", "drop"]), (["queue", "wait", "word"], ["word"]),
            (["register", "--ephemeral", "--replace", "a"], ["register"]), (["register", ""], []),
            (["run", "--claim", "a"], ["run", "--claim todolist --handler com.example.todolist", "app"]),
            (["run", "--claim", "a", "--", "true"], ["true", "run", "todolist", "com.example.todolist", "app"]),
            (["send", "--to", "a.b", "/"], []), (["send", "--to", "a.b", "/proc/self/exe"], ["proc", "self", "exe"]),
            (["tasks", "cancel", "a.b"], ["tasks", "cancel"]),
            (["tasks", "cancel", "--all", "a.b", "c"], ["tasks", "cancel"]),
            (["--generate-completion-script", "csh"], []),
            (["a:b"], [Self.noServer]), (["list"], [Self.noServer]), (["monitor"], [Self.noServer]),
        ]
        try await TranslatedInstallation.with("xx") { installation in
            for (arguments, data) in cases {
                let run = try await installation.openurl(arguments)
                #expect(run.status != 0, "\(arguments)")
                #expect(run.errors.contains("⟦"), "\(arguments): \(run.errors)")
                #expect(Self.words(in: run.errors, data: data + Self.parserWords) == [], "\(arguments): \(run.errors)")
            }
        }
    }

    /// With a terminal, the output for people has headings, words and notes. The output for programs has all of the data.
    @Test func outputOnATerminalIsTranslated() async throws {
        let cases: [([String], [String])] = [
            (["list"], ["do"]), (["list", "--schemes"], []), (["status"], ["MiB"]),
            (["status", "com.acme.todolist"], ["MiB"]),
            (["explain", "full:x"], Self.partNames), (["can-open", "ok:", "a:"], []), (["queue"], []),
            (["notifications"], []), (["tasks"], []), (["output", "com.acme.byhand"], ["com.acme.byhand"]),
            (["version"], []), (["SLOW:x"], ["com.acme.slow"]), (["unregister", "com.acme.todolist"], []),
        ]
        try await TranslatedInstallation.with("xx") { installation in
            try await StandInRouter.with { router in
                let environment = router.environment
                for (arguments, words) in cases {
                    let json = try await openurl(arguments + ["--json"], on: router)
                    let run = try await installation.openurl(arguments, isOnTerminal: true, environment: environment)
                    let data = json.output.split { !$0.isLetter && !$0.isNumber }.map(String.init) + words
                    #expect(Self.words(in: run.output, data: data) == [], "\(arguments): \(run.output)")
                    let same = try await installation.openurl(arguments + ["--json"], environment: environment)
                    #expect(same.output == json.output && same.errors == json.errors, "\(arguments)")
                }
            }
        }
    }

    /// The router's messages are in English, so their cause comes before them.
    @Test func theCauseOfAnErrorIsTranslated() async throws {
        try await TranslatedInstallation.with("xx") { installation in
            try await StandInRouter.with { router in
                for code in ["Declined", "NoHandler", "TimedOut", "NotAllowed", "InvalidReply"] {
                    let run = try await installation.openurl(["error:\(code)"], environment: router.environment)
                    let english = try await openurl(["error:\(code)"], on: router)
                    let message = english.errors.dropFirst("openurl: ".count)
                    #expect(run.status == english.status)
                    #expect(
                        run.errors.hasPrefix("openurl: ⟦") && run.errors.hasSuffix("⟧: \(message)"),
                        "\(run.errors)"
                    )
                    let json = try await installation.openurl(
                        ["--json", "error:\(code)"],
                        environment: router.environment
                    )
                    #expect(json.output.contains(#""message":""#) && !json.output.contains("⟦"), "\(json.output)")
                }
            }
        }
    }

    @Test func theCauseForRefusingAProgramIsTranslated() async throws {
        try await TranslatedInstallation.with("xx") { installation in
            try await StandInRouter.with { router in
                // Without the stand-in's service file, the installation's router should have the name.
                let environment = router.environment.merging(["XDG_DATA_HOME": "/nonexistent"]) { $1 }
                let run = try await installation.openurl(["list"], environment: environment)
                #expect(run.status == 69)
                #expect(
                    run.errors.hasPrefix("openurl: ⟦")
                        && run.errors.contains("⟧: org.openurl.Router1 belongs to "),
                    "\(run.errors)"
                )
            }
        }
    }

    @Test func outputForProgramsIsNotTranslated() async throws {
        try await TranslatedInstallation.with("xx") { installation in
            try await StandInRouter.with { router in
                for arguments in [
                    ["list"], ["explain", "full:x"], ["explain", "private:x"], ["can-open", "ok:", "a:"], ["queue"],
                    ["tasks"], ["log"],
                ] {
                    let run = try await installation.openurl(arguments, environment: router.environment)
                    #expect(!run.output.isEmpty)
                    #expect(run.output == (try await openurl(arguments, on: router)).output)
                }
            }
            let run = try await installation.openurl(["parse", "--json", "a b"])
            #expect(!run.output.isEmpty && Self.words(in: run.output, data: []).contains("space"))
        }
    }

    @Test func theDoctorIsTranslated() async throws {
        try await TranslatedInstallation.with("xx") { installation in
            let home = FileManager.default.temporaryDirectory.appending(path: "openurl-home-\(UUID().uuidString)")
            try home.createDirectory()
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: home) } }
            let variables = noBus.merging(
                ["HOME": home.path, "XDG_DATA_HOME": "", "XDG_DATA_DIRS": home.path, "XDG_CONFIG_HOME": ""]
            ) { $1 }
            for topic in [[], ["todolist:"], ["com.example.none"]] {
                let run = try await installation.openurl(["doctor"] + topic, isOnTerminal: true, environment: variables)
                #expect(run.output.contains("⟦"), "\(run.output)")
                let json = try await installation.openurl(["doctor", "--json"] + topic, environment: variables)
                #expect(!json.output.contains("⟦"))
                let fixes = json.output.matches(of: /"fix":"([^"]*)"/).map { String($0.1) }
                let data =
                    fixes + topic + [
                        "ok", "warn", "fail", "skip", "PATH", "mimeapps.list", Self.noServer, "dbus-run-session",
                        "SHELL",
                    ] + Self.tools
                #expect(Self.words(in: run.output, data: data) == [], "\(run.output)")
            }
        }
    }

    @Test func germanIsShownAndFits() async throws {
        let commands = try await Self.commands()
        try await TranslatedInstallation.with("de") { installation in
            let run = try await installation.openurl(["nonsense"])
            #expect(
                run.errors == """
                    openurl: „nonsense“ ist weder ein Befehl noch eine URL mit einem „:“ noch eine Datei; um eine URL zu öffnen, \
                    schreiben Sie 'nonsense:' (siehe 'openurl --help')

                    """
            )
            for command in commands {
                let help = try await installation.openurl(command + ["--help"])
                #expect(help.output.hasPrefix("ÜBERSICHT: "), "\(help.output)")
                for line in help.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
            }
        }
    }

    /// Returns all commands, with the words before each.
    private static func commands() async throws -> [[String]] {
        let help = try await openurl("--help").output
        let commands = help.split(separator: "\n").compactMap { $0.firstMatch(of: /^  ([a-z-]+)[ ,].*  [A-Z]/) }
        try #require(commands.count > 25, "\(help)")
        let inner = [
            "queue": ["list", "wait", "retry", "drop"], "notifications": ["list", "cancel"],
            "tasks": ["list", "run", "cancel"], "policy": ["list", "allow", "deny", "ask", "forget", "reset"],
        ]
        return [[]] + commands.map { [String($0.1)] } + inner.flatMap { name, words in words.map { [name, $0] } }
    }

    // MARK: Words

    /// The reason that there is no bus, which comes from libdbus.
    private static let noServer = "Failed to connect to socket /nonexistent: No such file or directory"
    /// Words in messages of the parser of the command line, which has no translations.
    private static let parserWords = ["The value", "is invalid for"]
    /// Programs and desktops that the doctor names.
    private static let tools = ["xdg-open", "gio", "KDE", "portal"]
    /// The names of a URL's parts, which are the same in every language.
    private static let partNames = [
        "url", "scheme", "user", "host", "port", "path", "parameters", "query", "fragment", "x",
    ]

    /// Returns the words with ASCII letters in an output that are not data.
    private static func words(in output: String, data: [String]) -> [String] {
        var text = output.replacing(/\u{1B}\[[0-9;]*[mK]/, with: "")
        // The longest comes first, because it may contain others.
        for word in (data + ["openurl", "openurld"]).sorted(by: { $0.count > $1.count }) where word.count > 1 {
            text = text.replacing(word, with: " ")
        }
        let options = text.replacing(/(?:^|[^\p{L}])--?[a-z-]+/, with: " ")
        return options.matches(of: /[A-Za-z]{2,}/).map { String($0.0) }
    }

    /// Returns the words with ASCII letters in a help text that are not names of commands, options, values or examples.
    private static func words(inHelp output: String) -> [String] {
        let lines = output.split(separator: "\n").map { line in
            line.firstMatch(of: /^  openurl .*/) != nil
                ? ""
                : line.replacing(/^  [a-z-]+(?:, [a-z-]+)*(?=$|  | ⟦)/, with: "").replacing(/<[^>]*>/, with: "")
                    .replacing(/openurl(?: \[?[a-z-]+\]?)*/, with: "")
        }
        return words(in: lines.joined(separator: "\n"), data: ["minute, hour, day, week, month, year"])
    }
}
