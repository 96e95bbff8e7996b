import ArgumentParser
import CLinux
import DBus
import Foundation
import Glibc
import OpenURLBus
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// Requests as `openurl monitor` and `openurl log` print them, and the trace of an open.
@Suite(.timeLimit(.minutes(1))) struct RequestOutputTests {
    private static let esc = "\u{1B}"

    private func entry(_ change: (inout MonitorEntry) -> Void = { _ in }) -> MonitorEntry {
        var entry = MonitorEntry(time: 86_400_000_000, kind: .open)
        entry.source = "/usr/bin/firefox"
        entry.pid = 7
        entry.url = "todolist:x?…"
        entry.handler = "com.acme.todolist"
        change(&entry)
        return entry
    }

    /// Shows requests on a terminal that may be rewritten and has no colours, or elsewhere.
    private func shown(_ entries: [MonitorEntry], _ arguments: [String] = [], isTerminal: Bool = true) throws -> String
    {
        let display = try MonitorDisplayOptions.parse(arguments)
        return try captured(isTerminal: isTerminal) { invocation in
            var invocation = invocation
            invocation.environment = { $0 == "NO_COLOR" ? "1" : nil }
            let view = RequestView(display, invocation)
            view.begin()
            for entry in entries { view.show(entry) }
            view.end()
            return 0
        }.output
    }

    /// Shows requests on a terminal of the given width.
    private func shown(_ entries: [MonitorEntry], columns: UInt16) throws -> String {
        var (terminal, other): (CInt, CInt) = (-1, -1)
        var mode = termios()
        // Otherwise, the terminal would add a `\r` to each line break.
        cfmakeraw(&mode)
        var size = winsize()
        size.ws_col = columns
        try #require(openpty(&terminal, &other, nil, &mode, &size) == 0)
        defer { for descriptor in [terminal, other] { close(descriptor) } }
        let output = StandardOutput(other)
        _ = try captured { invocation in
            var invocation = invocation
            invocation.output = output
            invocation.environment = { $0 == "NO_COLOR" ? "1" : nil }
            let view = RequestView(try MonitorDisplayOptions.parse([]), invocation)
            for entry in entries { view.show(entry) }
            view.end()
            output.print("end")
            return 0
        }
        output.flush()
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("end\n".utf8) {
            var part = [UInt8](repeating: 0, count: 4096)
            let count = read(terminal, &part, part.count)
            try #require(count > 0)
            bytes += part[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Only the last row of a wrapped line could be rewritten.
    @Test func lineGrowsOnlyIfItHasOneRow() throws {
        let states = [
            entry(), entry { $0.trace = [TracePhase("processStarted", microseconds: 1000)] },
            entry {
                $0.microseconds = 187_240; $0.way = .known(.launched)
            },
        ]
        let narrow = try shown(states, columns: 58)
        #expect(!narrow.contains("\r") && !narrow.contains("processStarted"), "\(narrow)")
        // The date, the request, and the end.
        #expect(narrow.contains("launched") && narrow.split(separator: "\n").count == 3, "\(narrow)")
        let wide = try shown(states, columns: 59)
        let rows = wide.replacing("\(Self.esc)[K", with: "").split { $0 == "\r" || $0 == "\n" }
        #expect(rows.count == 5 && rows.allSatisfy { $0.columns < 59 }, "\(rows)")
    }

    @Test func lineGrowsAsLongAsItIsTheLastOne() throws {
        var other = entry { $0.time += 1 }
        let first = [
            entry(), entry { $0.trace = [TracePhase("processStarted", microseconds: 1000)] },
            entry {
                $0.microseconds = 187_240; $0.way = .known(.launched)
            },
        ]
        let grown = try shown(first)
        #expect(grown.split(separator: "\n").count == 3, "\(grown)")
        #expect(grown.contains("processStarted…"))
        let rewritten = try #require(grown.split(separator: "\r").last)
        #expect(rewritten.contains("launched"))
        #expect(rewritten.contains("187.2"))
        // Below a later line, a request ends with a line of its own, and its steps are left out.
        other.microseconds = 1
        let split = try shown([first[0], other, first[1], first[2]])
        #expect(!split.contains("\r"))
        #expect(!split.contains("processStarted"))
        #expect(split.split(separator: "\n").count == 5, "\(split)")
    }

    @Test func noLineIsWiderThanTheTerminal() throws {
        let long = entry {
            $0.url = "todolist:" + String(repeating: "a", count: 500)
            $0.source = "com.example." + String(repeating: "s", count: 200)
            $0.microseconds = 1
            $0.error = OpenURLError(.declined, String(repeating: "m", count: 300)).dbusError
        }
        // Standard output is no terminal here, so it has 80 columns.
        for line in try shown([long], ["--verbose"]).split(separator: "\n") { #expect(line.count < 80, "\(line)") }
    }

    @Test func wholeMessageIsShownInLines() throws {
        let words = (1...60).map { "word\($0)" }
        let long = entry {
            $0.url = "todolist:" + String(repeating: "a", count: 500)
            $0.microseconds = 1
            $0.error = OpenURLError(.declined, words.joined(separator: " ")).dbusError
        }
        let lines = try shown([long], ["--verbose"]).split(separator: "\n").filter { $0.hasPrefix("          ") }
        let text = lines.map { $0.drop { $0 == " " } }
        // No word is cut, and the URL, which has no room in a line, is whole.
        #expect(text.joined(separator: " ").contains(words.joined(separator: " ")), "\(text)")
        #expect(text.joined().contains("url") && text.joined().contains(String(repeating: "a", count: 500)), "\(text)")
    }

    @Test func programGetsTheStepsOnDemand() throws {
        let ended = entry {
            $0.microseconds = 1250
            $0.requestID = "1-abc"
            $0.trace = [TracePhase("open", microseconds: 1000)]
        }
        let plain = try shown([ended], isTerminal: false)
        let verbose = try shown([ended], ["--verbose"], isTerminal: false)
        #expect(verbose == plain + "          request  1-abc\n               1.0 ms  open\n")
    }

    @Test func controlsNeverReachATerminal() throws {
        let odd = entry {
            $0.url = "todolist:\(Self.esc)[2J"
            $0.source = "/bin/\u{9B}31m"
            $0.handler = "com.acme.\u{202E}odd"
            $0.requestID = "\u{7}"
            $0.trace = [TracePhase("\(Self.esc)c", microseconds: 1)]
            $0.microseconds = 1
            $0.error = RemoteError("org.openurl.Error.Declined", "no\n\(Self.esc)]0;title\u{7}")
        }
        for arguments in [[], ["--verbose"], ["--json"]] {
            for isTerminal in [true, false] {
                let text = try shown([odd], arguments, isTerminal: isTerminal)
                let controls = text.unicodeScalars.filter { $0.isControl && !["\n", "\t"].contains($0) }
                #expect(controls.isEmpty, "\(arguments) \(isTerminal) \(text.debugDescription)")
            }
        }
    }

    @Test func programGetsOneLineForEachRequestThatEnds() throws {
        let ended = entry {
            $0.microseconds = 1250
            $0.error = OpenURLError(.timedOut, "too late").dbusError
        }
        let text = try shown([entry(), ended], isTerminal: false)
        let fields = text.dropLast().split(separator: "\t").map(String.init)
        #expect(
            fields.dropFirst()
                == ["open", "firefox(7)", "com.acme.todolist", "todolist:x?…", "TimedOut", "6", "1.3", "too late"]
        )
        let json = try shown([entry(), ended], ["--json"])
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(object["exit"] as? Int == 6)
        #expect(object["error"] as? String == "org.openurl.Error.TimedOut")
        #expect(object["pid"] as? Int == 7)
    }

    @Test func coloursStayAwayWithoutATerminalAndWithNoColor() throws {
        let ended = entry { $0.microseconds = 1 }
        #expect(try !shown([ended]).contains(Self.esc))
        let coloured = try captured(isTerminal: true) { invocation in
            RequestView(try MonitorDisplayOptions.parse([]), invocation).show(ended)
            return 0
        }
        #expect(coloured.output.contains("\(Self.esc)[32m"))
        let dumb = try captured(isTerminal: true) { invocation in
            var invocation = invocation
            invocation.environment = { $0 == "TERM" ? "dumb" : nil }
            let view = RequestView(try MonitorDisplayOptions.parse([]), invocation)
            for entry in [entry(), ended] { view.show(entry) }
            return 0
        }
        #expect(!dumb.output.contains(Self.esc) && !dumb.output.contains("\r"))
        #expect(dumb.output.split(separator: "\n").count == 2, "\(dumb.output)")
    }

    @Test func graphCountsAndQuotes() throws {
        let odd = entry {
            $0.source = #"a"b\c"#
            $0.handler = "x\ny"
            $0.error = OpenURLError(.declined, "").dbusError
        }
        let attempt = MonitorEntry(time: 9, kind: .attempt)
        var lost = entry()
        lost.handler = nil
        let run = try captured { invocation in
            RequestGraph([entry(), entry(), odd, attempt, lost]).print(to: invocation.output)
            return 0
        }
        #expect(
            run.lines == [
                "digraph openurl {", "    rankdir=LR;", "    node [shape=box];",
                #"    "a\"b\\c" -> "x\\u{A}y" [label="1, 1 failed", color=red];"#,
                #"    "firefox" -> "com.acme.todolist" [label="2"];"#,
                #"    "firefox" -> "no handler" [label="1"];"#, "}",
            ]
        )
    }

    /// Swift takes a quote with such a mark behind or in front of it for another character.
    @Test(arguments: ["\"\u{301}", "\u{600}\""]) func graphQuotesEachQuote(_ name: String) {
        let quoted = RequestGraph.quoted("x\(name) [URL=\"y\"]")
        let inner = quoted.unicodeScalars.dropFirst().dropLast()
        let parts = inner.split(separator: "\"", omittingEmptySubsequences: false)
        #expect(parts.count == 4 && parts.dropLast().allSatisfy { $0.last == "\\" }, "\(quoted)")
    }

    /// A handler may report any time.
    @Test func timesOfATraceMayBeAnyNumber() throws {
        let steps = [TracePhase("open", microseconds: .max), TracePhase("later", microseconds: 5)]
        let run = try captured { invocation in
            let trace = try OpenTrace(nil)
            trace.add("app:x", from: 1000, to: 1100, handler: "com.acme.app", steps, outcome: "launched")
            try trace.write(invocation.output)
            return 0
        }
        #expect(run.output.contains(#""name":"open","cat":"openurl","ph":"X","ts":1000,"dur":100"#), "\(run.output)")
        let result = OpenResult(handler: "com.acme.app", way: .launched, reply: [:], trace: steps)
        #expect(result.traceLines(of: "app:x")[1].hasPrefix("1844674407370955"))
    }

    @Test func traceIsInTheTraceEventFormat() throws {
        let run = try captured { invocation in
            let trace = try OpenTrace(nil)
            let steps = [TracePhase("ready", microseconds: 30), TracePhase("open", microseconds: 90, answer: false)]
            trace.add("app:x?s3cret", from: 1000, to: 1100, handler: "com.acme.app", steps, outcome: "launched")
            try trace.write(invocation.output)
            return 0
        }
        #expect(!run.output.contains("s3cret"))
        let document = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        let events = try #require(document["traceEvents"] as? [[String: Any]])
        #expect(events.map { $0["ph"] as? String } == ["M", "M", "X", "X", "X"])
        let complete = events.dropFirst(2)
        #expect(complete.map { $0["name"] as? String } == ["open app:x?…", "ready", "open"])
        #expect(complete.map { $0["ts"] as? Int } == [1000, 1000, 1030])
        #expect(complete.map { $0["dur"] as? Int } == [100, 30, 60])
        #expect(Set(complete.map { $0["tid"] as? Int }) == [1])
    }

    @Test(
        arguments: [
            ("10m", 999_400), ("2h", 992_800), ("3d", 740_800), ("45s", 999_955), ("1970-01-02T00:00Z", 86_400),
            ("1970-01-02 01:02:03Z", 90_123), ("1970-01-03Z", 172_800), ("99999999999999999d", 0),
            ("1972-02-29Z", 68_169_600), ("1972-02-28T23:59:60Z", 68_169_600),
        ] as [(String, UInt64)]
    )
    func timeIsInThePast(_ text: String, _ seconds: UInt64) throws {
        #expect(try PastTime(text).microseconds(before: 1_000_000_000_000) == seconds * 1_000_000)
    }

    @Test(arguments: [
        "", "m", "-1m", "10", "10w", "2026", "2026-13-01", "2026-02-29", "2026-02-31", "2026-06-31T10:00Z",
        "2026-01-01T25:00", "2026-01-01T10", "٣-01-01", "a-b-c",
    ])
    func textIsNoTime(_ text: String) {
        #expect(throws: ValidationError.self) { try PastTime(text) }
    }
}
