import Testing

/// The command line of the program; OpenURLCommandTests has the rest.
@Suite(.timeLimit(.minutes(10))) struct UsageTests {
    @Test func refusesAWrongCommandLine() async throws {
        let run = try await openurl("open")
        #expect(run.status == 64)
        #expect(run.errors == "openurl: Missing expected argument '<url> ...' (see 'openurl open --help')\n")
        #expect(run.output == "")
    }

    @Test(arguments: [
        "--handler=$bad a:b", "--annotation=$bad=1 a:b", "unregister $bad", "status $bad", "register $bad",
        "ssh box ls $bad",
    ])
    func refusesBytesThatAreNotUTF8(_ line: String) async throws {
        let run = try await shell(#"bad=$(printf '\377'); exec "$openurl" \#(line)"#)
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("openurl: "))
        #expect(run.errors.contains("not UTF-8"))
    }

    /// A variable that is not set must not stand for everything.
    @Test(arguments: [
        "tasks cancel com.example.app ''", "policy forget ''", "policy reset ''", "default app ''",
        "links revoke example.com ''", "links reset example.com ''", "links ask ''",
        "notifications cancel com.example.app ''",
    ])
    func refusesAnEmptyValue(_ line: String) async throws {
        let run = try await shell(#"exec "$openurl" \#(line)"#)
        #expect(run.status == 64, "\(run)")
        #expect(run.errors.contains("the value is empty"), "\(run)")
    }

    /// `openurld` prints the output of `intents`.
    @Test(arguments: ["parse --json x:y", "intents"], [">/dev/full", ">&-", ">&- <&-"])
    func outputThatIsLostIsAFailure(_ line: String, _ redirection: String) async throws {
        let run = try await shell(#"exec "$openurl" \#(line) \#(redirection)"#)
        #expect(run.status == 74, "\(run)")
        #expect(run.errors.contains("standard output: "), "\(run)")
    }

    @Test func namesAMissingProgramOfTheInstallation() async throws {
        let line = #"""
            directory=$(mktemp -d)
            trap 'rm -r "$directory"' EXIT
            cp "$openurl" "$directory"
            "$directory/openurl" --version
            "$directory/openurl" --help
            echo "$?" >&2
            cp "$openurl-command" "$directory"
            "$directory/openurl" --help
            "$directory/openurl" publish --system /nonexistent
            """#
        let run = try await shell(line)
        #expect(run.status == 69)
        #expect(run.output.hasPrefix("openurl 0.1.0\n") && run.output.contains("USAGE"))
        let errors = run.errors.split(separator: "\n")
        try #require(errors.count == 3, "\(run.errors)")
        #expect(errors[0].hasSuffix("/openurl-command cannot be run: No such file or directory"))
        #expect(errors[1] == "69")
        #expect(errors[2].hasSuffix("/openurld cannot be run: No such file or directory"))
    }

    @Test func passesItsArgumentsOnAsTheyAre() async throws {
        let run = try await shell(#"bad=$(printf 'x:\377'); exec "$openurl" parse --json '' " a  b" "$bad""#)
        #expect(run.lines.count == 3, "\(run.output)")
        #expect(run.output.contains(#""url":" a  b""#), "\(run.output)")
        #expect(run.output.contains("x:\u{FFFD}"), "\(run.output)")
        #expect(run.output.contains("%FF"), "\(run.output)")
    }

    @Test func explainsItself() async throws {
        let run = try await openurl("--help")
        #expect(run.status == 0)
        #expect(run.errors == "")
        #expect(run.output.contains("USAGE: openurl [open] [<options>] <url or file> ..."))
    }

    @Test func helpFitsIntoEightyColumns() async throws {
        let line = #"""
            "$openurl" --help
            for command in $("$openurl" --help | sed -n 's/^  \([a-z-]*\)[ ,].*  [A-Z].*/\1/p'); do
                "$openurl" help $command
            done
            for word in list wait retry drop; do "$openurl" help queue $word; done
            for word in list cancel; do "$openurl" help notifications $word; done
            for word in list run cancel; do "$openurl" help tasks $word; done
            for word in list add remove; do "$openurl" help hosts $word; done
            for word in list proofs allow revoke reset ask; do "$openurl" help links $word; done
            for word in list allow deny ask forget reset; do "$openurl" help policy $word; done
            """#
        let run = try await shell(line)
        #expect(run.status == 0)
        #expect(run.lines.count { $0.hasPrefix("USAGE: ") } == 65, "\(run.output)")
        for line in run.lines { #expect(line.count <= 80, "\(line)") }
        // An option and its value stay in one line.
        #expect(!run.output.contains("[--\n"), "\(run.output)")
    }

    @Test func printsItsVersionWithoutABus() async throws {
        #expect(try await openurl("--version").output == "openurl 0.1.0\n")
    }
}
