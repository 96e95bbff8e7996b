import Desktop
import Glibc
import OpenURLBus
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// Applications that are commands, with real processes, and the outcome of their URLs.
@Suite(.timeLimit(.minutes(10))) struct CommandApplicationTests {
    private let desktop: DesktopFixture

    init() throws {
        desktop = try DesktopFixture()
    }

    /// Returns a router with the current state of the desktop. The router watches commands until they end, unless the
    /// limits differ.
    private func router(
        handlers: [Handler] = [],
        environment: [String: String] = [:],
        _ change: (inout RouterLimits) -> Void = { _ in }
    ) throws -> (URLRouter, FakeHandlers) {
        var limits = RouterLimits()
        limits.settleTime = .seconds(3600)
        limits.openTimeout = .seconds(3600)
        limits.commandPeriod = .seconds(3600)
        change(&limits)
        let bus = try FakeHandlers(["com.example.target": ":1.1"])
        let environment = desktop.environment.merging(environment) { $1 }
        return (URLRouter(handlers, desktop.applications, on: bus, environment: environment, limits: limits), bus)
    }

    // MARK: Outcomes

    @Test func successfulExitIsASuccess() async throws {
        try desktop.addCommand("good", #"printf '%s\n' "$#" "$@" > "$desktop/told""#)
        let (router, _) = try router()
        let result = try await router.open("good:$(touch%20x);'y'&z")
        #expect(result.handler == "good.desktop")
        #expect(result.way == .completed)
        #expect(result.reply == [:])
        #expect(result.trace.map(\.name) == ["processStarted", "open"])
        #expect(try desktop.lines(of: "told") == ["1", "good:$(touch%20x);'y'&z"])
    }

    @Test(arguments: [
        ("exit 7", OpenURLError(.declined, "bad.desktop exited with status 7 after it got the URL")),
        ("exit 1", OpenURLError(.declined, "bad.desktop exited with status 1 after it got the URL")),
        ("exit 126", OpenURLError(.launchFailed, "bad.desktop exited with status 126: its command was not found")),
        ("exit 127", OpenURLError(.launchFailed, "bad.desktop exited with status 127: its command was not found")),
        (
            "kill -SEGV $$",
            OpenURLError(
                .handlerCrashed,
                "bad.desktop was ended by signal 11 (Segmentation fault) after it got the URL"
            )
        ),
        (
            "kill -TERM $$",
            OpenURLError(.handlerCrashed, "bad.desktop was ended by signal 15 (Terminated) after it got the URL")
        ),
    ])
    func otherExitsAreErrors(body: String, expected: OpenURLError) async throws {
        try desktop.addCommand("bad", body)
        let (router, _) = try router()
        #expect(await failure { () throws(OpenURLError) in try await router.open("bad:x") } == expected)
    }

    /// The person learns why an application refuses, and where it says more.
    @Test(arguments: [
        ("exit 7", OpenURLError.Code.declined, "bad.desktop exited with status 7 after it got the URL"),
        ("kill -TERM $$", .handlerCrashed, "bad.desktop was ended by signal 15 (Terminated) after it got the URL"),
    ])
    func outputOfAnApplicationThatRefusesIsNamed(end: String, code: OpenURLError.Code, words: String) async throws {
        try desktop.addCommand("bad", "echo first; echo 'no display' >&2; \(end)")
        let (router, _) = try router()
        let error = await failure { () throws(OpenURLError) in try await router.open("bad:x") }
        #expect(error?.code == code)
        let message = try #require(error?.message)
        #expect(message.hasPrefix("\(words); it wrote: no display; its output is in /"), "\(message)")
    }

    /// A sandbox, another host, and a program that nobody knows must not learn what an application writes, or where.
    @Test func outputOfAnApplicationIsNotForConfinedSenders() async throws {
        try desktop.addCommand("bad", "echo 'no display' >&2; exit 7")
        let (router, _) = try router()
        let error = await failure { () throws(OpenURLError) in try await router.open("bad:x", from: ":1.99") }
        #expect(error == OpenURLError(.declined, "bad.desktop exited with status 7 after it got the URL"))
    }

    /// A command has the URL after the settle time, or after the sender's time limit if that is shorter.
    @Test(
        arguments: [(Duration.zero, nil), (.seconds(3600), .milliseconds(1)), (.seconds(3600), .zero)]
            as [(Duration, Duration?)]
    )
    func runningCommandHasTheURL(settleTime: Duration, timeout: Duration?) async throws {
        try desktop.addPipe("go")
        try desktop.addPipe("gone")
        try desktop.addCommand("busy", #"read line < "$desktop/go"; echo 1<> "$desktop/gone"; exit 7"#)
        let (router, _) = try router { $0.settleTime = settleTime }
        var options = OpenOptions()
        options.timeout = timeout
        let result = try await router.open("busy:x", options, caller: nil)
        #expect(result.way == .launched)
        #expect(result.trace.map(\.name) == ["processStarted", "open"])
        try desktop.write(to: "go")
        try desktop.wait(for: "gone")
    }

    @Test func firstEventDecidesTheOutcome() async {
        func outcome(_ steps: (StartingCommand) -> Void, whileWaiting: Bool) async -> ProcessExit? {
            let command = StartingCommand()
            if !whileWaiting { steps(command) }
            return await withCheckedContinuation { continuation in
                command.wait(continuation)
                if whileWaiting { steps(command) }
            }
        }
        let failed = ProcessExit.exited(status: 7)
        for whileWaiting in [true, false] {
            #expect(await outcome({ $0.ended(failed) }, whileWaiting: whileWaiting) == failed)
            #expect(await outcome({ $0.settled() }, whileWaiting: whileWaiting) == nil)
            let settledFirst = await outcome(
                {
                    $0.settled()
                    $0.ended(failed)
                },
                whileWaiting: whileWaiting
            )
            #expect(settledFirst == nil)
            let endedFirst = await outcome(
                {
                    $0.ended(failed)
                    $0.settled()
                    $0.ended(.unknown)
                },
                whileWaiting: whileWaiting
            )
            #expect(endedFirst == failed)
        }
    }

    // MARK: Failures to start

    @Test func errorNamesThePathOfAMissingProgram() async throws {
        let program = "\(desktop.path)/bin/gone"
        try desktop.addLink("gone", to: "/bin/true")
        try desktop.addEntry("gone", "Exec=\(program) %u")
        // A failed start does not count towards the limit of commands.
        let (router, _) = try router { $0.commandsPerApplication = 2 }
        #expect(try await router.open("gone:x").way == .completed)
        #expect(unlink(program) == 0)
        let missing = await failure { () throws(OpenURLError) in try await router.open("gone:x") }
        let reason = "gone.desktop cannot be started: \(program) does not exist"
        #expect(missing == OpenURLError(.launchFailed, reason))
        try desktop.write("#!/bin/sh\n", to: "bin/gone")
        let forbidden = await failure { () throws(OpenURLError) in try await router.open("gone:x") }
        let fact = "\(program) is not executable; run: chmod +x \(program)"
        #expect(forbidden == OpenURLError(.launchFailed, "gone.desktop cannot be started: \(fact)"))
    }

    @Test func programNameIsLookedUpInAbsolutePathsOnly() async throws {
        try desktop.addLink("named", to: "/bin/true")
        try desktop.addEntry("named", "Exec=named %u")
        let missing = "named.desktop cannot be started: named is not in any directory on PATH"
        // This path leads to the program from every working directory.
        let relative = String(repeating: "../", count: 64) + desktop.path.dropFirst() + "/bin"
        for path in ["/nonexistent", relative, "", ":::"] {
            let (router, _) = try router(environment: ["PATH": path])
            let error = await failure { () throws(OpenURLError) in try await router.open("named:x") }
            #expect(error == OpenURLError(.launchFailed, missing))
        }
        let (router, _) = try router(environment: ["PATH": "/nonexistent:\(desktop.path)/bin"])
        #expect(try await router.open("named:x").handler == "named.desktop")
    }

    @Test func applicationIsInstalledIfItsProgramsExist() async throws {
        try desktop.addLink("there", to: "/bin/true")
        try desktop.addEntry("both", "Exec=there %u", "TryExec=there")
        try desktop.addEntry("try", "Exec=there %u", "TryExec=missing")
        try desktop.addEntry("exec", "Exec=missing %u")
        let (router, _) = try router()
        #expect(try await router.open("both:x").handler == "both.desktop")
        for scheme in ["try", "exec"] {
            let error = await failure { () throws(OpenURLError) in try await router.open("\(scheme):x") }
            let message = "no handler claims the scheme \(scheme); register one with 'openurl register PATH'"
            #expect(error == OpenURLError(.noHandler, message))
        }
    }

    @Test func simultaneousCommandsOfAnApplicationAreLimited() async throws {
        try desktop.addPipe("go")
        try desktop.addCommand("slow", #"read line < "$desktop/go"; exit 7"#)
        try desktop.addCommand("other", "exit 0")
        let (router, _) = try router { $0.commandsPerApplication = 2 }
        let first = Task { await failure { () throws(OpenURLError) in try await router.open("slow:1") } }
        await router.wait { $0.applications.startingCommands.count == 1 }
        let second = await failure { () throws(OpenURLError) in try await router.open("slow:2") }
        #expect(second?.code == .limitsExceeded)
        #expect(second?.message.hasPrefix("1 commands of slow.desktop are already being started for ") == true)
        #expect(try await router.open("other:x").handler == "other.desktop")
        try desktop.write(to: "go")
        #expect(await first.value?.code == .declined)
        // An ended command no longer counts towards the limit.
        #expect(await router.startsNothing)
    }

    @Test func oneCallerLeavesCommandsOfAnApplicationToOthers() async throws {
        try desktop.addPipe("go")
        try desktop.addCommand("slow", #"read line < "$desktop/go"; exit 7"#)
        let (router, _) = try router { $0.commandsPerApplication = 4 }
        let tasks = (1...2).map { number in
            Task { await failure { () throws(OpenURLError) in try await router.open("slow:\(number)") } }
        }
        await router.wait { $0.applications.startingCommands.values.first?.total == 2 }
        let third = await failure { () throws(OpenURLError) in try await router.open("slow:3") }
        #expect(third?.code == .limitsExceeded)
        // A caller that has gone is another one.
        let other = Task { await failure { () throws(OpenURLError) in try await router.open("slow:4", from: ":1.99") } }
        await router.wait { $0.applications.startingCommands.values.first?.total == 3 }
        for _ in 1...3 { try desktop.write(to: "go") }
        for task in tasks + [other] { #expect(await task.value?.code == .declined) }
    }

    // MARK: Environment and arguments

    @Test func environmentHasTheTokensOfTheURLButNotTheRouters() async throws {
        let tokens = "${XDG_ACTIVATION_TOKEN-none} ${DESKTOP_STARTUP_ID-none} ${OPENURL_LAUNCH-none} $KEPT"
        try desktop.addCommand("env", #"echo "\#(tokens)" >> "$desktop/told""#)
        let (router, _) = try router(environment: [
            "XDG_ACTIVATION_TOKEN": "router's", "DESKTOP_STARTUP_ID": "router's", "OPENURL_LAUNCH": "1", "KEPT": "kept",
        ])
        var options = OpenOptions()
        options.activationToken = "token"
        _ = try await router.open("env:1", options, caller: nil)
        (options.activationToken, options.desktopStartupID) = ("another", "startup")
        _ = try await router.open("env:2", options, caller: nil)
        _ = try await router.open("env:3")
        #expect(
            try desktop.lines(of: "told") == [
                "token token none kept", "another startup none kept", "none none none kept",
            ]
        )
    }

    @Test func commandStartsInTheDirectoryOfItsEntryOrInTheHomeDirectory() async throws {
        let body = #"pwd > "$desktop/told""#
        try desktop.addCommand("path", body, "Path=\(desktop.path)/data")
        try desktop.addCommand("home", body)
        for (scheme, home, expected) in [
            ("path", "\(desktop.path)/home", "\(desktop.path)/data"), ("home", "\(desktop.path)/home", nil),
            ("home", "/nonexistent", "/"),
        ] {
            let (router, _) = try router(environment: ["HOME": home])
            _ = try await router.open("\(scheme):x")
            #expect(try desktop.lines(of: "told") == [expected ?? home])
        }
    }

    @Test func terminalCommandStartsInAnInstalledTerminal() async throws {
        try desktop.addLink("text", to: "/bin/true")
        try desktop.addEntry("text", "Exec=text --now %u", "Terminal=true")
        let environment = ["PATH": "\(desktop.path)/bin"]
        let (bare, _) = try router(environment: environment)
        let none = await failure { () throws(OpenURLError) in try await bare.open("text:x") }
        let reason =
            "text.desktop needs a terminal (Terminal=true), but neither xdg-terminal-exec nor x-terminal-emulator is installed"
        #expect(none == OpenURLError(.launchFailed, reason))
        // The shell plays the terminal and runs the command as a script in its working directory.
        try desktop.addScript(
            "home/text",
            #"/usr/bin/tr '\0' ' ' < /proc/$$/cmdline > "$desktop/told"; echo >> "$desktop/told""#
        )
        for (terminal, option) in [("x-terminal-emulator", " -e"), ("xdg-terminal-exec", "")] {
            try desktop.addLink(terminal, to: "/bin/sh")
            let (router, _) = try router(environment: environment)
            _ = try await router.open("text:x")
            #expect(try desktop.lines(of: "told") == ["\(terminal)\(option) text --now text:x "])
        }
    }

    // MARK: Hops

    /// Each command leaves a process in its session, as a script does that opens a URL in the background.
    @Test func urlOpenedByACommandHasOneMoreHop() async throws {
        for name in ["first", "second"] {
            try desktop.addCommand(name, #"sleep 600 > "$desktop/null" 2>&1 & echo $! > "$desktop/pid""#)
        }
        try desktop.addEntry("org.example.App", "DBusActivatable=true")
        let (router, bus) = try router(handlers: [try .test("com.example.target")]) { $0.hops = 1 }

        func leftProcess() throws -> pid_t {
            let lines = try desktop.lines(of: "pid")
            return try #require(pid_t(lines[0]))
        }

        /// Opens a URL with a command, and makes the process that the command leaves behind a caller.
        func start(_ url: String, from caller: BusName, as next: BusName) async throws -> pid_t {
            _ = try await router.open(url, from: caller)
            let pid = try leftProcess()
            bus.setProcess(of: next, to: UInt32(pid))
            return pid
        }

        let first = try await start("first:x", from: ":1.60", as: ":1.61")
        defer { kill(first, SIGKILL) }
        let request = Task { try await router.open("target:1", from: ":1.61") }
        await bus.wait(for: .opened("target:1", at: ":1.1"))
        bus.answer("target:1")
        _ = try await request.value
        #expect(bus.context(of: "target:1")?.hops == 1)
        #expect(bus.context(of: "target:1")?.sourceApplication == nil)

        let second = try await start("second:x", from: ":1.61", as: ":1.62")
        defer { kill(second, SIGKILL) }
        for url in ["first:x", "app:x"] {
            let error = await failure { () throws(OpenURLError) in try await router.open(url, from: ":1.62") }
            #expect(error == OpenURLError(.loopDetected, "2 handlers in a row have opened each other"))
        }
        // Another caller is not affected.
        #expect(try await router.open("first:y", from: ":1.60").way == .completed)
        kill(try leftProcess(), SIGKILL)
    }
}
