import Testing

/// `openurl notifications`.
@Suite(.timeLimit(.minutes(10))) struct NotificationsCommandTests {
    @Test(arguments: [["notifications"], ["notifications", "list"]])
    func listsTheNotifications(command: [String]) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(command, on: router, ["TZ": "UTC"])
            #expect(
                run.lines == ["com.acme.ok\ttea\t1970-01-02T00:00:01\t–\t–\tTea\\u{A}\\u{1B}[2J\tok:x?…"],
                "\(run)"
            )
            let json = try await openurl(command + ["--json"], on: router)
            #expect(!json.output.contains("secret") && json.output.contains(#""identifier":"tea""#), "\(json)")
            let whole = try await openurl(command + ["--json", "--show-queries"], on: router)
            #expect(whole.output.contains(#""user-info":{"key":"secret"}"#), "\(whole)")
            #expect(whole.output.contains(#""url":"ok:x?secret""#), "\(whole)")
        }
    }

    @Test func listsThoseOfAHandler() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["notifications", "com.acme.todolist"], on: router)
            #expect(run.status == 0)
            #expect(run.output == "")
        }
    }

    @Test func cancelsNotifications() async throws {
        try await StandInRouter.with { router in
            #expect(try await openurl(["notifications", "cancel", "com.acme.ok", "a", "b"], on: router).status == 0)
            let json = try await openurl(["notifications", "cancel", "--json", "com.acme.ok", "c"], on: router)
            #expect(json.output == #"{"identifier":"c"}"# + "\n")
            #expect(try await openurl(["notifications", "cancel", "--all", "com.acme.ok"], on: router).status == 0)
            let refused = try await openurl(["notifications", "cancel", "--all", "com.acme.busy"], on: router)
            #expect(refused.status == 7)
            let calls = ["a", "b", "c"].map { "cancel com.acme.ok \($0)" }
            #expect(await router.lifecycleCalls == calls + ["cancel all com.acme.ok", "cancel all com.acme.busy"])
            let all = try await openurl(["notifications", "cancel", "--json", "--all", "com.acme.ok"], on: router)
            #expect(all.output == #"{"identifier":"tea"}"# + "\n")
        }
    }

    @Test(arguments: ["--all", "tea"]) func unknownHandlerIsReported(_ selection: String) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["notifications", "cancel", "com.acme.todolits", selection], on: router)
            #expect(run.status == 3 && run.errors.contains("did you mean 'com.acme.todolist'"), "\(run)")
            // A handler that is no longer registered may have a notification on the screen.
            let calls = selection == "--all" ? ["cancel all com.acme.todolits"] : []
            #expect(await router.lifecycleCalls == calls)
        }
    }
}
