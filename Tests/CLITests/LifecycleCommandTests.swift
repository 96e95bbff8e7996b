import Testing

/// `openurl activate`, `resume`, `background`, `suspend`, `terminate` and `restart`.
@Suite(.timeLimit(.minutes(10))) struct LifecycleCommandTests {
    @Test(arguments: [
        (["activate"], "activate"), (["activate", "--background"], "wake"), (["background"], "background"),
        (["suspend"], "suspend"), (["terminate"], "terminate"), (["start"], "activate"), (["stop"], "terminate"),
        (["resume"], "resume"),
    ])
    func asksTheRouter(command: [String], method: String) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(command + ["com.acme.one", "com.acme.two"], on: router)
            #expect(run.status == 0)
            #expect(run.output == "")
            #expect(run.errors == "")
            #expect(await router.lifecycleCalls == ["\(method) com.acme.one", "\(method) com.acme.two"])
            let json = try await openurl(command + ["--json", "com.acme.one"], on: router)
            #expect(json.output == "{\"id\":\"com.acme.one\"}\n")
        }
    }

    @Test func resetForgetsTheCrashesBeforeTheStart() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["activate", "--reset", "com.acme.one", "com.acme.two"], on: router)
            #expect(run.status == 0)
            #expect(
                await router.lifecycleCalls == [
                    "reset com.acme.one", "activate com.acme.one", "reset com.acme.two", "activate com.acme.two",
                ]
            )
        }
    }

    @Test(arguments: [([], "activate"), (["--background"], "wake")])
    func restartEndsTheHandlerBeforeTheStart(options: [String], method: String) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["restart"] + options + ["com.acme.one", "com.acme.two"], on: router)
            #expect(run == CommandRun(status: 0, output: "", errors: ""))
            #expect(
                await router.lifecycleCalls == [
                    "terminate com.acme.one", "reset com.acme.one", "\(method) com.acme.one",
                    "terminate com.acme.two", "reset com.acme.two", "\(method) com.acme.two",
                ]
            )
        }
    }

    /// A handler that does not end is not started again.
    @Test func restartThatFailsSaysWhy() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["restart", "com.acme.busy"], on: router)
            #expect(run.status == 7 && run.errors == "openurl: com.acme.busy is busy\n", "\(run)")
            #expect(await router.lifecycleCalls == ["terminate com.acme.busy"])
        }
    }

    @Test func aFailureDoesNotStopTheRest() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["suspend", "com.acme.busy", "com.acme.one"], on: router)
            #expect(run.status == 7)
            #expect(run.errors == "openurl: com.acme.busy: com.acme.busy is busy\n")
            #expect(await router.lifecycleCalls == ["suspend com.acme.busy", "suspend com.acme.one"])
        }
    }

    @Test func needsAHandler() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["suspend"], on: router)
            #expect(run.status == 64)
        }
    }
}
