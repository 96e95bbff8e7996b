import Testing

@Suite struct ParseTests {
    @Test func parsePrintsTheParts() async throws {
        let run = try await openurl("parse", "todolist://www.acme.com?Quarterly%20Report#200806231300")
        #expect(run.status == 0)
        #expect(run.errors == "")
        #expect(
            run.output == """
                url\ttodolist://www.acme.com?Quarterly%20Report#200806231300
                scheme\ttodolist
                user\t–
                password\t–
                host\twww.acme.com
                port\t–
                opaquePart\t–
                path\t""
                parameters\t–
                query\tQuarterly%20Report
                fragment\t200806231300

                """
        )
    }

    @Test func outputToATerminalAlignsColumns() async throws {
        let run = try await onTerminal("parse", "mailto:a@b?")
        #expect(run.lines.first == "url         mailto:a@b?")
        #expect(run.lines.contains("opaquePart  a@b"))
        #expect(run.lines.contains("query       \"\""))
        #expect(run.lines.contains("fragment    –"))
        #expect(try await openurl("parse", "a:").lines.contains("opaquePart\t\"\""))
    }

    @Test func blankLineSeparatesURLs() async throws {
        let run = try await openurl("parse", "a:b", "c:d")
        #expect(run.lines.filter { $0 == "" }.count == 1)
        #expect(run.lines.contains("url\tc:d"))
    }

    @Test func jsonOutputHasEveryPart() async throws {
        let run = try await openurl("parse", "--json", "http://u:p@h:80/a;p?#", "//h:", "a:b")
        #expect(run.status == 0)
        #expect(
            run.lines == [
                #"{"url":"http://u:p@h:80/a;p?#","scheme":"http","user":"u","password":"p","host":"h","port":80,"opaquePart":null,"path":"/a","parameters":"p","query":"","fragment":""}"#,
                #"{"url":"//h:","scheme":null,"user":null,"password":null,"host":"h","port":null,"opaquePart":null,"path":"","parameters":null,"query":null,"fragment":null}"#,
                #"{"url":"a:b","scheme":"a","user":null,"password":null,"host":null,"port":null,"opaquePart":"b","path":"","parameters":null,"query":null,"fragment":null}"#,
            ]
        )
    }

    @Test func badURLDoesNotStopTheRest() async throws {
        let run = try await openurl("parse", "--json", "a b", "a:b", "\"\\\u{202E}\u{9B}\n")
        #expect(run.status == 65)
        #expect(run.lines.count == 3)
        #expect(
            run.lines.first
                == #"{"url":"a b","error":"forbiddenByte","offset":1,"message":"at byte offset 1: a space is not allowed in a URL; write it as %20"}"#
        )
        #expect(run.lines.last?.hasPrefix(#"{"url":"\"\\\u202e\u009b\n","error":"forbiddenByte","offset":0,"#) == true)
        #expect(run.errors == "")
    }

    @Test func errorNamesTheBadURL() async throws {
        let one = try await openurl("parse", "a b")
        #expect(one.status == 65)
        #expect(one.errors == "openurl: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
        let two = try await openurl("parse", "\u{1B}[31m", "a:b")
        #expect(two.status == 65)
        #expect(two.errors.hasPrefix(#"openurl: \u{1B}[31m: at byte offset 0: "#))
        #expect(two.lines.first == "url\ta:b")
    }

    @Test func invalidUTF8IsNotRepaired() async throws {
        let run = try await shell(#"exec "$openurl" parse --json "$(printf 'x:\377y')""#)
        #expect(run.status == 65)
        #expect(run.output.hasPrefix(#"{"url":"x:\#u{FFFD}y","error":"forbiddenByte","offset":2,"#))
    }

    @Test func baseOptionResolvesReferences() async throws {
        let run = try await openurl("parse", "--json", "--base", "http://a/b/c;p?q#f", "../g", "", "x:y")
        #expect(run.status == 0)
        #expect(
            run.lines.map { String($0.prefix { $0 != "," }) } == [
                #"{"url":"http://a/g""#, #"{"url":"http://a/b/c;p?q#f""#, #"{"url":"x:y""#,
            ]
        )
        let bad = try await openurl("parse", "--base", "a b", "g")
        #expect(bad.status == 65)
        #expect(bad.errors == "openurl: --base: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
    }

    @Test func standardInputIsReadByLines() async throws {
        let run = try await openurl("parse", "--json", "-", input: Array("a:b\n\nc:d\r\ne:f".utf8))
        #expect(run.status == 65)
        let starts = [
            #"{"url":"a:b","scheme":"a","#,
            #"{"url":"","error":"emptyInput","offset":0,"#,
            #"{"url":"c:d\r","error":"forbiddenByte","offset":3,"#,
            #"{"url":"e:f","scheme":"e","#,
        ]
        #expect(run.lines.count == starts.count)
        for (line, start) in zip(run.lines, starts) { #expect(line.hasPrefix(start)) }
        let human = try await openurl("parse", "-", input: Array("a:b\nc d\n".utf8))
        #expect(human.errors == "openurl: line 2: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
    }

    @Test(arguments: [["-0"], ["-0", "-"]])
    func nullOptionReadsRecordsThatEndInNUL(arguments: [String]) async throws {
        let run =
            arguments.count == 1
            ? try await openurl("parse", "--json", "-0", input: Array("a:b\0c:\nd\0".utf8))
            : try await openurl("parse", "--json", "-0", "-", input: Array("a:b\0c:\nd\0".utf8))
        #expect(run.status == 65)
        #expect(run.lines.count == 2)
        #expect(run.lines.last?.hasPrefix(#"{"url":"c:\nd","error":"forbiddenByte","offset":2,"#) == true)
    }

    @Test func emptyInputPrintsNothing() async throws {
        let run = try await openurl("parse", "-")
        #expect(run.status == 0)
        #expect(run.output == "")
    }

    @Test func restOfATooLongLineIsSkipped() async throws {
        let longest = Array(repeating: UInt8(ascii: "a"), count: 65_536)
        let input = longest + [UInt8(ascii: "\n")] + longest + longest + longest + Array("\nb:c\n".utf8)
        let run = try await openurl("parse", "--json", "-", input: input)
        #expect(run.status == 65)
        #expect(run.lines.count == 3)
        #expect(run.lines.first?.contains("\"scheme\":null") == true)
        let url = String(decoding: longest, as: UTF8.self)
        #expect(
            run.lines.dropFirst().first
                == #"{"url":"\#(url)","error":"tooLong","offset":65536,"message":"at byte offset 65536: the URL is longer than 65536 bytes"}"#
        )
        #expect(run.lines.last?.hasPrefix(#"{"url":"b:c","scheme":"b""#) == true)
    }

    @Test func lostOutputIsAnError() async throws {
        let run = try await openurl("parse", "a:b", output: "/dev/full")
        #expect(run.status == 74)
        #expect(run.errors == "openurl: standard output: No space left on device\n")
        let bad = try await openurl("parse", "--json", "a b", output: "/dev/full")
        #expect(bad.status == 65)
    }

    @Test func failedInputIsAnError() async throws {
        let run = try await shell(#"exec "$openurl" parse - < /"#)
        #expect(run.status == 74)
        #expect(run.errors == "openurl: standard input: Is a directory\n")
    }
}
