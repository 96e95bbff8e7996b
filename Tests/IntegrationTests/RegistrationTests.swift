import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Registration and unregistration over the bus while the router runs.
@Suite(.timeLimit(.minutes(10))) struct RegistrationTests {
    /// Writes a manifest outside the router's directories and returns its path.
    private func manifest(
        _ id: String,
        _ arguments: [String] = [],
        for router: RouterProcess,
        extra: [String: Any] = [:]
    ) throws -> String {
        let directory = router.bus.directory.appending(path: "elsewhere")
        try RouterProcess.write(id, arguments, in: directory, extra: extra)
        return directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(id).plist").path
    }

    private func userEntry(_ id: String, _ router: RouterProcess) -> String {
        router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(id).plist").path
    }

    @Test func handlerIsRegisteredUsedAndUnregisteredWhileTheRouterRuns() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let signals = try await router.changes()
        var changes = signals.makeAsyncIterator()
        let path = try manifest("com.example.late", for: router)
        #expect(try await router.failure("late:x").code == .noHandler)
        #expect(try await !router.canOpen("late:x"))

        let entry = try await router.register(path)
        var expected = HandlerEntry(
            id: "com.example.late",
            name: "com.example.late",
            executable: RouterProcess.products.appending(path: "testhandler").path,
            schemes: ["late"],
            kind: .known(.native),
            isFixed: false,
            state: .known(.notRunning),
            warnings: []
        )
        expected.manifest = path
        expected.reach = .known(.everyone)
        #expect(entry == expected)
        #expect(await changes.next()?.body == ["late"])
        #expect(try await router.canOpen("late:x"))
        let opened = try await router.open("late:x")
        #expect(opened.way == .launched)
        let listed = try await router.handlers()["com.example.late"]
        #expect(listed?.state == .known(.active))
        #expect(try await router.schemes()["late"] == ["com.example.late"])

        // Registering the same manifest again changes nothing and sends no signal.
        #expect(try await router.register(path).state == .known(.active))
        try await router.unregister("com.example.late")
        #expect(await changes.next()?.body == ["late"])
        _ = try await router.register(try manifest("com.example.next", for: router))
        #expect(await changes.next()?.body == ["next"])

        // An unregistered handler gets no more URLs, and its process keeps running.
        #expect(try await router.failure("late:y").code == .noHandler)
        #expect(try await router.handlers()["com.example.late"] == nil)
        #expect(try await router.schemes()["late"] == nil)
        #expect(FileManager.default.fileExists(atPath: path))
        _ = try await router.register(path)
        let again = try await router.open("late:z")
        #expect(again.way == .active)
        #expect(again.reply["pid"] == opened.reply["pid"])
    }

    /// One name that no message can hold does not take the list away from all others.
    @Test func unfitNameOfABundleLeavesTheListWhole() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let bundle = router.bus.directory.appending(path: "elsewhere/Hostile.app")
        let strings = bundle.appending(path: "en.lproj")
        try FileManager.default.createDirectory(at: strings, withIntermediateDirectories: true)
        let plain = try manifest("com.example.hostile", for: router)
        try FileManager.default.moveItem(atPath: plain, toPath: bundle.appending(path: "Info.plist").path)
        try Data(#""com.example.hostile" = "a\U0000b";"#.utf8).write(to: strings.appending(path: "InfoPlist.strings"))
        _ = try await router.register(bundle.path)
        let listed = try #require(try await router.handlers()["com.example.hostile"])
        #expect(listed.urlNames.isEmpty)
        #expect(listed.warnings.contains { $0.contains("U+0000") }, "\(listed.warnings)")
    }

    /// The manifests together are larger than a message.
    @Test func listOfLargeManifestsHasEveryHandler() async throws {
        let router = try await RouterProcess(["com.example.small": []])
        defer { router.stop() }
        let ids = (0..<80).map { "com.example.large\($0)" }
        for id in ids {
            let names = (0..<110).map { "\(id).\($0)" + String(repeating: "x", count: 990) }
            let types: [[String: Any]] = names.enumerated().map {
                ["CFBundleURLName": $1, "CFBundleURLSchemes": ["\(id).s\($0)"]]
            }
            try RouterProcess.write(id, [], in: router.bus.directory, extra: ["CFBundleURLTypes": types])
            let bundle = router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(id).app")
            let strings = bundle.appending(path: "en.lproj")
            try FileManager.default.createDirectory(at: strings, withIntermediateDirectories: true)
            try FileManager.default.moveItem(
                atPath: "\(bundle.path.dropLast(4)).plist",
                toPath: bundle.appending(path: "Info.plist").path
            )
            let text = names.map { #""\#($0)" = "\#(String(repeating: "y", count: 1000))";"# }.joined(separator: "\n")
            try Data(text.utf8).write(to: strings.appending(path: "InfoPlist.strings"))
        }
        try await router.connection.call(
            RegistryInterface.reload,
            on: RouterService.object,
            Empty(),
            timeout: .seconds(240)
        )
        let listed = try await router.handlers()
        #expect(Set(listed.keys).isSuperset(of: ids + ["com.example.small"]))
        #expect(ids.allSatisfy { listed[$0]?.isCut == true && listed[$0]?.warnings.count == 1 })
        #expect(listed["com.example.small"]?.isCut == false)
        #expect(try await router.schemes()["small"] == ["com.example.small"])
    }

    /// The directory of the services does not exist when the bus starts, so the bus does not watch the directory.
    @Test func busKnowsTheServiceOfAHandlerWhenTheRegistrationIsAnswered() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let id: BusName = "com.example.late"
        #expect(try await !router.connection.activatableNames().contains(id))
        _ = try await router.register(try manifest(id.rawValue, for: router))
        #expect(try await router.connection.activatableNames().contains(id))
        #expect(try await router.connection.activatableNames().contains("com.acme.todolist"))
    }

    @Test func manifestErrorsNameFileKeyAndReason() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let before = try await router.handlers()
        let wrong = try manifest(
            "com.example.wrong",
            for: router,
            extra: [
                "CFBundleURLTypes": [["CFBundleURLSchemes": ["fine", "1st"]]], "OULaunchTimeout": "soon",
            ]
        )
        let message = try await router.refusal(.invalidFileContent) { try await router.register(wrong) }
        let lines = message.split(separator: "\n").map(String.init)
        #expect(lines.count == 2, "\(message)")
        // The line is that of the key or of the element.
        let places = try ["<string>1st</string>", "<key>OULaunchTimeout</key>"].map { text in
            let file = try String(contentsOfFile: wrong, encoding: .utf8).split(separator: "\n")
            return "\(wrong):\(try #require(file.firstIndex { $0.contains(text) }) + 1): "
        }
        #expect(lines.contains { $0.hasPrefix("\(places[0])CFBundleURLTypes[0].CFBundleURLSchemes[1]: ") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("\(places[1])OULaunchTimeout: ") }, "\(lines)")

        let noList = router.bus.directory.appending(path: "text.plist")
        try Data("no property list".utf8).write(to: noList)
        let none = try await router.refusal(.invalidFileContent) { try await router.register(noList.path) }
        #expect(none.hasPrefix("\(noList.path): "))
        for (path, name, reason) in [
            ("relative.plist", .invalidArguments, "relative.plist is a relative path; give an absolute one"),
            (
                "/etc/passwd", .invalidFileContent,
                "/etc/passwd is neither a bundle (Name.app) nor a manifest (Name.plist); "
                    + "register one of these; 'openurl new' writes a handler with its manifest"
            ),
        ] as [(String, ErrorName, String)] {
            #expect(try await router.refusal(name) { try await router.register(path) } == reason)
        }
        let missing = try await router.refusal(.fileNotFound) { try await router.register("/nonexistent/x.plist") }
        #expect(missing.contains("/nonexistent/x.plist"))
        #expect(try await router.handlers() == before)
        #expect(try await router.failure("fine:x").code == .noHandler)
    }

    @Test func fixedSchemeStaysWithTheSystem() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let types = [["CFBundleURLSchemes": ["http", "mine"]]]
        let path = try manifest("com.example.browser", for: router, extra: ["CFBundleURLTypes": types])
        let entry = try await router.register(path)
        #expect(entry.schemes == ["mine"])
        // The warning names the file that was registered, and not the link to it.
        let text = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let line = try #require(text.firstIndex { $0.contains("<string>http</string>") }) + 1
        #expect(
            entry.warnings == [
                "\(path):\(line): CFBundleURLTypes[0].CFBundleURLSchemes[0]: "
                    + "http is a fixed scheme and stays with org.openurl.system.browser"
            ]
        )
        let claims = try await router.schemes()["http"]
        #expect(claims?.first == "org.openurl.system.browser")
        #expect(claims?.contains("com.example.browser") == false)
        #expect(try await router.handlers()["org.openurl.system.browser"]?.isFixed == true)
        #expect(try await router.failure("http://www.example.com/").message.contains("belongs to the system"))
        #expect(try await router.open("mine:x").handler == "com.example.browser")

        let impostor = try manifest("org.openurl.system.browser", for: router)
        let refusal = try await router.refusal(.invalidFileContent) { try await router.register(impostor) }
        let reason = "is org.openurl.system.browser, but org.openurl.* belongs to the system"
        #expect(
            refusal.hasPrefix("\(impostor):")
                && refusal.hasSuffix(": CFBundleIdentifier: \(reason); choose a name below a domain that you own"),
            "\(refusal)"
        )
    }

    /// A sandbox as Flatpak makes it, with the file of its application at the root.
    @Test func applicationInASandboxLearnsNothingOfItsRivals() async throws {
        let types = ["CFBundleURLTypes": [["CFBundleURLSchemes": ["shared"]]]]
        let router = try await RouterProcess { directory in
            for id in ["com.example.first", "com.example.second"] {
                try RouterProcess.write(id, [], in: directory, extra: types)
            }
        }
        defer { router.stop() }
        let rivals = try await router.handlers()["com.example.second"]?.warnings ?? []
        #expect(rivals.contains { $0.contains("com.example.first") })
        let directory = router.bus.directory.path
        let info = "\(directory)/flatpak-info"
        try Data("[Application]\nname=com.example.second\n".utf8).write(to: URL(filePath: info))
        var sandbox = ["bwrap", "--unshare-user", "--ro-bind", "/usr", "/usr", "--bind", directory, directory]
        for name in ["bin", "lib", "lib64"] { sandbox += ["--symlink", "usr/\(name)", "/\(name)"] }
        sandbox += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", info, "/.flatpak-info"]
        let run = try await router.run(
            sandbox + [
                "gdbus", "call", "--session", "--dest", "org.openurl.Router1", "--object-path", "/org/openurl/Router1",
                "--method", "org.openurl.Registry1.ListHandlers",
            ]
        )
        #expect(run.status == 0 && run.output.contains("com.example.second"), "\(run)")
        #expect(!run.output.contains("com.example.first"), "\(run)")
    }

    @Test func secondClaimIsReportedAndChangesNothing() async throws {
        let types = ["CFBundleURLTypes": [["CFBundleURLSchemes": ["shared"]]]]
        let router = try await RouterProcess { directory in
            try RouterProcess.write("com.example.first", [], in: directory, extra: types)
        }
        defer { router.stop() }
        let entry = try await router.register(try manifest("com.example.second", for: router, extra: types))
        let warning = "shared: goes to com.example.first; com.example.second claims it too"
        let choice = "'openurl default shared com.example.second' chooses this handler"
        #expect(entry.warnings == ["\(warning); \(choice)"])
        #expect(try await router.schemes()["shared"] == ["com.example.first", "com.example.second"])
        let listed = try await router.handlers()
        #expect(listed["com.example.first"]?.warnings == [warning])
        #expect(listed["com.example.second"]?.warnings == entry.warnings)
        #expect(try await router.open("shared:x").handler == "com.example.first")
        // A sender that names the second handler reaches the second handler.
        var options = OpenOptions()
        options.handler = "com.example.second"
        #expect(try await router.open("shared:x", options).handler == "com.example.second")
    }

    @Test func otherHandlerIsReplacedOnDemandOnly() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let first = try manifest("com.example.app", for: router)
        let bundle = router.bus.directory.appending(path: "My App.app")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: first, toPath: bundle.appending(path: "Info.plist").path)
        _ = try await router.register(first)
        #expect(
            try await router.refusal { try await router.register(bundle.path) }
                == "com.example.app is registered already, as \(first); "
                + "run `openurl register --replace '\(bundle.path)'` to replace it"
        )
        let replaced = try await router.openurl("register", "--replace", bundle.path)
        #expect(replaced == CommandRun(status: 0, output: "com.example.app\tapp\t\(bundle.path)\n", errors: ""))
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("a handler is replaced: \(first)"), "\(log)")
    }

    @Test func processOfTheEarlierProgramIsNamed() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let program = router.bus.directory.appending(path: "built")
        let built = RouterProcess.products.appending(path: "testhandler")
        try FileManager.default.copyItem(at: built, to: program)
        let id = "com.example.app"
        let path = try manifest(id, for: router, extra: ["CFBundleExecutable": program.path])
        let first = try await router.openurl("register", path)
        #expect(first.status == 0 && first.errors.isEmpty)
        let pid = try #require(try await router.open("app:x").reply["pid"])
        #expect(try await router.openurl("register", path).errors.isEmpty)
        let warning =
            "openurl: warning: \(id): process \(pid.int ?? 0) is still running the earlier program; 'openurl restart \(id)' replaces it\n"

        // Other arguments are for the next process.
        _ = try manifest(id, ["more=1"], for: router, extra: ["CFBundleExecutable": program.path])
        #expect(try await router.openurl("register", "--replace", path).errors == warning)
        _ = try manifest(id, for: router, extra: ["CFBundleExecutable": program.path])
        #expect(try await router.openurl("register", path).errors.isEmpty)

        // A file in the place of the program is for the next process, too.
        let next = router.bus.directory.appending(path: "next")
        try FileManager.default.copyItem(at: built, to: next)
        #expect(rename(next.path, program.path) == 0)
        #expect(try await router.openurl("register", path).errors == warning)
        #expect(try await router.openurl("restart", id).status == 0)
        #expect(try await router.status(of: id).state == .known(.active))
        #expect(try await router.openurl("register", path).errors.isEmpty)
        let after = try #require(try await router.open("app:x").reply["pid"])
        #expect(after != pid)
        #expect(try await router.openurl("register", path).errors.isEmpty)
    }

    @Test func newcomerBecomesACandidate() async throws {
        let types = ["CFBundleURLTypes": [["CFBundleURLSchemes": ["viewer", "shared"]]]]
        let router = try await RouterProcess { directory in
            let applications = directory.appending(path: "XDG_DATA_DIRS/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let text = """
                [Desktop Entry]
                Type=Application
                Name=Viewer
                Exec=/bin/true %u
                MimeType=x-scheme-handler/viewer;
                """
            let file = applications.appending(path: "viewer.desktop")
            try text.write(to: file, atomically: true, encoding: .utf8)
            // A handler of the system, which comes after those of the user.
            let system = directory.appending(path: "XDG_DATA_DIRS/openurl/handlers/com.example.shared.plist")
            let elsewhere = directory.appending(path: "system")
            try RouterProcess.write("com.example.shared", [], in: elsewhere)
            let made = elsewhere.appending(path: "XDG_DATA_HOME/openurl/handlers/com.example.shared.plist")
            try FileManager.default.moveItem(at: made, to: system)
        }
        defer { router.stop() }
        #expect(try await router.schemes()["viewer"] == ["viewer.desktop"])
        let entry = try await router.register(try manifest("com.example.newcomer", for: router, extra: types))
        #expect(
            entry.warnings == [
                "viewer: goes to viewer.desktop; com.example.newcomer claims it too; "
                    + "'openurl default viewer com.example.newcomer' chooses this handler",
                "shared: goes to com.example.shared; com.example.newcomer claims it too; "
                    + "'openurl default shared com.example.newcomer' chooses this handler",
            ]
        )
        _ = try await router.reload()
        #expect(try await router.schemes()["viewer"] == ["viewer.desktop", "com.example.newcomer"])
        #expect(try await router.open("shared:x").handler == "com.example.shared")
        for scheme in ["viewer", "shared"] {
            #expect(try await router.openurl("default", scheme, "com.example.newcomer").status == 0)
            #expect(try await router.schemes()[scheme]?.first == "com.example.newcomer")
        }
        // The choice of the user stays.
        let again = try await router.register(try manifest("com.example.newcomer", for: router, extra: types))
        #expect(again.warnings.count == 2)
        #expect(try await router.schemes()["shared"]?.first == "com.example.newcomer")
    }

    @Test func nameOfAnotherProgramIsRefused() async throws {
        let router = try await RouterProcess { directory in
            let services = directory.appending(path: "XDG_DATA_DIRS/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let text = "[D-BUS Service]\nName=com.example.known\nExec=/bin/true\n"
            try text.write(to: services.appending(path: "any.service"), atomically: true, encoding: .utf8)
        }
        defer { router.stop() }
        let path = try manifest("com.example.known", for: router)
        let known = try await router.refusal(.invalidFileContent) { try await router.register(path) }
        #expect(known.contains("CFBundleIdentifier: is com.example.known, another program's bus name: "), "\(known)")
        #expect(known.contains("/any.service declares it"), "\(known)")

        #expect(try await router.connection.requestName("com.example.running") == .owned)
        let running = try manifest("com.example.running", for: router)
        let message = try await router.refusal(.invalidFileContent) { try await router.register(running) }
        #expect(message.hasPrefix("com.example.running is another program's bus name: "), "\(message)")
        #expect(message.contains(" has it, as process \(getpid()); "), "\(message)")
        #expect(try await router.handlers()["com.example.running"] == nil)

        // The program of the manifest runs without being a handler, and the router would be able to end it.
        let pid = try await router.startByHand("com.example.own")
        let own = try manifest("com.example.own", for: router)
        let refusal = try await router.refusal(.invalidFileContent) { try await router.register(own) }
        #expect(refusal.contains(" has it, as process \(pid); end that program, or choose another"), "\(refusal)")
    }

    @Test func programThatOthersCanChangeIsNotStarted() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let program = router.bus.directory.appending(path: "program")
        try FileManager.default.copyItem(at: RouterProcess.products.appending(path: "testhandler"), to: program)
        let path = try manifest("com.example.open", for: router, extra: ["CFBundleExecutable": program.path])
        _ = try await router.register(path)
        try #require(chmod(program.path, 0o757) == 0)
        let failure = try await router.failure("open:x")
        #expect(failure.code == .launchFailed)
        let reason = "\(program.path) can be changed by every user; run `chmod o-w \(program.path)`"
        #expect(failure.message == "com.example.open is not started: \(reason)")
        let refusal = try await router.refusal(.invalidFileContent) { try await router.register(path) }
        #expect(refusal.hasSuffix(reason), "\(refusal)")
        try #require(chmod(program.path, 0o755) == 0)
        #expect(try await router.open("open:x").handler == "com.example.open")
    }

    @Test func manifestOfAnotherServiceInADirectoryIsLeftOut() async throws {
        let router = try await RouterProcess(["com.example.known": []]) { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let text = "[D-BUS Service]\nName=com.example.known\nExec=/bin/true\n"
            try text.write(to: services.appending(path: "any.service"), atomically: true, encoding: .utf8)
        }
        defer { router.stop() }
        let problems = try await router.reload()
        let entry = userEntry("com.example.known", router)
        #expect(problems[entry]?.contains("any.service declares it") == true, "\(problems)")
        #expect(try await router.failure("known:x").code == .noHandler)
    }

    @Test func unregistrationRemovesOnlyFilesOfARegistration() async throws {
        let router = try await RouterProcess(["com.example.own": []])
        defer { router.stop() }
        for (id, reason) in [
            (
                "com.example.own",
                "\(userEntry("com.example.own", router)) is not a link that a registration made; delete it yourself"
            ),
            ("nodot", "the bundle identifier needs at least two elements, as in com.example.app"),
        ] {
            #expect(try await router.refusal { try await router.unregister(id) } == reason)
        }
        await #expect(
            throws: CallError.remote(
                RemoteError(
                    OpenURLError.Code.noHandler.errorName,
                    "no handler is registered as com.example.unknown; 'openurl list' shows all that are"
                )
            )
        ) { try await router.unregister("com.example.unknown") }
        let system = try await router.refusal { try await router.unregister("org.openurl.system.browser") }
        #expect(system.hasPrefix("org.openurl.system.browser is installed for all users, as "))
        #expect(try await router.open("own:x").handler == "com.example.own")
    }

    @Test func reloadFindsChangesAndReportsProblems() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        #expect(try await router.reload() == [:])
        try RouterProcess.write("com.example.new", [], in: router.bus.directory)
        try RouterProcess.write("com.example.bad", [], in: router.bus.directory, extra: ["OULaunchTimeout": "soon"])
        let problems = try await router.reload()
        #expect(Array(problems.keys) == [userEntry("com.example.bad", router)])
        #expect(problems.values.first?.hasPrefix("OULaunchTimeout: ") == true)
        #expect(try await router.open("new:x").handler == "com.example.new")
        #expect(try await router.failure("bad:x").code == .noHandler)

        try FileManager.default.removeItem(atPath: userEntry("com.example.bad", router))
        try FileManager.default.removeItem(atPath: userEntry("com.example.new", router))
        #expect(try await router.reload() == [:])
        #expect(try await router.failure("new:x").code == .noHandler)
    }

    @Test func checkAndRegisterSayTheSame() async throws {
        let router = try await RouterProcess(["com.example.other": []])
        defer { router.stop() }
        let path = try manifest(
            "com.example.checked",
            for: router,
            extra: ["OUReech": "everyone", "CFBundleExecutable": "/nowhere/program"]
        )
        let checked = try await router.openurl("check", path)
        #expect(checked.status == 0)
        let key = "OUReech: is not a known key and is ignored; did you mean OUReach?"
        let program = "CFBundleExecutable: /nowhere/program does not exist; build it, or correct the path"
        #expect(checked.output.contains("warning: \(key)\n") && checked.output.contains("warning: \(program)\n"))
        #expect(try await router.openurl("list").output.contains("com.example.checked") == false)

        let registered = try await router.openurl("register", path)
        #expect(registered.status == 0)
        #expect(registered.errors.contains(key) && registered.errors.contains(program))
        // The identifier finds the file, also when the file has become invalid.
        #expect(try await router.openurl("check", "com.example.checked").output.contains(key))
        try Data("no property list".utf8).write(to: URL(filePath: path))
        let broken = try await router.openurl("check", "com.example.checked")
        #expect(broken.status == 65)
        #expect(broken.output.contains(": error: is neither an XML nor a binary property list"))

        #expect(try await router.openurl("check", "com.example.nobody").status == 3)
        let taken = try manifest("com.example.other", for: router)
        #expect(try await router.openurl("check", taken).output.contains("com.example.other is registered already, as"))
    }

    @Test func commandRegistersAndUnregisters() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let path = try manifest("com.example.command", for: router)
        let registered = try await router.openurl("register", path)
        #expect(registered == CommandRun(status: 0, output: "com.example.command\tcommand\t\(path)\n", errors: ""))
        #expect(try await router.openurl("command:x").status == 0)
        let status = try await router.openurl("status", "com.example.command")
        #expect(status.output.hasPrefix("● com.example.command\n     State: active since "), "\(status.output)")
        #expect(try await router.openurl("unregister", "com.example.command").status == 0)
        #expect(try await router.openurl("command:x").status == 3)
        let again = try await router.openurl("unregister", "com.example.command")
        #expect(again.status == 3)
        #expect(again.errors.contains("no handler is registered as com.example.command"))
    }
}

extension RouterProcess {
    func canOpen(_ url: String) async throws -> Bool {
        try await connection.call(RouterInterface.canOpenURL, on: RouterService.object, url)
    }

    func register(_ path: String) async throws -> HandlerEntry {
        try await connection.call(RegistryInterface.register, on: RouterService.object, path)
    }

    func unregister(_ id: String) async throws {
        _ = try await connection.call(RegistryInterface.unregister, on: RouterService.object, id)
    }

    func reload() async throws -> [String: String] {
        try await connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
    }

    func handlers() async throws -> [String: HandlerEntry] {
        let entries = try await connection.call(
            RegistryInterface.listHandlers,
            on: RouterService.object,
            Empty(),
            timeout: .seconds(120)
        )
        return Dictionary(uniqueKeysWithValues: entries.map { ($0.id, $0) })
    }

    func schemes() async throws -> [String: [String]] {
        try await connection.call(RegistryInterface.listSchemes, on: RouterService.object, Empty())
    }

    /// Returns the changes that the registry announces from now on.
    func changes() async throws -> SignalSequence<[String]> {
        try await subscribed(RegistryInterface.changed)
    }

    /// Returns the text with which the router refuses the arguments.
    func refusal<T>(_ name: ErrorName = .invalidArguments, _ body: () async throws -> T) async throws -> String {
        do {
            let result = try await body()
            Issue.record("not refused: \(result)")
            return ""
        } catch CallError.remote(let error) {
            #expect(error.name == name)
            return error.message
        }
    }
}
