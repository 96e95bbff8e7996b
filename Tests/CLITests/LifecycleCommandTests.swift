import Testing

/// `openurl activate`, `background`, `suspend` and `terminate`.
@Suite struct LifecycleCommandTests {
    @Test(arguments: [
        (["activate"], "activate"), (["activate", "--background"], "wake"), (["background"], "background"),
        (["suspend"], "suspend"), (["terminate"], "terminate"),
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
