import Testing

/// `openurl parse` as a program; OpenURLCommandTests has the rest.
@Suite(.timeLimit(.minutes(10))) struct ParseProgramTests {
    @Test func alignsOnATerminal() async throws {
        let run = try await onTerminal("parse", "mailto:a@b?")
        #expect(run.lines.first == "url              mailto:a@b?")
        #expect(run.lines.contains("opaquePart       a@b"))
        #expect(run.lines.contains("query            \"\""))
        #expect(run.lines.contains("fragment         –"))
        #expect(try await openurl("parse", "a:").lines.contains("opaquePart\t\"\""))
    }

    @Test func doesNotRepairBytesThatAreNotUTF8() async throws {
        let run = try await shell(#"exec "$openurl" parse --json "$(printf 'x:\377y')""#)
        #expect(run.status == 65)
        #expect(run.output.hasPrefix(#"{"url":"x:\#u{FFFD}y","error":"forbiddenByte","offset":2,"#))
    }

    @Test func reportsLostOutput() async throws {
        let run = try await openurl("parse", "a:b", output: "/dev/full")
        #expect(run.status == 74)
        #expect(run.errors == "openurl: standard output: No space left on device\n")
        let bad = try await openurl("parse", "--json", "a b", output: "/dev/full")
        #expect(bad.status == 65)
    }

    @Test func reportsAnInputThatFails() async throws {
        let run = try await shell(#"exec "$openurl" parse - < /"#)
        #expect(run.status == 74)
        #expect(run.errors == "openurl: standard input: Is a directory\n")
    }

    @Test func printsTheParts() async throws {
        let run = try await openurl("parse", "todolist://www.acme.com?Quarterly%20Report#200806231300")
        #expect(run.status == 0)
        #expect(run.errors == "")
        #expect(run.lines.first == "url\ttodolist://www.acme.com?Quarterly%20Report#200806231300")
        #expect(run.lines.suffix(2) == ["query\tQuarterly%20Report", "fragment\t200806231300"])
    }

    @Test func readsStandardInput() async throws {
        let run = try await openurl("parse", "-", input: Array("a:b\nc d\n".utf8))
        #expect(run.status == 65)
        #expect(run.lines.first == "url\ta:b")
        #expect(run.errors == "openurl: line 2: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
    }
}
