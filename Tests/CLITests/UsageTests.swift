import Testing

@Suite struct UsageTests {
    @Test(arguments: [
        ([], "usage: openurl [open] <url> ..., or openurl <command> ... (see 'openurl --help')"),
        (["lst"], "'lst' is no command, and no URL as it has no ':' (see 'openurl --help')"),
        ([""], "'' is no command, and no URL as it has no ':' (see 'openurl --help')"),
        (["open"], "Missing expected argument '<url> ...' (see 'openurl open --help')"),
        (["--json"], "Missing expected argument '<url> ...' (see 'openurl open --help')"),
        (["--nope", "a:b"], "Unknown option '--nope' (see 'openurl open --help')"),
        (["a:b", "--foreground"], "Unknown option '--foreground' (see 'openurl open --help')"),
        (["--verbos", "a:b"], "Unknown option '--verbos'. Did you mean '--verbose'? (see 'openurl open --help')"),
        (["can-open"], "Missing expected argument '<url> ...' (see 'openurl can-open --help')"),
        (["parse"], "there is no URL to parse (see 'openurl parse --help')"),
        (["parse", "-0", "a:b"], "-0 is about standard input, which '-' reads (see 'openurl parse --help')"),
        (["register"], "Missing expected argument '<path> ...' (see 'openurl register --help')"),
        (["unregister"], "Missing expected argument '<id> ...' (see 'openurl unregister --help')"),
        (["list", "x"], "Unexpected argument 'x' (see 'openurl list --help')"),
        (["open", "\u{1B}[31m", "--x"], "Unknown option '--x' (see 'openurl open --help')"),
    ])
    func wrongCommandLineIsRefused(arguments: [String], message: String) async throws {
        let run = try await openurl(arguments)
        #expect(run.status == 64)
        #expect(run.errors == "openurl: \(message)\n")
        #expect(run.output == "")
    }

    @Test(arguments: ["0", "0s", "-1", "5x", "s", "1.5s", "", "99999999999999999999s", "99999999m", "٣s"])
    func invalidTimeIsRefused(_ time: String) async throws {
        let run = try await openurl(["--timeout=\(time)", "a:b"])
        #expect(run.status == 64)
        #expect(run.errors.contains("--timeout"))
    }

    @Test(arguments: ["k", "=v", ""])
    func invalidAnnotationIsRefused(_ annotation: String) async throws {
        let run = try await openurl(["--annotation=\(annotation)", "a:b"])
        #expect(run.status == 64)
        #expect(run.errors.contains("it has to be key=value"))
    }

    @Test(arguments: [
        "--handler=$bad a:b", "--annotation=$bad=1 a:b", "unregister $bad", "status $bad", "register $bad",
    ])
    func invalidUTF8IsRefused(_ line: String) async throws {
        let run = try await shell(#"bad=$(printf '\377'); exec "$openurl" \#(line)"#)
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("openurl: "))
        #expect(run.errors.contains("not UTF-8"))
    }

    @Test(arguments: [["--help"], ["-h"], ["help"]])
    func helpDescribesTheProgram(_ arguments: [String]) async throws {
        let run = try await openurl(arguments)
        #expect(run.status == 0)
        #expect(run.errors == "")
        #expect(run.output.contains("USAGE: openurl [open] [<options>] <url> ..."))
        for command in ["open", "can-open", "parse", "list", "register", "unregister", "status", "version"] {
            #expect(run.output.contains("\n  \(command) "))
        }
    }

    @Test(arguments: [["parse", "--help"], ["help", "parse"]])
    func helpDescribesACommand(_ arguments: [String]) async throws {
        let run = try await openurl(arguments)
        #expect(run.status == 0)
        #expect(run.output.contains("--base <url>"))
    }

    @Test func helpDescribesTheOptionsOfOpen() async throws {
        let run = try await openurl("--json", "--help")
        #expect(run.status == 0)
        for option in ["--handler", "--annotation", "--timeout", "--fallback", "--json", "--quiet", "--verbose"] {
            #expect(run.output.contains("\n  \(option) "))
        }
    }

    @Test func completionScriptsWorkInAShell() async throws {
        let run = try await openurl("--generate-completion-script", "bash")
        #expect(run.status == 0)
        #expect(run.output.contains("can-open"))
    }

    @Test func versionNeedsNoBus() async throws {
        #expect(try await openurl("--version").output == "openurl 0.1.0\n")
        let run = try await openurl("version")
        #expect(run.status == 0)
        #expect(run.output == "openurl 0.1.0\n")
        #expect(try await openurl("version", "--json").output == "{\"openurl\":\"0.1.0\",\"router\":null}\n")
    }
}
