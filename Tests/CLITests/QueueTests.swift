import Testing

/// `openurl --queue` and `openurl queue`.
@Suite(.timeLimit(.minutes(10))) struct QueueTests {
    @Test func storesAURL() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["--queue", "ok:x"], on: router)
            #expect(run.status == 0)
            #expect(run.output == "")
            let verbose = try await openurl(["open", "--queue", "--verbose", "ok:x"], on: router)
            #expect(verbose.output == "ok:x: com.acme.todolist (queued 12)\n")
            let json = try await openurl(["--queue", "--json", "ok:x"], on: router)
            #expect(
                json.output.contains("\"way\":\"queued\",\"verified\":true,\"earlier-program\":false,\"id\":\"12\"")
            )
            let refused = try await openurl(["--queue", "error:NotQueued"], on: router)
            #expect(refused.status == 10)
        }
    }

    @Test func storesAURLWithATime() async throws {
        try await StandInRouter.with { router in
            let at = ["--at", "2026-12-01T09:30", "--every", "week", "--verbose", "ok:x"]
            let run = try await openurl(at, on: router)
            #expect(run.output == "ok:x: com.acme.todolist (queued 12)\n", "\(run)")
            for arguments in [["--at", "soon"], ["--every", "day"], ["--at", "+1h", "--every", "fortnight"]] {
                #expect(try await openurl(arguments + ["ok:x"], on: router).status == 64)
            }
        }
    }

    @Test(arguments: [["queue"], ["queue", "list"]])
    func listsTheQueue(command: [String]) async throws {
        try await StandInRouter.with { router in
            let list = command.count == 1 ? ["queue", "list", "--show-queries"] : command + ["--show-queries"]
            let run = try await openurl(list, on: router, ["TZ": "UTC"])
            #expect(
                run.lines == [
                    "7\tcom.acme.ok\twaiting\t2\t1970-01-02T00:00:01\t–\tok:\\u{1B}x\tit did not start",
                    "8\tcom.acme.ok\tdead\t8\t–\t–\tok:y\t–",
                ]
            )
            // A text that is not a URL may be a secret as a whole.
            let redacted = try await openurl(command, on: router, ["TZ": "UTC"])
            #expect(redacted.lines.first == "7\tcom.acme.ok\twaiting\t2\t1970-01-02T00:00:01\t–\t…\tit did not start")
            #expect(redacted.lines.last == run.lines.last)
            let json = try await openurl(command + ["--json"], on: router)
            #expect(
                json.lines.last
                    == """
                    {"id":"8","request-id":null,"url":"ok:y","handler":"com.acme.ok","state":"dead","attempts":8,"accepted":86400,\
                    "next":null,"at":null,"every":null,"notify":null,"error":null,"message":null}
                    """
            )
        }
    }

    @Test func personReadsErrorsBelowTheTable() async throws {
        try await StandInRouter.with { router in
            let environment = router.environment.merging(["TZ": "UTC", "NO_COLOR": "1"]) { $1 }
            let brief = try await onTerminal("queue", environment: environment)
            #expect(
                brief.lines == [
                    "ID  HANDLER      STATE    TRIES  NEXT        EVERY  URL",
                    "7   com.acme.ok  waiting  2      1970-01-02  –      …",
                    "8   com.acme.ok  dead     8      –           –      ok:y", "", "7: it did not start",
                ]
            )
            let wide = try await onTerminal("queue", "list", "--wide", environment: environment)
            #expect(
                wide.lines == [
                    "ID  HANDLER      STATE    TRIES  NEXT                 EVERY  URL   ERROR",
                    "7   com.acme.ok  waiting  2      1970-01-02T00:00:01  –      …     it did not start",
                    "8   com.acme.ok  dead     8      –                    –      ok:y  –",
                ]
            )
        }
    }

    @Test func waitsForReplies() async throws {
        try await StandInRouter.with { router in
            #expect(try await openurl(["queue", "wait", "7"], on: router).output == "{\"text\":\"hello\"}\n")
            let late = try await openurl(["queue", "wait", "--timeout", "1ms", "99"], on: router)
            #expect(late.status == 6)
            #expect(late.errors == "openurl: URL 99 is still in the queue after the time limit\n")
            let unknown = try await openurl(["queue", "wait", "98"], on: router)
            #expect(unknown.status == 1)
            #expect(unknown.errors == "openurl: there is no URL '98' in the queue\n")
        }
    }

    @Test(arguments: ["wait", "retry", "drop"]) func queueThatCannotBeUsedIsAFailure(_ command: String) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["queue", command, "97"], on: router)
            #expect(run.status == 1 && run.errors == "openurl: the queue cannot be used\n", "\(run)")
        }
    }

    /// A number of a URL that is not in the queue may have been right.
    @Test(arguments: ["wait", "retry", "drop"])
    func wordIsNotTheNumberOfAURL(_ command: String) async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["queue", command, "seven"], on: router)
            #expect(run.status == 64)
            #expect(
                run.errors == "openurl: 'seven' is not the number of a URL; 'openurl queue' lists the queue\n"
            )
            #expect(await router.lifecycleCalls == [])
        }
    }

    @Test func endlessQueueIsAnError() async throws {
        try await StandInRouter.with { router in
            await router.makeQueueEndless()
            let run = try await openurl(["queue"], on: router)
            #expect(run.status == 69)
            #expect(run.errors.contains("the router's answer cannot be understood"), "\(run.errors)")
        }
    }

    @Test(arguments: ["retry", "drop"])
    func changesSomeOrAll(word: String) async throws {
        try await StandInRouter.with { router in
            #expect(try await openurl(["queue", word, "3", "4"], on: router).status == 0)
            #expect(await router.lifecycleCalls == ["\(word) 3", "\(word) 4"])
            #expect(try await openurl(["queue", word, "--all"], on: router).status == 0)
            #expect(await router.lifecycleCalls.suffix(2) == ["\(word) 7", "\(word) 8"])
            let unknown = try await openurl(["queue", word, "98", "5"], on: router)
            #expect(unknown.status == 1)
            #expect(unknown.errors == "openurl: 98: there is no URL '98' in the queue\n")
            #expect(await router.lifecycleCalls.last == "\(word) 5")
            #expect(try await openurl(["queue", word], on: router).status == 64)
            #expect(try await openurl(["queue", word, "--all", "3"], on: router).status == 64)
        }
    }
}
