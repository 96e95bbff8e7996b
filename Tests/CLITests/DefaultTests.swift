import Foundation
import PrivateBus
import Testing

/// `openurl default`: its output on a stand-in, and its effects on a real router.
@Suite(.timeLimit(.minutes(10))) struct DefaultTests {
    // MARK: Output

    @Test func choosesAndShows() async throws {
        try await StandInRouter.with { router in
            let chosen = try await openurl(["default", "todo", "com.acme.todolist"], on: router)
            #expect(chosen.status == 0)
            #expect(chosen.output == "com.acme.todolist\n")
            #expect(chosen.errors == "")
            #expect(try await openurl(["default", "todo"], on: router).output == "com.acme.todolist\n")
            let json = try await openurl(["default", "--json", "todo"], on: router)
            #expect(json.output == "{\"scheme\":\"todo\",\"handler\":\"com.acme.todolist\"}\n")
            let reset = try await openurl(["default", "--reset", "todo"], on: router)
            #expect(reset.status == 0)
            #expect(reset.output == "com.acme.first\n")
            // A command that only shows the handler makes no choice.
            #expect(await router.choices == ["todo=com.acme.todolist", "todo="])
        }
    }

    /// A person gets the same single value as a program, without colours.
    @Test(arguments: [[:], ["NO_COLOR": "1"]]) func aTerminalChangesNothing(_ variables: [String: String]) async throws
    {
        try await StandInRouter.with { router in
            let environment = router.environment.merging(variables) { $1 }
            let run = try await onTerminal("default", "todo", "com.acme.todolist", environment: environment)
            #expect(run.status == 0)
            #expect(run.output == "com.acme.todolist\n")
            let none = try await onTerminal("default", "none", environment: environment)
            #expect(none.status == 3)
            #expect(none.output == "openurl: nobody takes none: \\u{1B}[31mtold\n")
        }
    }

    @Test func escapesControls() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["default", "odd"], on: router)
            #expect(run.output == "com.acme.\\u{202E}odd\\u{9}\n")
            let json = try await openurl(["default", "--json", "odd"], on: router)
            #expect(json.output == #"{"scheme":"odd","handler":"com.acme.\u202eodd\t"}"# + "\n")
        }
    }

    @Test func aSchemeWithoutAHandlerIsAnErrorExceptForReset() async throws {
        try await StandInRouter.with { router in
            let message = "openurl: nobody takes none: \\u{1B}[31mtold\n"
            let none = try await openurl(["default", "none"], on: router)
            #expect(none.status == 3)
            #expect(none.output == "")
            #expect(none.errors == message)
            let json = try await openurl(["default", "--json", "none"], on: router)
            #expect(json.status == 3)
            #expect(json.output == "{\"scheme\":\"none\",\"handler\":null}\n")
            #expect(json.errors == message)
            let reset = try await openurl(["default", "--reset", "chosen"], on: router)
            #expect(reset.status == 0)
            #expect(reset.output == "")
            #expect(reset.errors == "")
        }
    }

    @Test func showsAHandlerThatThisProgramMayNotReach() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["default", "private"], on: router)
            #expect(run.status == 0)
            #expect(run.output == "com.acme.private\n")
            #expect(run.errors == "")
        }
    }

    @Test(arguments: [
        (["todo", "nobody"], 64, "there is no handler or application called nobody"),
        (["locked", "com.acme.todolist"], 1, "mimeapps.list cannot be written"),
        (["--reset", "locked"], 1, "mimeapps.list cannot be written"),
        (["--json", "locked", "com.acme.todolist"], 1, "mimeapps.list cannot be written"),
        (["error"], 1, "com.acme.todolist \\u{1B}[31mtold"),
    ])
    func reportsARefusal(arguments: [String], status: Int32, message: String) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["default"] + arguments, on: router)
            #expect(run.status == status)
            #expect(run.output == "")
            #expect(run.errors == "openurl: \(message)\n")
            #expect(await router.choices == [])
        }
    }

    // MARK: Effects

    /// Runs a test on a bus that starts a real router, with the applications `one` and `two` for the scheme `todo`.
    private func withRouter(_ body: ([String: String], URL) async throws -> Void) async throws {
        let bus = try await PrivateBus { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            for place in [services, applications] { try place.createDirectory() }
            for name in ["one", "two"] {
                let keys = ["Type=Application", "Name=\(name)", "Exec=true %u", "MimeType=x-scheme-handler/todo;"]
                let text = (["[Desktop Entry]"] + keys).joined(separator: "\n")
                try applications.appending(path: "\(name).desktop").write(text + "\n")
            }
            // The router's log must not appear in the output of the tests.
            let command = "/bin/sh -c \"exec '\(product("openurld").path)' 2> /dev/null\""
            try services.appending(path: "org.openurl.Router1.service")
                .write("[D-BUS Service]\nName=org.openurl.Router1\nExec=\(command)\n")
        }
        defer { bus.stop() }
        let file = bus.directory.appending(path: "XDG_CONFIG_HOME/mimeapps.list")
        try await body(environment(bus.environment), file)
    }

    @Test func storesTheChoiceInTheDesktopsFileUntilReset() async throws {
        try await withRouter { environment, file in
            #expect(try await openurl("default", "todo", environment: environment).output == "one.desktop\n")
            #expect(!FileManager.default.fileExists(atPath: file.path))
            let chosen = try await openurl("default", "todo", "two.desktop", environment: environment)
            #expect(chosen.output == "two.desktop\n", "\(chosen.errors)")
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.contains("[Default Applications]\nx-scheme-handler/todo=two.desktop"))
            #expect(
                try await openurl("explain", "todo:x", environment: environment).lines == [
                    "url\ttodo:x", "scheme\ttodo", "opaquePart\tx", "path\t\"\"", "goes to\ttwo.desktop",
                    "transport\texec",
                    "policy\tallow: no rule", "",
                    "wins\ttwo.desktop\texec\t–\tthe user's default comes first",
                    "loses\tone.desktop\texec\t–\tthe user's default comes first",
                ]
            )
            let refused = try await openurl("default", "new", "two.desktop", environment: environment)
            #expect(refused.status == 64)
            #expect(refused.errors.contains("two.desktop does not claim new:"), "\(refused.errors)")

            let reset = try await openurl("default", "--reset", "todo", environment: environment)
            #expect(reset.output == "one.desktop\n")
            let none = try await openurl("default", "--reset", "new", environment: environment)
            #expect(none.status == 0)
            #expect(none.output == "" && none.errors == "", "\(none)")
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("two.desktop"))
        }
    }

    @Test func choiceThatCannotBeWrittenIsNoUsageError() async throws {
        try await withRouter { environment, file in
            try file.createDirectory()
            for arguments in [["todo", "two.desktop"], ["--reset", "todo"]] {
                let run = try await openurl(["default"] + arguments, environment: environment)
                #expect(run.status == 1 && run.errors.contains("mimeapps.list: is a directory"), "\(run)")
            }
        }
    }

    @Test func anUnknownSchemeOrNameChangesNothing() async throws {
        try await withRouter { environment, file in
            for (arguments, status, message) in [
                (
                    ["nothing"], 3,
                    "no handler claims the scheme nothing; register one with 'openurl register PATH'"
                ),
                (["todo", "nobody"], 3, "no handler is registered as nobody; 'openurl list' shows all that are"),
                (
                    ["todo", "three.desktop"], 3,
                    "no handler is registered as three.desktop; 'openurl list' shows all that are"
                ),
                (
                    ["to:do", "two.desktop"], 64,
                    "the scheme 'to:do' contains ':'; write only the part of a URL before the ':'"
                ),
                (
                    ["", "two.desktop"], 64,
                    "The value '' is invalid for '<scheme>': the value is empty (see 'openurl default --help')"
                ),
            ] as [([String], Int32, String)] {
                let run = try await openurl(["default"] + arguments, environment: environment)
                #expect(run.status == status)
                #expect(run.output == "")
                #expect(run.errors == "openurl: \(message)\n")
            }
            #expect(!FileManager.default.fileExists(atPath: file.path))
            #expect(try await openurl("default", "todo", environment: environment).output == "one.desktop\n")
        }
    }
}
