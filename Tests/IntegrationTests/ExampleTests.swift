import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The examples, with a real router. `Tests/Documents` runs the code of the documents.
@Suite(.timeLimit(.minutes(10))) struct ExampleTests {
    private static let guideURL = "todolist://www.acme.com?Quarterly%20Report#200806231300"
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    /// Starts a router whose to-do list uses UTC.
    private func router(prepare: (URL) throws -> Void = { _ in }) async throws -> RouterProcess {
        try await RouterProcess { directory in
            try RouterProcess.write(
                "com.acme.todolist",
                [],
                in: directory,
                extra: [
                    "CFBundleExecutable": RouterProcess.products.appending(path: "todolist").path,
                    "OUArguments": [String](),
                    "OUEnvironment": ["TZ": "UTC0"],
                    "CFBundleURLTypes": [["CFBundleURLSchemes": ["todolist", "other"]]],
                ]
            )
            try prepare(directory)
        }
    }

    private func run(
        _ program: String,
        _ arguments: [String] = [],
        _ environment: [String: String]
    ) throws -> (status: Int32, output: String, errors: String) {
        let process = ChildProcess()
        process.executableURL = URL(filePath: program, relativeTo: RouterProcess.products)
        process.arguments = arguments
        process.environment = environment.merging(["TZ": "UTC0"]) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        // Both outputs fit into the buffer of a pipe.
        process.waitUntilExit()
        let texts = try [output, errors].map {
            String(decoding: try $0.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        }
        return (process.terminationStatus, texts[0], texts[1])
    }

    /// Returns the output of `todolist list`.
    private func list(_ router: RouterProcess) throws -> String {
        let list = try run("todolist", ["list"], router.bus.environment)
        #expect(list.status == 0 && list.errors == "")
        return list.output
    }

    // MARK: Hello

    /// A router with the manifest of an example, which names the program by its path.
    private func router(
        of example: String,
        identifier: String? = nil,
        programs: (URL) throws -> URL = { _ in RouterProcess.products }
    ) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let name = "com.example.\(identifier ?? example).plist"
            let manifest = try String(
                contentsOf: Self.root.appending(path: "examples/\(example)/\(name)"),
                encoding: .utf8
            )
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending(path: "XDG_DATA_DIRS/mime").path,
                withDestinationPath: "/usr/share/mime"
            )
            let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
            try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
            try manifest.replacing("/usr/local/bin", with: programs(directory).path)
                .write(to: handlers.appending(path: name), atomically: true, encoding: .utf8)
        }
    }

    @Test func helloAnswersWithAGreeting() async throws {
        let router = try await router(of: "hello")
        defer { router.stop() }
        #expect(try await router.open("hello:?name=World").reply == ["greeting": "Hello, World!", "count": .uint32(1)])
        #expect(try await router.open("hello:?name=Z%C3%BCrich").reply["greeting"] == "Hello, Zürich!")
        let refusal = OpenURLError(
            .declined,
            "com.example.hello declined the URL: there is no name; write hello:?name=World"
        )
        #expect(try await router.failure("hello:") == refusal)
    }

    // MARK: Other languages

    @Test func handlerInCAnswersWithAGreeting() async throws {
        let router = try await router(of: "c", identifier: "hello-c") { directory in
            let copy = directory.appending(path: "c")
            try FileManager.default.copyItem(at: Self.root.appending(path: "examples/c"), to: copy)
            let make = try run("/usr/bin/make", ["-C", copy.path], ProcessInfo.processInfo.environment)
            try #require(make.status == 0, "\(make.output)\(make.errors)")
            return copy
        }
        defer { router.stop() }
        #expect(
            try await router.open("hello-c:?name=World").reply == ["greeting": "Hello, World!", "count": .uint32(1)]
        )
        #expect(try await router.open("hello-c:?name=all").reply["count"] == .uint32(2))
        let refusal = OpenURLError(
            .declined,
            "com.example.hello-c declined the URL: there is no name; write hello-c:?name=World"
        )
        #expect(try await router.failure("hello-c:") == refusal)
    }

    @Test func handlerInPythonAnswersWithTheURL() async throws {
        let router = try await router(of: "python") { _ in Self.root.appending(path: "examples/python") }
        defer { router.stop() }
        #expect(try await router.open("python:hello").reply["url"] == "python:hello")
    }

    @Test(arguments: ["python", "c"])
    func handlerThatMayBeStoppedContinues(language: String) async throws {
        let name = language == "c" ? "sleeper-c" : "sleeper"
        let id = "com.example.\(name)"
        let router = try await router(of: language, identifier: name) { directory in
            let copy = directory.appending(path: language)
            try FileManager.default.copyItem(at: Self.root.appending(path: "examples/\(language)"), to: copy)
            guard language == "c" else { return copy }
            let make = try run("/usr/bin/make", ["-C", copy.path], ProcessInfo.processInfo.environment)
            try #require(make.status == 0, "\(make.output)\(make.errors)")
            return copy
        }
        defer { router.stop() }
        let owner = try #require(BusName(id))
        let handler = RemoteObject(owner, HandlerInterface.object(of: owner))
        let refusal = RemoteError(OpenURLError.Code.notAllowed.errorName, "only the router may call the sleeper")
        for count in 1...3 as ClosedRange<UInt32> {
            let result = try await router.open("\(name):x")
            #expect(result.way == (count == 1 ? .launched : .woken))
            #expect(result.reply["count"] == .uint32(count))
            // This test is not the router.
            await #expect(throws: CallError.remote(refusal)) {
                try await router.connection.call(HandlerInterface.enterBackground, on: handler, Empty())
            }
            try await router.lifecycle(LifecycleInterface.suspend, id)
            #expect(try await router.status(of: id).state == .known(.suspended))
        }
        // The handler continues when its router dies, and the next router finds the handler.
        try await router.kill()
        try await RouterProcess.waitForOwner(of: owner, on: router.connection) {}
        try await router.startNext()
        #expect(try await router.open("\(name):x").reply["count"] == .uint32(4))
    }

    @Test func applicationOfGTKGetsAndOpensURLs() async throws {
        let router = try await router(of: "gtk", identifier: "postbox") { _ in Self.root.appending(path: "examples/gtk")
        }
        defer { router.stop() }
        let opened = try await router.run(
            "env",
            "GTK_A11Y=none",
            "timeout",
            "--signal=KILL",
            "120",
            "xvfb-run",
            "-a",
            "sh",
            "-c",
            """
            \(RouterProcess.command.path) --json postbox:one postbox:two &&
            \(RouterProcess.command.path) terminate com.example.postbox
            """
        )
        #expect(opened.status == 0, "\(opened)")
        #expect(
            opened.output.contains(#""way":"launched""#) && opened.output.contains(#""received":2"#),
            "\(opened.output)"
        )
    }

    // MARK: The viewer

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/share/mime/mime.cache"),
            "there is no shared MIME database"
        )
    )
    func viewerReadsFilesInPlaceAndKeepsSentFiles() async throws {
        let router = try await router(of: "viewer")
        defer { router.stop() }
        let file = router.bus.directory.appending(path: "a b.txt").path
        try "Title\nsecond line\n".write(toFile: file, atomically: true, encoding: .utf8)
        let reply = try await router.open("file://\(file.replacing(" ", with: "%20"))").reply
        #expect(reply == ["path": .string(file), "title": "Title", "lines": .uint32(2)])
        let marks = String(repeating: "\u{301}", count: 30)
        let odd = router.bus.directory.appending(path: "odd.txt").path
        try "T\0e\(marks)\u{301}\n".write(toFile: odd, atomically: true, encoding: .utf8)
        #expect(try await router.open("file://\(odd)").reply["title"] == .string("T\u{FFFD}e\(marks)\u{FFFD}"))
        let own = "\(router.bus.directory.path)/XDG_DATA_HOME/com.example.viewer"
        for name in ["a b.txt", "1-a b.txt"] {
            let sent = try await router.openurl("send", "--to", "com.example.viewer", "--json", file)
            #expect(sent.status == 0 && sent.output.contains(#""path":"\#(own)/Documents/\#(name)""#), "\(sent)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(own)/Inbox") == [])
        let missing = OpenURLError(
            .declined,
            "com.example.viewer declined the URL: /nonexistent/x.txt: No such file or directory"
        )
        #expect(try await router.failure("file:///nonexistent/x.txt") == missing)
    }

    // MARK: The to-do list

    @Test func guideURLBecomesAToDo() async throws {
        let router = try await router()
        defer { router.stop() }
        let result = try await router.open(Self.guideURL)
        #expect(result.handler == "com.acme.todolist")
        #expect(result.reply == ["task": "Quarterly Report", "due": "2008-06-23T13:00:00+00:00"])
        #expect(try list(router) == "2008-06-23 13:00  Quarterly Report\n")
    }

    @Test(arguments: ["todolist:?milk#today", "todolist:?milk"])
    func toDoForTodayIsDueNow(url: String) async throws {
        let router = try await router()
        defer { router.stop() }
        let before = Int(Date.now.timeIntervalSince1970)
        let reply = try await router.open(url).reply
        let due = try Date(try #require(reply["due"]?.string), strategy: .iso8601)
        #expect((before...Int(Date.now.timeIntervalSince1970)).contains(Int(due.timeIntervalSince1970)))
    }

    @Test func escapesAreDecoded() async throws {
        let router = try await router()
        defer { router.stop() }
        let reply = try await router.open("TODOLIST:?Caf%C3%A9%20%26%20%22x%22+1#%32%3008%306231300").reply
        #expect(reply == ["task": "Café & \"x\"+1", "due": "2008-06-23T13:00:00+00:00"])
    }

    @Test func urlWithoutAToDoIsDeclinedWithTheReason() async throws {
        let router = try await router()
        defer { router.stop() }
        for (url, reason) in [
            "todolist:?x#202502301200": "“202502301200” is not a date: the month has 28 days, not a day 30",
            "todolist:?x#202501012400": "“202501012400” is not a date: there is no hour 24",
            "todolist:?x#20250101": "“20250101” is not a date: its form is not yyyymmddhhmm, twelve digits",
            "todolist:?x#": "“” is not a date: its form is not yyyymmddhhmm, twelve digits",
            "todolist://www.acme.com#today": "the URL names no task: it has no query",
            "todolist:?": "the task is blank",
            "todolist:?%20%C2%A0": "the task is blank",
            "todolist:?a%0Ab":
                "the query is not text: at byte offset 11: the decoded text would contain a control character",
            "todolist:?%FF": "the query is not text: at byte offset 10: the escapes do not decode to UTF-8 text",
            "todolist:?x#%FF": "the fragment is not text: at byte offset 12: the escapes do not decode to UTF-8 text",
            "other:?x": "a to-do has the scheme todolist, not other",
        ] {
            let refusal = OpenURLError(.declined, "com.acme.todolist declined the URL: \(reason)")
            #expect(try await router.failure(url) == refusal, "\(url)")
        }
        #expect(try list(router) == "")
    }

    @Test func listOutlivesItsProcess() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("todolist:?second#202601010900")
        let handlers = try await router.connection.call(LifecycleInterface.list, on: RouterService.object, Empty())
        let pid = try #require(handlers.first { $0.id == "com.acme.todolist" }?.pid)
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        _ = try await router.connection.watchName("com.acme.todolist") { _, new in continuation.yield(new) }
        kill(pid_t(pid), SIGTERM)
        for await owner in owners where owner == nil { break }
        #expect(try await router.open("todolist:?first#202501010900").way == .launched)
        #expect(try list(router) == "2025-01-01 09:00  first\n2026-01-01 09:00  second\n")
    }

    @Test func damagedListIsSetAsideWithAWarning() async throws {
        let router = try await router { directory in
            let data = directory.appending(path: "XDG_DATA_HOME/todolist")
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            try Data("no list".utf8).write(to: data.appending(path: "items.json"))
        }
        defer { router.stop() }
        _ = try await router.open(Self.guideURL)
        let path = router.bus.directory.appending(path: "XDG_DATA_HOME/todolist/items.json").path
        #expect(try String(contentsOfFile: path + ".damaged-1", encoding: .utf8) == "no list")
        #expect(try list(router) == "2008-06-23 13:00  Quarterly Report\n")
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("todolist: \(path) is damaged and was kept as \(path).damaged-1; "))
    }

    @Test(arguments: [["lists"], ["list", "--jsn"], ["list", "--json", "x"], [""]])
    func unknownArgumentsAreAUsageError(arguments: [String]) throws {
        let usage = try run("todolist", arguments, ["HOME": "/nonexistent"])
        #expect(usage.status == 64 && usage.output == "" && usage.errors.hasPrefix("usage: todolist "))
    }

    // MARK: The requester

    @Test func requesterPrintsTheOutcomeOfItsURL() async throws {
        let router = try await router()
        defer { router.stop() }
        let requester = { (arguments: [String]) in try run("requester", arguments, router.bus.environment) }
        let taken = """
            com.acme.todolist took it (launched)
              due: 2008-06-23T13:00:00+00:00
              task: Quarterly Report

            """
        #expect(try requester([]) == (0, taken, ""))
        #expect(try requester(["todolist:?x"]).output.hasPrefix("com.acme.todolist took it (active)\n"))
        #expect(
            try requester(["todolist:?"]) == (
                1, "", "requester: com.acme.todolist declined the URL: the task is blank\n"
            )
        )
        #expect(try requester(["nobody:x"]).status == 1)
        #expect(try requester(["a b"]).status == 65)
        #expect(try requester(["a:b", "c:d"]) == (64, "", "usage: requester [URL]\n"))
    }

    @Test func requesterReportsAMissingRouter() async throws {
        let noBus = try run("requester", [], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])
        #expect(noBus.status == 69 && noBus.errors.hasPrefix("requester: there is no session bus: "))
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let noRouter = try run("requester", [], bus.environment)
        #expect(noRouter.status == 69 && noRouter.errors.hasPrefix("requester: the router cannot be reached: "))
    }

    // MARK: Senders in other languages

    /// The sender in Swift is the requester.
    @Test(arguments: ["python/requester", "shell/requester", "c/requester"])
    func senderInAnotherLanguagePrintsTheOutcome(example: String) async throws {
        let router = try await router()
        defer { router.stop() }
        let examples = router.bus.directory.appending(path: "examples")
        try FileManager.default.copyItem(at: Self.root.appending(path: "examples"), to: examples)
        if example.hasPrefix("c/") {
            let make = try await router.tool("make", "-C", examples.appending(path: "c").path, "requester")
            try #require(make.status == 0, "\(make)")
        }
        let path = "\(RouterProcess.products.path):\(try #require(ProcessInfo.processInfo.environment["PATH"]))"
        let send = { (arguments: [String]) in
            try run(
                examples.appending(path: example).path,
                arguments,
                router.bus.environment.merging(["PATH": path]) { $1 }
            )
        }
        let taken = try send([])
        #expect(taken.status == 0 && taken.output.contains(" took it") && taken.errors == "", "\(taken)")
        #expect(try list(router) == "2008-06-23 13:00  Quarterly Report\n")
        let declined = try send(["todolist:?"])
        #expect(declined.status == 1 && declined.errors.contains("the task is blank"), "\(declined)")
        let missing = try send(["nobody:x"])
        #expect(missing.status != 0 && missing.errors.contains("no handler claims the scheme nobody"), "\(missing)")
        // A URL is never an option.
        let option = try send(["--version"])
        #expect(option.status != 0, "\(option)")
    }

    // MARK: The session

    /// The session has none of the machine's handlers.
    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/share/mime/mime.cache"),
            "there is no shared MIME database"
        )
    )
    func sessionKnowsTheTypesOfFiles() throws {
        let session = try run(
            "/usr/bin/env",
            [
                "--default-signal", "-u", "XDG_DATA_DIRS", Self.root.appending(path: "examples/session.sh").path,
                RouterProcess.products.path, "sh", "-c",
                #"printf '\211PNG\r\n\032\n' >~/image; openurl explain ~/image; echo status; openurl status; echo end"#,
            ],
            ProcessInfo.processInfo.environment
        )
        #expect(session.output.contains("\ntype\timage/png\n"), "\(session)")
        #expect(session.output.hasSuffix("\nstatus\nend\n"), "\(session)")
    }

    // MARK: The demonstration

    @Test func demonstrationShowsTheToDoAndRemovesItsFiles() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "openurl demo \(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory.path]) { $1 }
        // The threads of tests block most signals, and a shell passes its signal mask on. The shell's bus would
        // therefore ignore the signal to end.
        let demo = try run(
            "/usr/bin/env",
            ["--default-signal", Self.root.appending(path: "examples/demo.sh").path, RouterProcess.products.path],
            environment
        )
        #expect(demo.status == 0 && demo.errors == "")
        let lines = demo.output.split(separator: "\n").map(String.init)
        #expect(lines.last == "2008-06-23 13:00  Quarterly Report")
        #expect(lines.contains { $0.hasPrefix("\(Self.guideURL): com.acme.todolist (launched, request ") })
        let phases = lines.filter { $0.contains(" ms  ") }.compactMap { $0.split(separator: " ").last }
        #expect(
            phases == [
                "processStarted", "ready", "willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive",
            ]
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }
}
