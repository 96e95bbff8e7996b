import Testing

/// `openurl explain`.
@Suite(.timeLimit(.minutes(10))) struct ExplainTests {
    @Test func aProgramGetsTheColumnsSeparatedByTabs() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["explain", "full:x"], on: router)
            #expect(run.status == 0)
            #expect(run.errors == "")
            #expect(
                run.lines == [
                    "url\tfull:x", "scheme\tfull", "user\tu", "host\ta.example.com", "port\t8", "path\t/p",
                    "parameters\tq", "query\tr", "fragment\t\"\"", "goes to\tcom.acme.todolist", "transport\tnative",
                    "state\tactive", "", "wins\tcom.acme.todolist\tnative\t*.example.com\tthe host",
                    "loses\tb.desktop\texec\t–\tthe \"kind\"",
                ]
            )
        }
    }

    /// The output has no colours, whether or not `NO_COLOR` is set.
    @Test(arguments: [[:], ["NO_COLOR": "1"], ["NO_COLOR": "", "TERM": "xterm-256color"]])
    func aPersonGetsAlignedColumns(_ variables: [String: String]) async throws {
        try await StandInRouter.with { router in
            let environment = router.environment.merging(variables) { $1 }
            let run = try await onTerminal("explain", "full:x", environment: environment)
            #expect(run.status == 0)
            #expect(
                run.output == """
                    url         full:x
                    scheme      full
                    user        u
                    host        a.example.com
                    port        8
                    path        /p
                    parameters  q
                    query       r
                    fragment    ""
                    goes to     com.acme.todolist
                    transport   native
                    state       active

                           CANDIDATE          KIND    HOST           REASON
                    wins   com.acme.todolist  native  *.example.com  the host
                    loses  b.desktop          exec    –              the "kind"

                    """
            )
        }
    }

    @Test func printsEverythingAsJSON() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["explain", "--json", "full:x"], on: router)
            #expect(run.status == 0)
            let parts =
                #""parts":{"scheme":"full","user":"u","host":"a.example.com","port":"8","opaquePart":null,"path":"/p","#
                + #""parameters":"q","query":"r","fragment":""},"#
            let candidates =
                #""candidates":[{"id":"com.acme.todolist","kind":"native","host":"*.example.com","wins":true,"#
                + #""reason":"the host"},{"id":"b.desktop","kind":"exec","host":null,"wins":false,"#
                + #""reason":"the \"kind\""}]}"#
            let names = #""url-name":null,"type-name":null,"launch-image":null,"#
            let handler = #""quarantined-until":null,"program-problem":null,"reach":null,"allowed-sources":null,"#
            #expect(
                run.lines == [
                    #"{"url":"full:x",\#(parts)"content-type":null,"handler":"com.acme.todolist",\#(names)"transport":"native","state":"active","#
                        + #"\#(handler)"answers-callbacks":null,"decision":null,"#
                        + #""decision-reason":null,"link-rule":null,"changed-url":null,"error":null,"message":null,"#
                        + candidates
                ]
            )
        }
    }

    @Test func missingValuesAreNullOrADash() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["explain", "none:x"], on: router)
            #expect(run.status == 3)
            #expect(run.lines == ["url\tnone:x", "scheme\tnone", "path\tx", "goes to\t–"])
            #expect(run.errors == "openurl: nobody takes none: \\u{1B}[31mtold\n")
            let json = try await openurl(["explain", "--json", "none:x"], on: router)
            #expect(json.status == run.status)
            #expect(json.errors == "")
            let parts =
                #"{"scheme":"none","user":null,"host":null,"port":null,"opaquePart":null,"path":"x","parameters":null,"#
                + #""query":null,"fragment":null}"#
            let names = #""url-name":null,"type-name":null,"launch-image":null,"#
            let handler = #""quarantined-until":null,"program-problem":null,"reach":null,"allowed-sources":null,"#
            #expect(
                json.lines == [
                    #"{"url":"none:x","parts":\#(parts),"content-type":null,"handler":null,\#(names)"transport":null,"state":null,"#
                        + #"\#(handler)"answers-callbacks":null,"decision":null,"#
                        + #""decision-reason":null,"link-rule":null,"changed-url":null,"#
                        + #""error":"org.openurl.Error.NoHandler","#
                        + #""message":"nobody takes none: \u001b[31mtold","candidates":[]}"#
                ]
            )
        }
    }

    @Test func showsAllowedSendersAndExitsAsOpeningDoes() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["explain", "private:x"], on: router, ["TZ": "UTC"])
            #expect(run.status == 7)
            let reset = "'openurl activate --reset com.acme.private' starts it now"
            #expect(
                run.lines.contains(
                    "quarantine\tcrashed too often; will not be started until 1970-01-02T00:00:00; \(reset)"
                )
            )
            #expect(run.lines.contains("program\t/opt/\\u{1B}private does not exist"))
            #expect(run.lines.contains("reach\tlisted"))
            #expect(run.lines.contains("allowed from\tcom.acme.*,com.other.app"))
            #expect(run.lines.contains("policy\tdeny: a rule"))
            let winner = try #require(run.lines.firstIndex(of: "goes to\tcom.acme.private"))
            #expect(run.lines[winner + 1] == "refused\tit takes no URLs from here")
            #expect(!run.lines.contains { $0.hasPrefix("sender\t") })
            #expect(run.lines.last == "wins\tcom.acme.private\tnative\t–\talone")
            #expect(run.errors == "openurl: it takes no URLs from here\n")
            let json = try await openurl(["explain", "--json", "private:x"], on: router)
            #expect(json.status == run.status)
            #expect(
                json.output.contains(
                    #""quarantined-until":86400,"program-problem":"/opt/\u001bprivate does not exist","reach":"listed","#
                        + #""allowed-sources":["com.acme.*","com.other.app"],"#
                )
            )
            #expect(json.output.contains(#""decision":"deny","decision-reason":"a rule","#))
            let newer = try await openurl(["explain", "newer:x"], on: router)
            #expect(newer.status == 1)
            #expect(newer.errors == "openurl: the router told\n")
        }
    }

    @Test func escapesControls() async throws {
        try await StandInRouter.with { router in
            let expected = [
                "url\todd:x", "scheme\todd", "path\t\\u{1B}[2J", "goes to\tcom.acme.\\u{202E}odd\\u{9}", "",
                "wins\t\\u{7}a\tna\\u{9}ive\t\\u{A}\t\\u{1B}[31mred",
            ]
            #expect(try await openurl(["explain", "odd:x"], on: router).lines == expected)
            let json = try await openurl(["explain", "--json", "odd:x"], on: router)
            #expect(json.lines.count == 1)
            #expect(json.output.contains(#""handler":"com.acme.\u202eodd\t""#))
            #expect(json.output.contains(#""id":"\u0007a","kind":"na\tive","host":"\n","#))
            let terminal = try await onTerminal("explain", "odd:x", environment: router.environment)
            #expect(terminal.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && $0 != "\u{202E}" })
        }
    }

    @Test func asksForOneHandler() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["explain", "--handler", "com.acme.b", "full:x"], on: router)
            #expect(run.lines.contains("goes to\tcom.acme.b"))
        }
    }

    @Test func asksForAClassOfSenders() async throws {
        try await StandInRouter.with { router in
            for source in ["sandboxed", "Sandboxed"] {
                let run = try await openurl(["explain", "--source", source, "full:x"], on: router)
                #expect(run.lines.contains("policy\task: a rule from sandboxed"))
                #expect(run.lines.contains("sender\tassumed to be of the class sandboxed"))
                #expect(!run.lines.contains { $0.hasPrefix("refused\t") })
            }
            let unknown = try await openurl(["explain", "--source", "com.acme.b", "full:x"], on: router)
            #expect(unknown.status == 64 && unknown.output == "")
            #expect(unknown.errors.contains("write a class of senders: handler, user, sandboxed, remote, unknown"))
        }
    }

    @Test(arguments: [
        ("error:MalformedURL", 65, "com.acme.todolist \\u{1B}[31mtold"),
        ("error:LimitsExceeded", 8, "com.acme.todolist \\u{1B}[31mtold"),
        ("bus:com.example.Error.A", 69, "the bus told"),
        ("bus:org.freedesktop.DBus.Error.InvalidArgs", 64, "the bus told"),
    ])
    func reportsWhyThereIsNoExplanation(url: String, status: Int32, message: String) async throws {
        try await StandInRouter.with { router in
            for options in [[], ["--json"]] {
                let run = try await openurl(["explain"] + options + [url], on: router)
                #expect(run.status == status)
                #expect(run.output == "")
                #expect(run.errors == "openurl: \(message)\n")
            }
        }
    }
}
