import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The desktop's applications as handlers, over the bus or as commands.
@Suite(.timeLimit(.minutes(10))) struct DesktopOutboundTests {
    /// Writes an application that runs a shell script. The name of the application is also its scheme.
    private func script(_ name: String, _ body: String, in directory: URL, _ keys: String = "") throws {
        let file = directory.appending(path: "\(name).sh")
        try writeProgram("#!/bin/sh\n\(body)\n", to: file.path)
        try entry(name, command: "\(file.path) %u", in: directory, keys)
    }

    /// Writes a program that runs until the test ends it, and at most for a minute.
    private func endless(_ name: String, in directory: URL) throws {
        let pipe = directory.appending(path: "\(name).pipe").path
        guard mkfifo(pipe, 0o600) == 0 else { throw POSIXError(.EIO) }
        try script(name, "exec timeout 60 cat '\(pipe)'", in: directory)
    }

    /// Ends the program of ``endless(_:in:)``, if it runs.
    private func end(_ name: String, in directory: URL) {
        let descriptor = open(directory.appending(path: "\(name).pipe").path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
    }

    private func entry(_ id: String, command: String, in directory: URL, _ keys: String = "") throws {
        let scheme = id.split(separator: ".").last.map { $0.lowercased() } ?? id
        let applications = directory.appending(path: "XDG_DATA_HOME/applications")
        try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
        let text = """
            [Desktop Entry]
            Type=Application
            Name=\(id)
            Exec=\(command)
            MimeType=x-scheme-handler/\(scheme);
            \(keys)
            """
        let file = applications.appending(path: "\(id).desktop")
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    private func service(_ name: String, command: String, in directory: URL) throws {
        let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
        try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
        let text = "[D-BUS Service]\nName=\(name)\nExec=\(command)\n"
        try text.write(to: services.appending(path: "\(name).service"), atomically: true, encoding: .utf8)
    }

    /// Writes the entry and the service of an application of GLib that records its calls, with the platform data after
    /// each URL. The application opens URLs if its flags say so.
    private func glibApplication(_ id: String, flags: String, in directory: URL) throws {
        let log = directory.appending(path: "\(id).log").path
        let command = "\"\(ScriptHandler.path(of: "glib_application"))\" \(id) \(flags) \"\(log)\""
        try entry(id, command: command, in: directory, "DBusActivatable=true")
        try service(id, command: "\(command) --gapplication-service", in: directory)
    }

    @Test func glibApplicationIsStartedAndGetsURLsOverTheBus() async throws {
        let router = try await RouterProcess { try glibApplication("org.example.Gapp", flags: "HANDLES_OPEN", in: $0) }
        defer { router.stop() }
        let cold = try await router.open("gapp:1")
        #expect(cold.handler == "org.example.Gapp.desktop")
        #expect(cold.way == .launched)
        #expect(try await router.open("gapp:2").way == .active)
        #expect(try router.log(of: "org.example.Gapp") == ["gapp:1", "gapp:2"])
    }

    /// Writes a manifest that names the desktop entry of an application.
    private func manifest(_ id: String, for entry: String, in directory: URL, _ extra: [String: Any] = [:]) throws {
        let scheme = id.split(separator: ".").last.map(String.init) ?? id
        var manifest: [String: Any] = [
            "CFBundleIdentifier": id, "OUDesktopEntry": entry,
            "CFBundleURLTypes": [["CFBundleURLSchemes": [scheme]]],
        ]
        manifest.merge(extra) { $1 }
        let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
        try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
        try PropertyListSerialization.data(fromPropertyList: manifest, format: .xml, options: 0)
            .write(to: handlers.appending(path: "\(id).plist"))
    }

    @Test func manifestHandsURLsToAGLibApplication() async throws {
        let router = try await RouterProcess(["com.example.native": []]) { directory in
            try glibApplication("org.example.Gapp", flags: "HANDLES_OPEN", in: directory)
            let hosts: [String: Any] = [
                "CFBundleURLTypes": [["CFBundleURLSchemes": ["notes"], "OUHosts": ["here"]]], "OUReach": "listed",
                "OUAllowedSources": ["com.example.*"],
            ]
            try manifest("com.example.wrapped", for: "org.example.Gapp.desktop", in: directory)
            try manifest("com.example.notes", for: "org.example.Gapp.desktop", in: directory, hosts)
        }
        defer { router.stop() }
        _ = try await router.open("native:1")
        let cold = try await router.open("wrapped:1")
        #expect(cold.handler == "com.example.wrapped" && cold.way == .launched && cold.reply.isEmpty)
        var options = OpenOptions()
        options.activationToken = "token"
        #expect(try await router.open("wrapped:2", options).way == .active)
        let told = ["wrapped:1", "wrapped:2 activation-token=token desktop-startup-id=token"]
        #expect(try router.log(of: "org.example.Gapp") == told)
        // An application comes to the foreground.
        try await eventually(await router.status(of: "com.example.native")) { $0.state != .known(.active) }
        // The manifest says which URLs, and whose.
        #expect(try await router.failure("notes://here/").code == .notAllowed)
        #expect(try await router.failure("notes://there/").code == .noHandler)
        // The desktop knows the handler as any other.
        let entry = try #require(try await router.handlers()["com.example.wrapped"])
        #expect(entry.kind == .known(.freedesktop) && entry.executable == "org.example.Gapp.desktop")
        try await router.waitUntilPublished("com.example.wrapped")
        #expect(try await router.openurl("activate", "com.example.wrapped").errors.contains("runs only for a URL"))
        options.isQueued = true
        let queued = try await router.open("wrapped:3", options)
        #expect(queued.way == .queued)
        #expect(try await router.openurl("queue", "wait", try #require(queued.id)).status == 0)
        #expect(try router.log(of: "org.example.Gapp").last?.hasPrefix("wrapped:3") == true)
    }

    @Test func entryThatTheBusCannotStartIsNamed() async throws {
        let router = try await RouterProcess { directory in
            try script("viewer", "exit 0", in: directory)
            try manifest("com.example.none", for: "org.example.None.desktop", in: directory)
            try manifest("com.example.command", for: "viewer.desktop", in: directory)
        }
        defer { router.stop() }
        let none = try await router.failure("none:1")
        #expect(none.code == .launchFailed && none.message.contains("which is not an application on this desktop"))
        let command = try await router.failure("command:1")
        #expect(command.code == .launchFailed && command.message.contains("has no DBusActivatable=true"))
        let doctor = try await router.openurl("doctor", "com.example.none").output
        #expect(doctor.contains("names org.example.None.desktop as OUDesktopEntry"), "\(doctor)")
        for (key, value) in [("CFBundleExecutable", "true" as Any), ("OUCommand", ["true"])] {
            let directory = router.bus.directory.appending(path: key)
            try manifest("com.example.both", for: "viewer.desktop", in: directory, [key: value])
            let file = directory.appending(path: "XDG_DATA_HOME/openurl/handlers/com.example.both.plist").path
            #expect(try await router.openurl("check", file).output.contains("cannot be used together with \(key)"))
        }
    }

    @Test func openedApplicationTakesTheForeground() async throws {
        let router = try await RouterProcess(["com.example.native": []]) { directory in
            try script("viewer", "exit 0", in: directory)
            try script("refuser", "exit 3", in: directory)
        }
        defer { router.stop() }
        let id = "com.example.native"
        _ = try await router.open("native:1")
        var options = OpenOptions()
        options.inBackground = true
        _ = try await router.open("viewer:1", options)
        #expect(try await router.failure("refuser:1").code == .declined)
        #expect(try await router.status(of: id).state == .known(.active))
        let states = try await router.states()
        _ = try await router.open("viewer:2")
        try await states.wait(for: "background", of: id)
        #expect(try router.log(of: id).suffix(2) == ["willResignActive", "didEnterBackground"])
    }

    /// The tokens come from the options, from the environment of the command, or from the desktop's own call of the
    /// router.
    @Test func desktopTokensReachBothKindsOfApplications() async throws {
        let router = try await RouterProcess { directory in
            try glibApplication("org.example.Gapp", flags: "HANDLES_OPEN", in: directory)
            let tokens = "${XDG_ACTIVATION_TOKEN-none} ${DESKTOP_STARTUP_ID-none}"
            try script("exec", "echo \"$1 \(tokens)\" >> \(directory.path)/exec.log", in: directory)
        }
        defer { router.stop() }
        // The router passes on no token twice.
        for scheme in ["gapp", "exec"] {
            let token = "token-of-\(scheme)"
            let startup = "startup-of-\(scheme)"
            var options = OpenOptions()
            (options.activationToken, options.desktopStartupID) = ("\(token)-1", "\(startup)-1")
            let environment = ["XDG_ACTIVATION_TOKEN=\(token)-2", "DESKTOP_STARTUP_ID=\(startup)-2"]
            let platformData: [String: Value] = [
                "activation-token": .string("\(token)-3"), "desktop-startup-id": .string("\(startup)-3"),
            ]
            _ = try await router.open("\(scheme):1", options)
            let command = RouterProcess.products.appending(path: "openurl").path
            let run = try await router.tool(["env"] + environment + [command, "\(scheme):2"])
            #expect(run.status == 0, "\(run.errors)")
            _ = try await router.connection.call(
                FreedesktopApplication.open,
                on: RouterService.object,
                Arguments(["\(scheme):3"], platformData),
                timeout: .seconds(60)
            )
            // The next URL does not inherit the tokens of an earlier URL.
            _ = try await router.open("\(scheme):4")
        }
        // A token goes with one URL: with the first one that has a receiver.
        let command = RouterProcess.products.appending(path: "openurl").path
        let run = try await router.tool(["env", "XDG_ACTIVATION_TOKEN=token-5", command, "nobody:", "exec:5", "exec:6"])
        #expect(run.status != 0)
        let told = (1...3).map {
            "gapp:\($0) activation-token=token-of-gapp-\($0) desktop-startup-id=startup-of-gapp-\($0)"
        }
        #expect(try router.log(of: "org.example.Gapp") == told + ["gapp:4"])
        let found = (1...3).map { "exec:\($0) token-of-exec-\($0) startup-of-exec-\($0)" }
        let later = ["exec:4 none none", "exec:5 token-5 token-5", "exec:6 none none"]
        #expect(try router.log(of: "exec") == found + later)
    }

    /// A toolkit finds the tokens in the environment of its process. The library removes them from there, because the programs
    /// that the handler starts must not use the tokens.
    @Test func tokensReachTheProcessOfAHandlerAndItsDelegate() async throws {
        let id = "com.example.native"
        let router = try await RouterProcess { directory in
            let program = directory.appending(path: "handler")
            let body = """
                #!/bin/sh
                echo "${XDG_ACTIVATION_TOKEN-none} ${DESKTOP_STARTUP_ID-none}" >> \(directory.path)/started.log
                exec \(RouterProcess.products.path)/testhandler "$@"

                """
            try writeProgram(body, to: program.path)
            try RouterProcess.write(id, [], in: directory, extra: ["CFBundleExecutable": program.path])
        }
        defer { router.stop() }
        var options = OpenOptions()
        for number in 1...2 {
            options.activationToken = "token-\(number)"
            options.desktopStartupID = "startup-\(number)"
            let reply = try await router.open("native:\(number)", options).reply
            #expect(reply["activation-token"] == .string("token-\(number)"))
            #expect(reply["desktop-startup-id"] == .string("startup-\(number)"))
            guard case .array(let environment, _) = reply["environment"] else {
                Issue.record("no environment in \(reply)")
                return
            }
            let names = environment.compactMap { $0.string?.split(separator: "=").first }
            #expect(!names.contains("XDG_ACTIVATION_TOKEN") && !names.contains("DESKTOP_STARTUP_ID"))
        }
        let last = try await router.open("native:3").reply
        #expect(last["activation-token"] == nil && last["desktop-startup-id"] == nil)
        #expect(try router.log(of: "started") == ["token-1 startup-1"])
    }

    @Test func commandKeepsRunningAfterTheRouterEnds() async throws {
        let router = try await RouterProcess { directory in
            for name in ["go", "done"] { try #require(mkfifo(directory.appending(path: name).path, 0o600) == 0) }
            let body = """
                echo before
                exec 3> "\(directory.path)/done"
                read line < "\(directory.path)/go"
                echo after; echo after >&2
                echo "$line" >&3
                """
            try script("exec", body, in: directory)
        }
        defer { router.stop() }
        _ = try await router.open("exec:1")
        let done = try FileHandle(forReadingFrom: router.bus.directory.appending(path: "done"))
        #expect(await router.terminate() == 0)
        try FileHandle(forWritingTo: router.bus.directory.appending(path: "go")).write(contentsOf: Data("go on\n".utf8))
        // A terminated command would have written nothing.
        #expect(try done.readToEnd() == Data("go on\n".utf8))
    }

    @Test func applicationWithoutOpenDeclines() async throws {
        let router = try await RouterProcess { try glibApplication("org.example.Plain", flags: "FLAGS_NONE", in: $0) }
        defer { router.stop() }
        let error = try await router.failure("plain:1")
        #expect(error.code == .declined)
        #expect(error.message.contains("org.example.Plain"), "\(error.message)")
    }

    @Test func missingAndFailingServicesHaveDifferentErrors() async throws {
        let router = try await RouterProcess { directory in
            for name in ["Missing", "Failing"] {
                try entry("org.example.\(name)", command: "true", in: directory, "DBusActivatable=true")
            }
            try service("org.example.Failing", command: "/bin/false", in: directory)
        }
        defer { router.stop() }
        let missing = try await router.failure("missing:1")
        #expect(missing.code == .launchFailed)
        #expect(missing.message.contains("no D-Bus service file"), "\(missing.message)")
        let failing = try await router.failure("failing:1")
        #expect(failing.code == .launchFailed)
        #expect(failing.message.contains("cannot be started"), "\(failing.message)")
    }

    @Test func launchWatchdogGivesUpAServiceWithoutItsName() async throws {
        let router = try await RouterProcess { directory in
            try entry("org.example.Never", command: "true", in: directory, "DBusActivatable=true")
            try endless("waiting", in: directory)
            try service("org.example.Never", command: "\(directory.path)/waiting.sh", in: directory)
        }
        defer { router.stop() }
        defer { end("waiting", in: router.bus.directory) }
        var options = OpenOptions()
        options.timeout = .seconds(3)
        let error = try await router.failure("never:1", options)
        #expect(error.code == .timedOut)
        #expect(error.message.contains("did not take its name"), "\(error.message)")
    }

    @Test func exitOfACommandDecidesTheOutcome() async throws {
        let router = try await RouterProcess { directory in
            try script("good", "echo \"$1\" \"$XDG_ACTIVATION_TOKEN\" > \(directory.path)/good.log", in: directory)
            try script("seven", "exit 7", in: directory)
            try script("crash", "kill -SEGV $$", in: directory)
            try script("gone", "exit 127", in: directory)
            // The command gets the URL and keeps running, as a browser does.
            try endless("busy", in: directory)
        }
        defer { router.stop() }
        defer { end("busy", in: router.bus.directory) }
        var options = OpenOptions()
        options.activationToken = "token-2"
        let result = try await router.open("good:$(touch%20canary);x", options)
        #expect(result.handler == "good.desktop")
        #expect(try router.log(of: "good") == ["good:$(touch%20canary);x token-2"])
        #expect(try await router.failure("seven:1").code == .declined)
        #expect(try await router.failure("crash:1").code == .handlerCrashed)
        #expect(try await router.failure("gone:1").code == .launchFailed)
        #expect(try await router.open("busy:1").way == .launched)
    }

    @Test func fixedSchemeGoesToTheDesktopsDefaultAndNeverBackToTheRouter() async throws {
        let id = "com.example.loop"
        let router = try await RouterProcess([id: []]) { directory in
            try script("browser", "echo \"$1\" >> \(directory.path)/browser.log", in: directory)
        }
        defer { router.stop() }
        #expect(try await router.failure("https://example.com/").code == .noHandler)

        var changes = try await router.changes().makeAsyncIterator()
        let type = "x-scheme-handler/https"
        #expect(try await router.tool("xdg-mime", "default", "browser.desktop", type).status == 0)
        #expect(await changes.next()?.body.contains("https") == true)
        #expect(try await router.open("https://example.com/").handler == "browser.desktop")
        #expect(try router.log(of: "browser") == ["https://example.com/"])

        #expect(try await router.tool("gio", "mime", type, "\(id).desktop").status == 0)
        _ = try await router.connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        let error = try await router.failure("https://example.com/")
        #expect(error.code == .noHandler)
        #expect(error.message.contains("leads back to openurl"), "\(error.message)")
    }

    /// Tests the router's installed entry, and an entry that only the bus can start.
    @Test(arguments: [true, false]) func routersOwnEntryIsNotAHandler(isInstalled: Bool) async throws {
        let id = "org.openurl.Router1"
        let router = try await RouterProcess { directory in
            try script("other", "exit 0", in: directory)
            let file = directory.appending(path: "XDG_DATA_HOME/applications/\(id).desktop")
            var text = try String(contentsOf: Self.routersEntry, encoding: .utf8)
                .replacing("@BINDIR@", with: RouterProcess.products.path)
            if !isInstalled {
                text = text.split(separator: "\n").filter { !$0.hasPrefix("Exec=") }.joined(separator: "\n")
                text += "\nMimeType=x-scheme-handler/https;x-scheme-handler/own;\n"
            }
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { router.stop() }
        if isInstalled {
            let check = try await router.tool("desktop-file-validate", router.desktopEntry(id).path)
            #expect(check.output == "" && check.status == 0)
        }
        for scheme in ["https", "own", "other"] {
            let type = "x-scheme-handler/\(scheme)"
            #expect(try await router.tool("gio", "mime", type, "\(id).desktop").status == 0)
        }
        #expect(try await router.reload() == [:])
        let fixed = try await router.failure("https://example.com/")
        #expect(fixed.code == .noHandler)
        #expect(fixed.message.contains("leads back to openurl"), "\(fixed.message)")
        #expect(try await router.failure("own:1").code == .noHandler)
        // Schemes of other applications stay with them, and the desktop reaches those applications through the router.
        #expect(try await router.open("other:1").handler == "other.desktop")
        #expect(try await router.tool("gio", "open", "other:2").status == 0)
    }

    private static let routersEntry = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Packaging/org.openurl.Router1.desktop.in").standardizedFileURL

    /// Tests a command that waits for the URL that it opens, and a command that does not wait.
    @Test(arguments: ["", "&"]) func commandThatOpensItsOwnURLIsALoop(_ background: String) async throws {
        let router = try await RouterProcess { directory in
            let openurl = RouterProcess.products.appending(path: "openurl").path
            let body = "exec 3>\(directory.path)/pipe; echo opened >&3; \(openurl) \"$1\" 2>&3 \(background)"
            try script("loop", body, in: directory)
        }
        defer { router.stop() }
        let pipe = router.bus.directory.appending(path: "pipe").path
        #expect(try await router.run("mkfifo", pipe).status == 0)
        // `cat` ends with the last command. Each command opens the pipe before the previous command ends.
        async let output = router.run("cat", pipe).output
        do throws(CallError) {
            _ = try await router.open("loop:1")
        } catch {
            // The refusal of the last command passes through all waiting commands, if each command ends early enough
            // for its exit status to count.
            guard case .remote(let remote) = error else { throw error }
            #expect(OpenURLError(remote)?.code == .declined)
        }
        let lines = try await output.split(separator: "\n")
        #expect(lines.count { $0 == "opened" } == 9)
        #expect(lines.contains { $0.contains("9 handlers in a row have opened each other") }, "\(lines)")
    }

    @Test func userChoiceDecidesAndCanBeReset() async throws {
        // The desktop puts this handler's entry before the application, by its name.
        let id = "app.example.both"
        let router = try await RouterProcess([id: []]) { directory in
            try script("both", "echo \"$1\" >> \(directory.path)/both.log", in: directory)
        }
        defer { router.stop() }
        try await router.waitUntilPublished(id)
        #expect(try await router.open("both:1").handler == id)
        #expect(try await router.openurl("default", "both", "both.desktop").output == "both.desktop\n")
        #expect(try await router.open("both:2").handler == "both.desktop")
        #expect(try router.log(of: "both") == ["both:2"])
        #expect(
            try await router.tool("xdg-mime", "query", "default", "x-scheme-handler/both").output == "both.desktop\n"
        )
        #expect(try await router.openurl("default", "both", id).output == "\(id)\n")
        // The first choice stays associated with the scheme, and the desktop follows the association.
        #expect(try await router.openurl("default", "--reset", "both").output == "both.desktop\n")
        let recommended = try await router.tool("gio", "mime", "x-scheme-handler/both").output
        #expect(recommended.contains(": both.desktop\n"), "\(recommended)")

        let explained = try await router.openurl("explain", "both:3")
        #expect(explained.status == 0)
        #expect(explained.output.contains("wins\tboth.desktop\texec"), "\(explained.output)")
        #expect(explained.output.contains("loses\t\(id)\tnative"), "\(explained.output)")
        for bad in [["nothing"], ["nothing", "nobody"], ["b:d", id], ["https", id]] {
            let run = try await router.openurl(["default"] + bad)
            #expect(run.status != 0, "\(bad): \(run.output)")
        }
    }
}
