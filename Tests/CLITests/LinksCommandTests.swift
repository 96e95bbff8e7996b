import Testing

/// `openurl links ask`.
@Suite(.timeLimit(.minutes(10))) struct LinksCommandTests {
    @Test func controlsInAProblemAreEscaped() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["links", "ask"], on: router)
            #expect(run.status == 0 && run.output.contains(#"the site told \u{1B}[31m"#), "\(run)")
        }
    }
}
