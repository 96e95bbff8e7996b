import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The policy with real processes: rules, questions and answers.
@Suite(.timeLimit(.minutes(10))) struct PolicyEnforcementTests {
    private static let app = "com.example.app"

    /// Starts a router whose only handler asks for a question before each URL.
    private func askingRouter(prepare: (URL) throws -> Void = { _ in }) async throws -> RouterProcess {
        try await RouterProcess { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["OUAsk": true])
            try prepare(directory)
        }
    }

    private func rules(of router: RouterProcess) throws -> String {
        let file = router.bus.directory.appending(path: "XDG_CONFIG_HOME/openurl/policy.conf")
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// Writes a program for the directory of programs that come first on the router's path.
    private func writeProgram(_ name: String, _ body: String, in directory: URL) throws {
        let programs = directory.appending(path: "programs")
        try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
        try TestSupport.writeProgram("#!/bin/sh\n\(body)\n", to: programs.appending(path: name).path)
    }

    /// Starts a router with a display, on which a stand-in asks the person.
    private func routerWithDialog(_ program: String, _ body: String) async throws -> RouterProcess {
        try await RouterProcess(
            wrapper: ["/bin/sh", "-c", "DISPLAY=:nowhere PATH=$HOME/programs:$PATH exec \"$0\""]
        ) { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["OUAsk": true])
            try writeProgram(program, body, in: directory)
        }
    }

    // MARK: Rules

    @Test func commandChangesTheRulesAndTheirEffect() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        #expect(try await router.openurl("app:1").status == 0)
        #expect(try await router.openurl("policy", "deny", "app://bad").status == 0)
        let file = router.bus.directory.appending(path: "XDG_CONFIG_HOME/openurl/policy.conf").path
        let refused = try await router.openurl("app://bad/x")
        #expect(refused.status == 7)
        #expect(
            refused.errors == "openurl: the rule 'deny app://bad from *' in \(file), line 1 does not allow it; "
                + "'openurl policy allow --source user app://bad' allows it\n"
        )
        #expect(try await router.openurl("app://good").status == 0)
        // The line of the message helps.
        #expect(try await router.openurl("policy", "allow", "--source", "user", "app://bad").status == 0)
        #expect(try await router.openurl("app://bad/x").status == 0)
        let list = try await router.openurl("policy")
        #expect(list.output == "deny\tapp://bad\t*\t\(file):1\nallow\tapp://bad\tuser\t\(file):2\n")
        let json = try await router.openurl("permissions", "--json")
        #expect(
            json.output.hasPrefix(
                #"{"from":"rule","source":"*","scheme":"app","host":"bad","decision":"deny","file":"\#(file)","line":1,"#
                    + #""changeable":true,"stands-for-problem":false}"#
            )
        )
        let explained = try await router.openurl("explain", "app://bad")
        #expect(
            explained.output.contains("policy\tallow: the rule 'allow app://bad from user' in \(file), line 2\n"),
            "\(explained.output)"
        )
        let reset = try await router.openurl("policy", "reset", "--json", "--source", "user", "app://bad")
        #expect(reset.status == 0 && reset.output == #"{"source":"user","scheme":"app","host":"bad"}"# + "\n")
        #expect(try rules(of: router) == "deny app://bad from *\n")
        let all = try await router.openurl("policy", "reset", "--json", "--all")
        #expect(all.status == 0 && all.output == #"{"source":null,"scheme":null,"host":null}"# + "\n")
        #expect(try await router.openurl("app://bad").status == 0)
        #expect(try await router.openurl("policy", "reset", "app").status == 1)
        #expect(try await router.openurl("policy", "deny", "--source", "nobody", "app").status == 64)
    }

    /// The portal may not say which sandbox a URL comes from. Nobody should rely on a rule that cannot hold.
    @Test func ruleForOneSandboxTellsWhatItDoesNotSee() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        for source in ["org.example.App", "org.example.*", "app:firefox"] {
            let deny = try await router.openurl("policy", "deny", "--source", source, "app://host")
            #expect(deny.status == 0)
            let name = source.replacing("app:", with: "")
            #expect(deny.errors.hasPrefix("openurl: if \(name) runs in a sandbox"), "\(deny.errors)")
            #expect(deny.errors.contains("'openurl policy deny --source sandboxed app://host'"), "\(deny.errors)")
        }
        let list = try await router.openurl("policy")
        #expect(list.errors.split(separator: "\n").count == 1 && list.errors.contains("the portal"), "\(list.errors)")
        #expect(try await router.openurl("policy", "reset", "--all").status == 0)
        // These rules hold for the URLs of the portal too.
        for source in ["sandboxed", "user", "*", "host:laptop"] {
            #expect(try await router.openurl("policy", "deny", "--source", source, "app").errors.isEmpty)
        }
        #expect(try await router.openurl("policy").errors.isEmpty)
    }

    @Test func fileThatAPersonWritesCounts() async throws {
        let router = try await RouterProcess([Self.app: []]) { directory in
            let folder = directory.appending(path: "XDG_CONFIG_HOME/openurl")
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try Data("# Mine\ndeny app\ndeny app from user\n".utf8).write(to: folder.appending(path: "policy.conf"))
        }
        defer { router.stop() }
        #expect(try await router.failure("app:1").code == .notAllowed)
        let list = try await router.openurl("policy")
        // The line that cannot be read stands for a rule that refuses.
        let rows = list.output.split(separator: "\n").map { $0.split(separator: "\t").prefix(3).joined(separator: " ") }
        #expect(rows == ["deny * sandboxed", "deny * remote", "deny * unknown", "deny app user"])
        #expect(list.errors.contains("line 2: is not a rule: write 'deny SCHEME from SOURCE'"))
        // No rule could be removed for it.
        let reset = try await router.openurl("policy", "reset", "--source", "sandboxed", "*")
        #expect(reset.status == 1 && reset.errors.contains("you have no rule for"), "\(reset)")
        // The queue takes no URL that is denied.
        #expect(try await router.openurl("--queue", "app:2").status == 7)
        // The router notices the change of the file.
        let states = try await router.states()
        let file = router.bus.directory.appending(path: "XDG_CONFIG_HOME/openurl/policy.conf")
        try Data("allow app from user\n".utf8).write(to: file)
        try await eventually(await router.openurl("app:3")) { $0.status == 0 }
        _ = try await states.next(of: Self.app)
        #expect(try router.log(of: Self.app).contains("open app:3"))
    }

    /// Nobody was asked about the URL when it was accepted, so a rule that asks refuses it, too.
    @Test(arguments: ["deny", "ask"]) func queuedURLIsCheckedAgain(_ decision: String) async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["CFBundleExecutable": "/nonexistent/program"])
        }
        defer { router.stop() }
        var options = OpenOptions()
        options.isQueued = true
        let changes = try await router.queueChanges()
        let id = try await router.open("app:1", options).id ?? ""
        try await changes.wait(for: "waiting", of: id)
        #expect(try await router.openurl("policy", decision, "app").status == 0)
        #expect(try await router.openurl("queue", "retry", id).status == 0)
        try await changes.wait(for: "dead", of: id)
        let entry = try #require(try await router.queuedURLs().first)
        #expect(entry.error?.name == OpenURLError.Code.notAllowed.errorName)
    }

    // MARK: Questions

    @Test func nobodyToAskIsARefusal() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let run = try await router.openurl("app://a")
        #expect(run.status == 7)
        #expect(
            run.errors == "openurl: there is no desktop or terminal on which to ask whether to open it; "
                + "'openurl policy allow --source user app://a' allows it\n"
        )
        #expect(try router.log(of: Self.app) == [])
    }

    /// Runs a command of a shell at a terminal. The first argument is typed before the question, and the second one after it.
    private static func terminal() throws -> String { try pythonProgram("answer_at_terminal") }

    private func atTerminal(
        _ answer: String,
        typedBefore early: String = "",
        _ url: String,
        _ router: RouterProcess,
        options: [String] = []
    ) async throws -> CommandRun {
        try await router.run(
            ["python3", "-c", try Self.terminal(), early, answer, RouterProcess.command.path] + options + [url]
        )
    }

    @Test func answerForTheQueueHoldsForTheDelivery() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let changes = try await router.queueChanges()
        let run = try await atTerminal("y\n", "app://a", router, options: ["--queue"])
        #expect(run.status == 0, "\(run.output)")
        let end = try await changes.next { ["delivered", "dead"].contains($0.body.values.1) }
        #expect(end.body.values.1 == "delivered")
        #expect(try router.log(of: Self.app).contains("open app://a"))
    }

    @Test func textTypedBeforeTheQuestionIsNoAnswer() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let run = try await atTerminal("n\n", typedBefore: "y\n", "app://a", router)
        #expect(run.status == 7, "\(run.output)")
        #expect(try router.log(of: Self.app) == [])
    }

    @Test func commandAsksAtItsTerminal() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let no = try await atTerminal("n\n", "app://a", router)
        #expect(no.status == 7)
        #expect(no.output.contains("wants to open this address with com.example.app:"), "\(no.output)")
        #expect(no.output.contains("  app://a"))
        #expect(no.output.contains("the address was not opened, because you answered no"))
        #expect(try router.log(of: Self.app) == [])
        #expect(try await atTerminal("y\n", "app://a", router).status == 0)
        #expect(try await atTerminal("\n", "app://a", router).status == 7)
        #expect(try await atTerminal("a\n", "app://a", router).status == 0)
        // The answer is remembered.
        #expect(try await router.openurl("app://a").status == 0)
        let permissions = try await router.openurl("permissions")
        #expect(permissions.output.hasPrefix("user\tallow\tapp://a\tcom.example.app\t"))
        #expect(try await router.openurl("policy", "forget", "app://a").status == 0)
        #expect(try await router.openurl("app://a").status == 7)
        #expect(try await router.openurl("policy", "forget", "app://a").status == 1)
    }

    @Test func questionMarkExplainsTheAnswersAndAsksAgain() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let run = try await atTerminal("?\n?\ny\n", "app://a", router)
        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.components(separatedBy: "open it? [y]es, [a]lways, [n]o, ne[v]er, [?]: ").count == 4)
        for line in [
            "y  open it this time", "a  open it, and later ones", "n  do not open it", "v  do not open it, nor",
        ] {
            #expect(run.output.components(separatedBy: "openurl:   \(line)").count == 3, "\(run.output)")
        }
        for line in run.output.split(whereSeparator: \.isNewline) where line.hasPrefix("openurl:   ") {
            #expect(line.count < 80, "\(line)")
        }
        #expect(try router.log(of: Self.app).filter { $0.hasPrefix("open ") } == ["open app://a"])
        // The end of the input is a no.
        #expect(try await atTerminal("?\n\u{4}", "app://a", router).status == 7)
    }

    @Test func answerSurvivesTheRouter() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        #expect(try await atTerminal("v\n", "app://a", router).status == 7)
        _ = await router.terminate()
        try await router.startNext()
        let run = try await router.openurl("app://a")
        #expect(run.errors.contains("a remembered answer for app://a from user does not allow it"))
    }

    @Test func dialogOfZenityAsks() async throws {
        let script = "printf '%s\\n' \"$@\" >> $HOME/zenity.log; echo 'Always open'; exit 1"
        let router = try await routerWithDialog("zenity", script)
        defer { router.stop() }
        #expect(try await router.open("app:a&b").handler == Self.app)
        #expect(try await router.open("app:c").handler == Self.app)
        let log = try String(contentsOf: router.bus.directory.appending(path: "zenity.log"), encoding: .utf8)
        #expect(log.contains("wants to open this address with com.example.app:\n\napp:a&amp;...\n"), "\(log)")
        #expect(log.contains("--extra-button\nAlways open\n"))
        #expect(!log.contains("app:c"))
    }

    @Test func dialogOfKDEAsks() async throws {
        let router = try await routerWithDialog("kdialog", "echo never; exit 0")
        defer { router.stop() }
        #expect(try await router.failure("app:1").message == "the user was asked whether to open it, and answered no")
        #expect(try await router.failure("app:1").message.hasPrefix("a remembered answer"))
    }

    /// Connects a stand-in for a service of the desktop, whose answers the closure gives.
    private func serve(
        _ name: BusName,
        _ interface: ExportedInterface,
        at path: ObjectPath,
        on router: RouterProcess
    ) async throws -> Connection {
        let connection = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        await connection.export([interface], at: path)
        _ = try await connection.requestName(name)
        return connection
    }

    private typealias Access = Method<
        Arguments<ObjectPath, String, String, String, String, String, [String: Value]>,
        Arguments<UInt32, [String: Value]>
    >

    /// Answers with yes to `app:yes`, and with a lasting yes to `app:always`.
    @Test func dialogOfThePortalAsks() async throws {
        let router = try await routerWithDialog("zenity", "exit 0")
        defer { router.stop() }
        let dialog = Access("org.freedesktop.impl.portal.Access", "AccessDialog")
        let member = ExportedInterface.Member.method(dialog) { _, input in
            let (_, _, _, _, text, url, options) = input.values
            guard text.hasSuffix("wants to open this address with com.example.app:"), options["choices"] != nil else {
                throw RemoteError(.failed, "\(text)")
            }
            let choice = Value.array([.structure(["remember", url == "app:always" ? "true" : "false"])], of: "(ss)")
            return Arguments(url == "app:no" ? 1 : 0, ["choices": choice])
        }
        let portal = try await serve(
            "org.freedesktop.impl.portal.desktop.gtk",
            ExportedInterface("org.freedesktop.impl.portal.Access", [member]),
            at: "/org/freedesktop/portal/desktop",
            on: router
        )
        #expect(try await router.failure("app:no").code == .notAllowed)
        #expect(try await router.open("app:yes").handler == Self.app)
        #expect(try await router.failure("app:no").code == .notAllowed)
        #expect(try await router.open("app:always").handler == Self.app)
        #expect(try await router.open("app:no").handler == Self.app)
        await portal.close()
    }

    private typealias Notify = Method<
        Arguments<String, UInt32, String, String, String, [String], [String: Value], Int32>, UInt32
    >

    @Test func notificationAsksWithoutADisplay() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let interface: InterfaceName = "org.freedesktop.Notifications"
        let path: ObjectPath = "/org/freedesktop/Notifications"
        let invoked = Signal<Arguments<UInt32, String>>(interface, "ActionInvoked")
        let closed = Signal<Arguments<UInt32, UInt32>>(interface, "NotificationClosed")
        let service = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        let members: [ExportedInterface.Member] = [
            .method(Method<Empty, [String]>(interface, "GetCapabilities")) { _, _ in ["actions", "body", "body-markup"]
            },
            .method(Notify(interface, "Notify")) { _, input in
                // The signal for another notification means nothing.
                try await service.emit(invoked, from: path, Arguments(6, "always"))
                if input.values.4.hasSuffix("app:b&amp;c") {
                    try await service.emit(invoked, from: path, Arguments(7, "once"))
                } else {
                    try await service.emit(closed, from: path, Arguments(7, 2))
                }
                return 7
            },
        ]
        await service.export([ExportedInterface(interface, members)], at: path)
        _ = try await service.requestName("org.freedesktop.Notifications")
        #expect(try await router.open("app:b&c").handler == Self.app)
        #expect(
            try await router.failure("app:d")
                == OpenURLError(.notAllowed, "the user was asked whether to open it, and answered no")
        )
        let answers = try await router.connection.call(PolicyInterface.answers, on: RouterService.object, Empty())
        #expect(answers == [])
    }

    @Test func notificationOfAWithdrawnQuestionIsClosed() async throws {
        let router = try await askingRouter()
        defer { router.stop() }
        let interface: InterfaceName = "org.freedesktop.Notifications"
        let path: ObjectPath = "/org/freedesktop/Notifications"
        let dismissed = Signal<Arguments<UInt32, UInt32>>(interface, "NotificationClosed")
        let (asked, asking) = AsyncStream<Void>.makeStream()
        let (withdrawn, withdrawing) = AsyncStream<Void>.makeStream()
        let (closed, closing) = AsyncStream<UInt32>.makeStream()
        let service = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        let members: [ExportedInterface.Member] = [
            .method(Method<Empty, [String]>(interface, "GetCapabilities")) { _, _ in ["actions"] },
            .method(Notify(interface, "Notify")) { _, input in
                guard input.values.4.hasSuffix("app:b") else {
                    try await service.emit(dismissed, from: path, Arguments(8, 2))
                    return 8
                }
                asking.yield()
                // The question is withdrawn before the service gives the notification its number.
                for await _ in withdrawn { break }
                return 7
            },
            .method(Method<UInt32, Empty>(interface, "CloseNotification")) { _, id in
                closing.yield(id)
                return Empty()
            },
        ]
        await service.export([ExportedInterface(interface, members)], at: path)
        _ = try await service.requestName("org.freedesktop.Notifications")
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "mine")
        async let failure = router.failure("app:b", options)
        try await asked.next { _ in true }
        let name = try #require(router.connection.uniqueName)
        let handle = try #require(options.handleToken.flatMap { RequestInterface.path(of: name, $0) })
        try await router.connection.call(RequestInterface.cancel, on: RemoteObject(RouterService.name, handle), Empty())
        #expect(try await failure.code == .cancelled)
        // The next question does not wait for the number.
        let answer = try await router.failure("app:c").message
        #expect(answer == "the user was asked whether to open it, and answered no")
        withdrawing.yield()
        #expect(try await closed.next { _ in true } == 7)
        await service.close()
    }

    @Test func sandboxGetsNeitherThePolicyNorAPermission() async throws {
        let router = try await askingRouter { directory in
            let script = directory.appending(path: "proxy.sh")
            try Data(Self.proxy.utf8).write(to: script)
            #expect(chmod(script.path, 0o700) == 0)
        }
        defer { router.stop() }
        let script = router.bus.directory.appending(path: "proxy.sh").path
        for arguments in [["policy"], ["policy", "allow", "app"], ["policy", "forget", "--all"], ["permissions"]] {
            let run = try await router.run([script, RouterProcess.command.path] + arguments)
            #expect(run.status == 7, "\(arguments): \(run.output)\(run.errors)")
        }
        let typed =
            "printf 'y\\n' | script --quiet --return --command \"\(RouterProcess.command.path) app:x\" /dev/null"
        let run = try await router.run([script, "sh", "-c", typed])
        #expect(run.status == 7)
        #expect(!run.output.contains("open it?"), "\(run.output)")
        #expect(try router.log(of: Self.app) == [])
        // A rule for sandboxes counts.
        #expect(try await router.openurl("policy", "allow", "--source", "sandboxed", "app").status == 0)
        #expect(try await router.run([script, RouterProcess.command.path, "app:x"]).status == 0)
    }

    /// Runs a command behind the proxy that Flatpak puts in front of a sandbox.
    private static let proxy = """
        #!/bin/sh
        socket="$HOME/filter"
        mkfifo "$HOME/ready.$$"
        xdg-dbus-proxy "$DBUS_SESSION_BUS_ADDRESS" "$socket.$$" --fd=3 3<>"$HOME/ready.$$" &
        head -c 1 "$HOME/ready.$$" > /dev/null
        DBUS_SESSION_BUS_ADDRESS="unix:path=$socket.$$" "$@"
        status=$?
        kill $!
        exit $status
        """
}
