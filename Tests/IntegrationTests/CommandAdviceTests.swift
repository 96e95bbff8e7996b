import Foundation
import PrivateBus
import TestSupport
import Testing

/// The command's help for a person who does not know the exact words: nearest names and escapes.
@Suite(.timeLimit(.minutes(10))) struct CommandAdviceTests {
    @Test func nearestSchemeAndHandlerAreNamed() async throws {
        let router = try await RouterProcess(["com.example.calendar": []])
        defer { router.stop() }
        let scheme = try await router.openurl("calender:x")
        #expect(scheme.status == 3)
        #expect(
            scheme.errors == "openurl: no handler claims the scheme calender; did you mean 'calendar:'? "
                + "If not: register one with 'openurl register PATH'\n"
        )
        for command in [["status"], ["activate"], ["terminate"], ["unregister"]] {
            let run = try await router.openurl(command + ["com.example.calender"])
            #expect(run.status == 3)
            #expect(
                run.errors
                    == "openurl: no handler is registered as com.example.calender; did you mean 'com.example.calendar'? "
                    + "If not: 'openurl list' shows all that are\n"
            )
        }
        // People know the scheme better than the identifier. Without a dot, it is not one at all.
        for command in ["restart", "terminate", "unregister", "output", "status"] {
            for scheme in ["calendar", "calendar:"] {
                let run = try await router.openurl(command, scheme)
                #expect(run.status == 3 && run.errors.contains("did you mean 'com.example.calendar'?"), "\(run)")
            }
        }
        let id = "; did you mean 'com.example.calendar'? If not: 'openurl list' shows all that are\n"
        let named = "; did you mean 'calendar:'? If not: register one with 'openurl register PATH'\n"
        for (arguments, advice) in [
            (["check", "com.example.calender"], id), (["default", "calendar", "com.example.calender"], id),
            (["explain", "--handler", "com.example.calender", "calendar:x"], id),
            (["--handler", "com.example.calender", "calendar:x"], id),
            (["explain", "calender:x"], named),
            (["default", "calender"], named),
        ] {
            let run = try await router.openurl(arguments)
            #expect(run.status == 3 && run.errors.hasSuffix(advice), "\(arguments): \(run.errors)")
        }
        for line in [
            "tasks list ID", "tasks run ID sync", "tasks cancel ID sync",
            "notifications list ID", "notifications cancel ID tea",
            "links allow example.com ID", "links revoke example.com ID", "links reset example.com ID",
            "send --to ID /etc/passwd",
        ] {
            let words = line.split(separator: " ").map { $0 == "ID" ? "com.example.calender" : String($0) }
            let run = try await router.openurl(words)
            #expect(run.status == 3 && run.errors.contains("did you mean 'com.example.calendar'?"), "\(line): \(run)")
        }
        let callback = try await router.openurl("callback", "--for", "x", "calender:x")
        #expect(callback.status == 3 && callback.errors.hasSuffix(named), "\(callback)")
        // A word that is near to nothing has no advice, and neither has a program's JSON.
        #expect(try await router.openurl("zzzzzz:x").errors.contains("did you mean") == false)
        #expect(try await router.openurl("--json", "calender:x").output.contains("did you mean") == false)
    }

    /// Without its colon, a URL may be the name of a file.
    @Test func folderWithTheNameOfASchemeIsSaidToBeOne() async throws {
        let router = try await RouterProcess(["com.example.calendar": []])
        defer { router.stop() }
        for (name, isScheme) in [("calendar", true), ("other", false)] {
            let folder = router.bus.directory.appending(path: name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let run = try await router.run("--chdir=\(router.bus.directory.path)", RouterProcess.command.path, name)
            #expect(run.status == 3, "\(run)")
            let beginning = "openurl: 'calendar' is a file or folder here, and no handler claims files "
            let explained = run.errors.hasPrefix(beginning)
            let advised = run.errors.hasSuffix("; to open a URL, write 'calendar:'\n")
            #expect(explained == isScheme && advised == isScheme, "\(run)")
        }
    }

    /// The same mistake has the same exit status, whatever the command and the form of the name.
    @Test func exitStatusTellsTheMistake() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let broken = router.bus.directory.appending(path: "broken.plist").path
        try Data("<plist>\n<dict>\n</array>\n</plist>\n".utf8).write(to: URL(filePath: broken))
        for arguments in [["check", broken], ["register", broken]] {
            let run = try await router.openurl(arguments)
            #expect(run.status == 65, "\(run)")
            #expect((run.output + run.errors).contains("\(broken):3: "), "\(run)")
        }
        for arguments in [
            ["nofile.txt"], ["./nofile.txt"], ["open", "nofile.txt"], ["check", "nosuch.plist"],
            ["check", "./nosuch.plist"],
            ["register", "nosuch.plist"], ["register", "./nosuch.app"], ["register", "nosuch"],
            ["run", "--claim", "free", "--handler", "nosuch.plist", "--", "true"],
            ["run", "--claim", "free", "--", "./nosuch.app/program"],
        ] {
            let run = try await router.openurl(arguments)
            #expect(run.status == 66, "\(arguments): \(run)")
        }
        #expect(try await router.openurl("lits").status == 64)
        for arguments in [
            ["queue", "wait", "7"], ["queue", "retry", "7"], ["queue", "drop", "7"], ["hosts", "remove", "nosuch"],
            ["tasks", "cancel", "com.acme.todolist", "nosuch"], ["tasks", "run", "com.acme.todolist", "nosuch"],
            ["policy", "reset", "nosuch"], ["policy", "forget", "nosuch"],
        ] {
            let run = try await router.openurl(arguments)
            #expect(run.status == 1 && !run.errors.isEmpty, "\(arguments): \(run)")
        }
        let rule = "a bundle identifier is made of letters, digits, '-', '_' and '.'"
        let list = "'openurl list' shows all that are"
        for (id, reason) in [
            ("nonsense", "needs at least two elements, as in com.example.app"),
            ("no sense", "contains U+0020; \(rule)"), ("com.acme.nonsense", nil),
        ] as [(String, String?)] {
            // Some commands find out by themselves that there is no such handler, and give no reason.
            let reasons = [""] + [reason].compactMap(\.self).map { ": the bundle identifier \($0)" }
            let messages = reasons.map { "no handler is registered as \(id)\($0); \(list)" }
            let words = { (line: String) in line.split(separator: " ").map { $0 == "ID" ? id : String($0) } }
            for line in [
                "activate ID", "background ID", "suspend ID", "interrupt ID", "resume ID", "terminate ID", "restart ID",
                "unregister ID", "output ID", "status ID", "check ID", "tasks list ID", "tasks run ID x",
                "tasks run --json ID x", "tasks cancel ID x", "notifications list ID", "notifications cancel ID x",
                "notifications cancel --all ID", "default todolist ID", "explain --handler ID todolist:x",
                "--handler ID todolist:x", "links ask ID", "send --to ID /etc/passwd", "links allow example.com ID",
            ] {
                let run = try await router.openurl(words(line))
                #expect(run.status == 3 && messages.contains { run.errors.contains($0) }, "\(line): \(run)")
            }
        }
        for (id, line, message) in [
            ("com.acme.todolist", "send --to ID /etc/passwd", "takes no files; 'openurl list' shows the handlers "),
            ("nosuch.desktop", "send --to ID /etc/passwd", "takes no files; 'openurl list' shows the handlers "),
            ("com.acme.todolist", "links allow example.com ID", "does not claim links to example.com; a manifest "),
            ("org.openurl.system.mail", "activate ID", "has no process of its own: an application of the desktop "),
        ] {
            let words = line.split(separator: " ").map { $0 == "ID" ? id : String($0) }
            let run = try await router.openurl(words)
            #expect(run.status == 3 && run.errors.contains("\(id) \(message)"), "\(line): \(run)")
        }
        for command in ["unregister", "terminate"] {
            let run = try await router.openurl(command, broken)
            let reason = "the bundle identifier contains '/'; \(rule)"
            #expect(run.status == 3, "\(run)")
            #expect(run.errors == "openurl: no handler is registered as \(broken): \(reason); \(list)\n")
        }
    }

    @Test func emptyListsSaySoOnATerminal() async throws {
        let router = try await RouterProcess { directory in
            let example = directory.appending(path: "XDG_DATA_DIRS/openurl/handlers/com.acme.todolist.plist")
            try FileManager.default.removeItem(at: example)
        }
        defer { router.stop() }
        let sentences = [
            "status": "No handlers are registered. Register one with 'openurl register PATH'.",
            "queue": "The queue is empty. 'openurl --queue URL' stores a URL in it.",
            "policy": "There are no rules. Add one with 'openurl policy allow', 'deny' or 'ask'.",
            "permissions": "There are no rules and no remembered answers. Add a rule with 'openurl policy'.",
            "log": "The log shows no requests. 'openurl monitor' shows them as they come.",
        ]
        for (command, sentence) in sentences {
            let nothing = CommandRun(status: 0, output: "", errors: "")
            #expect(try await router.openurl(command) == nothing)
            #expect(
                try await router.openurl(command == "queue" ? ["queue", "list", "--json"] : [command, "--json"])
                    == nothing
            )
            let script = [
                "--quiet", "--return", "--command", "\(RouterProcess.products.path)/openurl \(command)", "/dev/null",
            ]
            let terminal = try await CommandRun(
                URL(filePath: "/usr/bin/script"),
                script,
                router.bus.environment,
                in: router.bus.directory
            )
            #expect(terminal.output == "\(sentence)\r\n", "\(terminal)")
        }
    }

    /// A command is a handler too, also while no process of it runs.
    @Test func statusKnowsCommands() async throws {
        let id = "com.example.command"
        let router = try await RouterProcess { directory in
            let pipe = directory.appending(path: "pipe").path
            guard mkfifo(pipe, 0o600) == 0 else { throw POSIXError(.EIO) }
            let keys: [String: Any] = [
                "CFBundleIdentifier": id, "OUCommand": ["timeout", "60", "cat", pipe],
                "CFBundleURLTypes": [["CFBundleURLSchemes": ["command"]]],
            ]
            let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
            try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
            try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
                .write(to: handlers.appending(path: "\(id).plist"))
        }
        defer { router.stop() }
        #expect(try await router.openurl("status", id).output == "○ \(id)\n     State: notRunning\n")
        #expect(try await router.openurl("command:x").status == 0)
        let running = try await router.openurl("status", id).output
        #expect(running.hasPrefix("● \(id)\n     State: active since "), "\(running)")
        #expect(try await router.openurl("list").output.contains("\texec\tcommand\tactive\t"))
        let system = try await router.openurl("status", "org.openurl.system.mail")
        #expect(system.status == 3 && system.errors.contains("has no process of its own"), "\(system)")
        // The end of the pipe ends the command.
        close(open(router.bus.directory.appending(path: "pipe").path, O_WRONLY | O_CLOEXEC))
        try await eventually(await router.openurl("status", id).output) { !$0.contains("State: active") }
    }

    @Test func parametersAreEscaped() async throws {
        let router = try await RouterProcess(["com.example.app": []])
        defer { router.stop() }
        #expect(try await router.openurl("app:x?a=b#f", "--query", "note=50% & more", "--query", "empty=").status == 0)
        let opened = try router.log(of: "com.example.app").joined(separator: "\n")
        #expect(
            opened.contains("app:x?a=b&note=50%25") && opened.contains("%26") && opened.contains("&empty=#f"),
            "\(opened)"
        )
        #expect(try await router.openurl("--query", "noequals", "app:x").status == 64)
    }
}
