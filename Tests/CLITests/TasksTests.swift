import Testing

/// `openurl tasks`.
@Suite(.timeLimit(.minutes(10))) struct TasksTests {
    @Test(arguments: [["tasks"], ["tasks", "list"]])
    func listsTheTasks(command: [String]) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(command, on: router, ["TZ": "UTC"])
            #expect(
                run.lines == [
                    "com.acme.ok\tsync\\u{1B}\tscheduled\t1970-01-02T00:00:01\t90m\texternal-power,network\t0\t–",
                    "com.acme.todolist\tfetch\twaiting\t1970-01-02T00:00:00\t–\tidle\t2\tno room",
                ]
            )
            let one = try await openurl(command + ["com.acme.todolist"], on: router, ["TZ": "UTC"])
            #expect(one.lines == [run.lines[1]])
            let json = try await openurl(command + ["--json"], on: router)
            #expect(
                json.lines.last
                    == """
                    {"handler":"com.acme.todolist","name":"fetch","state":"waiting","next":86400000,"latest":86400000,\
                    "interval":null,"stretched-interval":null,"requiring":["network","idle"],"unmet":["idle"],"failures":2,\
                    "error":"org.openurl.Error.Declined","message":"no room"}
                    """
            )
        }
    }

    @Test func personReadsATable() async throws {
        try await StandInRouter.with { router in
            let environment = router.environment.merging(["TZ": "UTC", "NO_COLOR": "1"]) { $1 }
            let wide = try await onTerminal("tasks", "list", "--wide", "com.acme.todolist", environment: environment)
            #expect(
                wide.lines == [
                    "HANDLER            NAME   STATE    NEXT                 EVERY  NEEDS  FAILURES  ERROR",
                    "com.acme.todolist  fetch  waiting  1970-01-02T00:00:00  –      idle   2         no room",
                ]
            )
            let none = try await onTerminal("tasks", "com.acme.idle", environment: environment)
            #expect(none.output.contains("no handler is registered as com.acme.idle"), "\(none)")
        }
    }

    @Test func runsATask() async throws {
        try await StandInRouter.with { router in
            let done = try await openurl(["tasks", "run", "com.acme.ok", "no-data"], on: router)
            #expect(done.status == 0 && done.output == "no-data\n")
            let failed = try await openurl(["tasks", "run", "--json", "com.acme.ok", "failed"], on: router)
            #expect(failed.status == 1 && failed.output == "{\"result\":\"failed\"}\n")
            let late = try await openurl(["tasks", "run", "com.acme.ok", "late"], on: router)
            #expect(late.status == 6)
            #expect(late.errors == "openurl: it did not return\n")
        }
    }

    @Test func cancelsSomeOrAll() async throws {
        try await StandInRouter.with { router in
            let cancel = ["tasks", "cancel", "com.acme.todolist"]
            #expect(try await openurl(cancel + ["fetch", "fetch"], on: router).status == 0)
            #expect(try await openurl(["tasks", "cancel", "--all", "com.acme.ok"], on: router).status == 0)
            let call = "cancel com.acme.todolist fetch"
            #expect(await router.lifecycleCalls == [call, call, "cancel com.acme.ok "])
            let json = try await openurl(cancel + ["--json", "fetch"], on: router)
            #expect(json.output == "{\"name\":\"fetch\"}\n")
            let all = try await openurl(["tasks", "cancel", "--json", "--all", "com.acme.todolist"], on: router)
            #expect(all.output == json.output)
        }
    }

    @Test func saysThatThereIsNoSuchTask() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["tasks", "cancel", "com.acme.todolist", "fetc", "fetch", "x"], on: router)
            #expect(run.status == 1 && run.output == "")
            #expect(
                run.errors == """
                    openurl: fetc: com.acme.todolist has no task 'fetc'; did you mean 'fetch'? If not: \
                    'openurl tasks com.acme.todolist' lists its tasks
                    openurl: x: com.acme.todolist has no task 'x'; 'openurl tasks com.acme.todolist' lists its tasks

                    """
            )
            #expect(await router.lifecycleCalls == ["cancel com.acme.todolist fetch"])
            let unknown = try await openurl(["tasks", "cancel", "--all", "com.acme.todolits"], on: router)
            #expect(unknown.status == 3 && unknown.errors.contains("did you mean 'com.acme.todolist'"), "\(unknown)")
        }
    }
}
