import CLinux
import Foundation
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// `openurl parse`.
@Suite(.timeLimit(.minutes(10))) struct ParseTests {
    @Test func printsTheParts() throws {
        let run = try openurl("parse", "todolist://www.acme.com?Quarterly%20Report#200806231300")
        #expect(run.status == 0)
        #expect(run.errors == "")
        #expect(
            run.output == """
                url\ttodolist://www.acme.com?Quarterly%20Report#200806231300
                scheme\ttodolist
                networkLocation\twww.acme.com
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

    @Test func alignsOnATerminal() throws {
        let run = try openurl("parse", "mailto:a@b?", isTerminal: true)
        #expect(run.lines.first == "url              mailto:a@b?")
        #expect(run.lines.contains("opaquePart       a@b"))
        #expect(run.lines.contains("query            \"\""))
        #expect(run.lines.contains("fragment         –"))
        #expect(try openurl("parse", "a:").lines.contains("opaquePart\t\"\""))
    }

    @Test func separatesTheURLs() throws {
        let run = try openurl("parse", "a:b", "c:d")
        #expect(run.lines.filter { $0 == "" }.count == 1)
        #expect(run.lines.contains("url\tc:d"))
    }

    @Test func printsJSON() throws {
        let run = try openurl("parse", "--json", "http://u:p@h:80/a;p?#", "//h:", "a:b")
        #expect(run.status == 0)
        #expect(
            run.lines == [
                #"{"url":"http://u:p@h:80/a;p?#","scheme":"http","networkLocation":"u:p@h:80","user":"u","password":"p","host":"h","port":80,"opaquePart":null,"path":"/a","parameters":"p","query":"","fragment":""}"#,
                #"{"url":"//h:","scheme":null,"networkLocation":"h:","user":null,"password":null,"host":"h","port":null,"opaquePart":null,"path":"","parameters":null,"query":null,"fragment":null}"#,
                #"{"url":"a:b","scheme":"a","networkLocation":null,"user":null,"password":null,"host":null,"port":null,"opaquePart":"b","path":"","parameters":null,"query":null,"fragment":null}"#,
            ]
        )
    }

    @Test func emptyNetworkLocationIsThere() throws {
        #expect(try openurl("parse", "--json", "file:///x").output.contains(#""networkLocation":"","user":null"#))
        #expect(try openurl("parse", "--json", "file:/x").output.contains(#""networkLocation":null,"user":null"#))
    }

    @Test func continuesAfterABadInput() throws {
        let run = try openurl("parse", "--json", "a b", "a:b", "\"\\\u{202E}\u{9B}\n")
        #expect(run.status == 65)
        #expect(run.lines.count == 3)
        #expect(
            run.lines.first
                == #"{"url":"a b","error":"forbiddenByte","offset":1,"message":"at byte offset 1: a space is not allowed in a URL; write it as %20"}"#
        )
        #expect(run.lines.last?.hasPrefix(#"{"url":"\"\\\u202e\u009b\n","error":"forbiddenByte","offset":0,"#) == true)
        #expect(run.errors == "")
    }

    @Test func namesTheBadInput() throws {
        let one = try openurl("parse", "a b")
        #expect(one.status == 65)
        #expect(one.errors == "openurl: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
        let two = try openurl("parse", "\u{1B}[31m", "a:b")
        #expect(two.status == 65)
        #expect(two.errors.hasPrefix(#"openurl: \u{1B}[31m: at byte offset 0: "#))
        #expect(two.lines.first == "url\ta:b")
    }

    @Test func resolvesAgainstABase() throws {
        let run = try openurl("parse", "--json", "--base", "http://a/b/c;p?q#f", "../g", "", "x:y")
        #expect(run.status == 0)
        #expect(
            run.lines.map { String($0.prefix { $0 != "," }) } == [
                #"{"url":"http://a/g""#, #"{"url":"http://a/b/c;p?q#f""#, #"{"url":"x:y""#,
            ]
        )
        let bad = try openurl("parse", "--base", "a b", "g")
        #expect(bad.status == 65)
        #expect(bad.errors == "openurl: --base: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
    }

    @Test func readsLines() throws {
        let run = try openurl("parse", "--json", "-", input: "a:b\n\nc:d\r\ne:f")
        #expect(run.status == 65)
        let starts = [
            #"{"url":"a:b","scheme":"a","#,
            #"{"url":"","error":"emptyInput","offset":0,"#,
            #"{"url":"c:d\r","error":"forbiddenByte","offset":3,"#,
            #"{"url":"e:f","scheme":"e","#,
        ]
        #expect(run.lines.count == starts.count)
        for (line, start) in zip(run.lines, starts) { #expect(line.hasPrefix(start)) }
        let human = try openurl("parse", "-", input: "a:b\nc d\n")
        #expect(human.errors == "openurl: line 2: at byte offset 1: a space is not allowed in a URL; write it as %20\n")
    }

    @Test(arguments: [["-0"], ["-0", "-"]])
    func readsRecordsThatEndInNUL(arguments: [String]) throws {
        let run =
            arguments.count == 1
            ? try openurl("parse", "--json", "-0", input: "a:b\0c:\nd\0")
            : try openurl("parse", "--json", "-0", "-", input: "a:b\0c:\nd\0")
        #expect(run.status == 65)
        #expect(run.lines.count == 2)
        #expect(run.lines.last?.hasPrefix(#"{"url":"c:\nd","error":"forbiddenByte","offset":2,"#) == true)
    }

    @Test func readsNothing() throws {
        let run = try openurl("parse", "-")
        #expect(run.status == 0)
        #expect(run.output == "")
    }

    @Test func skipsTheRestOfALineThatIsTooLong() throws {
        let longest = Array(repeating: UInt8(ascii: "a"), count: 65_536)
        let input = longest + [UInt8(ascii: "\n")] + longest + longest + longest + Array("\nb:c\n".utf8)
        let run = try openurl([.text("parse"), .text("--json"), .text("-")], input: input)
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

    @Test func doesNotRepairBytesThatAreNotUTF8() throws {
        let bytes = Array("x:".utf8) + [0xFF] + Array("y".utf8)
        let run = try openurl([.text("parse"), .text("--json"), .notUTF8(bytes)])
        #expect(run.status == 65)
        #expect(run.output.hasPrefix(#"{"url":"x:\#u{FFFD}y","error":"forbiddenByte","offset":2,"#))
    }

    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\nb", ["a", "", "b"]), ("\n", [""]),
        ("four\nfives\nsixsix\nx", ["four", "fives", "sixsi", "x"]),
    ])
    func splitsRecords(input: String, records: [String]) throws {
        let file = try MemoryFile()
        try file.write(Array(input.utf8))
        var reader = RecordReader(descriptor: file.descriptor, separator: UInt8(ascii: "\n"), maximumLength: 4)
        var waits = 0
        var read: [String] = []
        while let record = try reader.next({ waits += 1 }) { read.append(String(decoding: record, as: UTF8.self)) }
        #expect(read == records)
        // Each read can block: the read of everything and the read of the end, which ends the last record and then the input.
        #expect(waits == (input.isEmpty ? 1 : input.hasSuffix("\n") ? 2 : 3))
    }

    @Test func waitsForANonBlockingInput() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe2(&ends, O_CLOEXEC) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        try #require(fcntl(reading, F_SETFL, O_NONBLOCK) == 0)
        var reader = RecordReader(descriptor: reading, separator: UInt8(ascii: "\n"), maximumLength: 4)
        var isWritten = false
        let record = try reader.next {
            guard !isWritten else { return }
            isWritten = true
            // The reader has almost always found the pipe empty by the time that the thread runs. The record is the same
            // in any case.
            Thread.detachNewThread {
                _ = write(writing, "a\n", 2)
                close(writing)
            }
        }
        #expect(record == Array("a".utf8))
        let end = try reader.next {}
        #expect(end == nil)
    }
}
