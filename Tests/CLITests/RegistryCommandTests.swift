import Foundation
import PrivateBus
import Testing

@Suite(.timeLimit(.minutes(10))) struct RegistryCommandTests {
    @Test func listPrintsHandlers() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["list"], on: router)
            #expect(run.status == 0)
            let row = "com.acme.todolist\tTo\\u{9}do\tnative\ttodolist,todo\tactive\t/opt/todolist.plist\tlocal\t–\n"
            #expect(run.output == row)
            let json = try await openurl(["list", "--json"], on: router)
            let entry =
                #"{"id":"com.acme.todolist","name":"To\tdo","manifest":"/opt/todolist.plist","bundle":null,"desktop-entry":null,"executable":"todolist","#
                + #""schemes":["todolist","todo"],"types":[],"domains":[],"url-names":{},"#
                + #""type-names":{},"launch-image":"","kind":"native","#
                + #""reach":"local","fixed":false,"temporary":"","state":"active","warnings":[],"cut":false}"#
            #expect(json.lines == [entry])
            let environment = router.environment.merging(["NO_COLOR": "1"]) { $1 }
            let wide = [
                "ID                 NAME       KIND    SCHEMES        STATE   PATH                 REACH  TYPES",
                "com.acme.todolist  To\\u{9}do  native  todolist,todo  active  /opt/todolist.plist  local  –",
            ]
            #expect(try await onTerminal("list", "--wide", environment: environment).lines == wide)
            // This terminal does not know its size, so it has 80 columns.
            #expect(
                try await onTerminal("list", environment: environment).lines == [
                    "ID                 NAME       KIND    SCHEMES        STATE   PATH",
                    "com.acme.todolist  To\\u{9}do  native  todolist,todo  active  /opt/todo…st.plist",
                    "Cut to the width of the terminal; --wide shows everything.",
                ]
            )
            let line = "stty cols 120; $openurl list"
            let broad = try await shell(
                "exec script --quiet --return --command '\(line)' /dev/null",
                environment: environment
            )
            #expect(broad.output.replacing("\r\n", with: "\n") == wide.map { "\($0)\n" }.joined())
        }
    }

    @Test func listPrintsSchemes() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["list", "--schemes"], on: router)
            #expect(run.output == "ok\tcom.acme.todolist\nslow\tcom.acme.slow,com.acme.other\n")
            let json = try await openurl(["list", "--schemes", "--json"], on: router)
            #expect(
                json.lines == [
                    #"{"scheme":"ok","ids":["com.acme.todolist"]}"#,
                    #"{"scheme":"slow","ids":["com.acme.slow","com.acme.other"]}"#,
                ]
            )
        }
    }

    @Test func registerSendsAbsolutePaths() async throws {
        try await StandInRouter.with { router in
            let directory = router.bus.directory.resolvingSymlinksInPath()
            let run = try await openurl(
                "register",
                "./a.plist",
                "sub/../b.plist",
                "missing",
                "/opt//c/./d",
                environment: router.environment,
                in: directory
            )
            let paths = ["\(directory.path)/a.plist", "\(directory.path)/sub/../b.plist", "/opt/c/d"]
            #expect(await router.registered == paths)
            #expect(run.status == 1)
            #expect(run.output == paths.map { "com.acme.todolist\ttodolist,todo\t\($0)\n" }.joined())
            let warning = "openurl: warning: com.acme.todolist: todo belongs to com.acme.other\n"
            #expect(
                run.errors == "\(warning)\(warning)openurl: missing: there is no \(directory.path)/missing\n\(warning)"
            )
            let json = try await openurl(["register", "--json", "/x"], on: router)
            #expect(json.output.hasPrefix(#"{"id":"com.acme.todolist","#))
            #expect(json.output.contains(#""warnings":["todo belongs to com.acme.other"]"#))
        }
    }

    @Test func registerReplacesOnDemand() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["register", "--replace", "/a.plist"], on: router)
            #expect(run.status == 0)
            #expect(await router.registered == ["replace /a.plist"])
        }
    }

    @Test func checkPrintsTheFindings() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["check", "com.acme.good", "/a.plist"], on: router)
            #expect(run.status == 0)
            #expect(
                run.output == """
                    com.acme.good: no problems found
                    /a.plist:7: warning: OUReech: is not a known key
                    /a.plist: warning: todo belongs to com.acme.other

                    """
            )
            let odd = try await openurl(["check", "/\u{1B}[2J\n/b.plist"], on: router)
            #expect(odd.output.unicodeScalars.allSatisfy { $0.value >= 0x20 || $0 == "\n" }, "\(odd.output)")
            #expect(odd.output.hasPrefix(#"/\u{1B}[2J\u{A}/b.plist"#), "\(odd.output)")
            let bad = try await openurl(["check", "com.acme.bad"], on: router)
            #expect(bad.status == 65)
            #expect(bad.output == "com.acme.bad: error: is neither a bundle nor a manifest\n")
            let json = try await openurl(["check", "--json", "/a.plist"], on: router)
            #expect(
                json.lines.first
                    == #"{"severity":"warning","file":"/a.plist","line":7,"key":"OUReech","message":"is not a known key"}"#
            )
        }
    }

    @Test func reloadPrintsTheProblems() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["reload"], on: router)
            #expect(
                run
                    == CommandRun(
                        status: 0,
                        output: "/a\\u{1B}.plist: is a FIFO\n/b.plist: is empty\n/b.plist: is old\n",
                        errors: ""
                    )
            )
            let json = try await openurl(["reload", "--json"], on: router)
            #expect(json.lines.last == #"{"file":"/b.plist","message":"is empty\nis old"}"#, "\(json.lines)")
        }
    }

    @Test func unregisterCallsTheRouter() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["unregister", "com.acme.nobody", "com.acme.todolist"], on: router)
            #expect(run.status == 1)
            #expect(run.errors == "openurl: com.acme.nobody: there is no com.acme.nobody\n")
            #expect(run.output == "")
            #expect(await router.unregistered == ["com.acme.todolist"])
            let json = try await openurl(["unregister", "--json", "com.acme.todolist"], on: router)
            #expect(json.output == "{\"id\":\"com.acme.todolist\"}\n")
        }
    }

    @Test func statusPrintsTheHandlers() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["status"], on: router, ["TZ": "UTC"])
            #expect(run.status == 0)
            #expect(
                run.output == """
                    com.acme.todolist\tactive\t42\t1970-01-02T00:00:00\t12.3 MiB\t–
                    com.acme.idle\tnotRunning\t–\t–\t–\t–

                    """
            )
            let note = """
                com.acme.idle crashed too often and will not be started until 1970-01-02T00:00:00; \
                'openurl activate --reset com.acme.idle' starts it now
                """
            #expect(run.errors == "openurl: \(note)\n")
            let json = try await openurl(["status", "--json"], on: router)
            #expect(
                json.lines == [
                    #"{"id":"com.acme.todolist","state":"active","pid":42,"since":86400,"memory":12897485,"verified":true,"earlier-program":false,"overdue":false,"background-tasks":[],"quarantined-until":null,"ended":null,"exit-status":null,"signal":null,"end-reason":null,"temporary":"","registered":true}"#,
                    #"{"id":"com.acme.idle","state":"notRunning","pid":null,"since":null,"memory":null,"verified":true,"earlier-program":false,"overdue":false,"background-tasks":[],"quarantined-until":86400,"ended":null,"exit-status":null,"signal":null,"end-reason":null,"temporary":"","registered":true}"#,
                ]
            )
            let unknown = try await openurl(["status", "com.acme.nobody"], on: router)
            #expect(unknown.status == 3)
            #expect(unknown.errors.hasPrefix("openurl: no handler is registered as com.acme.nobody; 'openurl list'"))
        }
    }

    @Test func statusOfOneHandlerHasItsOutput() async throws {
        try await StandInRouter.with { router in
            try router.outputFile.write("1\n2\n3\n\u{1B}[2J4\n\n5\n6")
            let run = try await openurl(["status", "com.acme.todolist"], on: router, ["TZ": "UTC"])
            #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
            #expect(
                run.output == """
                    ● com.acme.todolist
                         State: active since 1970-01-02T00:00:00
                       Process: 42
                        Memory: 12.3 MiB

                    3
                    \\u{1B}[2J4
                    5
                    6

                    """
            )
            let json = try await openurl(["status", "--json", "com.acme.todolist"], on: router)
            #expect(
                json.output.hasSuffix(#"true,"latest":null,"output":["3","\u001b[2J4","5","6"]}"# + "\n"),
                "\(json)"
            )
            // The journal has no lines, because there is no journalctl.
            let idle = try await openurl(
                ["status", "com.acme.idle"],
                on: router,
                ["TZ": "UTC", "PATH": "/nonexistent"]
            )
            #expect(
                idle.output == """
                    ○ com.acme.idle
                         State: notRunning
                                com.acme.idle crashed too often and will not be started until 1970-01-02T00:00:00; \
                    'openurl activate --reset com.acme.idle' starts it now

                    """
            )
        }
    }

    @Test func factsAboutOneHandlerAreWrapped() async throws {
        try await StandInRouter.with { router in
            let variables = ["TZ": "UTC", "NO_COLOR": "1", "PATH": "/usr/bin:/bin"]
            let environment = router.environment.merging(variables) { $1 }
            let run = try await onTerminal("status", "com.acme.idle", environment: environment)
            #expect(
                run.lines.prefix(4) == [
                    "○ com.acme.idle", "     State: notRunning",
                    "            com.acme.idle crashed too often and will not be started until",
                    "            1970-01-02T00:00:00; 'openurl activate --reset com.acme.idle'",
                ],
                "\(run)"
            )
        }
    }

    @Test func versionPrintsTheRoutersVersion() async throws {
        try await StandInRouter.with { router in
            #expect(try await openurl(["version"], on: router).output == "openurl 0.1.0\nopenurld 1.2.3\n")
            let json = try await openurl(["version", "--json"], on: router)
            #expect(json.output == "{\"openurl\":\"0.1.0\",\"router\":\"1.2.3\"}\n")
        }
    }
}
