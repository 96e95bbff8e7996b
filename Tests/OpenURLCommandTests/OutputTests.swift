import CLinux
import DBus
import Foundation
import OpenURLBus
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// JSON, single values and the two streams.
@Suite(.timeLimit(.minutes(10))) struct OutputTests {
    @Test(arguments: [
        ("plain ü", "plain ü"), ("\u{0}\u{7F}\u{9B}", "\\u{0}\\u{7F}\\u{9B}"),
        ("\u{61C}\u{200E}\u{202E}\u{2066}\u{2028}", "\\u{61C}\\u{200E}\\u{202E}\\u{2066}\\u{2028}"),
        ("a\nb", "a\\u{A}b"),
    ])
    func nothingMisleadsATerminal(text: String, expected: String) {
        #expect(text.printable == expected)
    }

    @Test(arguments: [
        ("abc", 3), ("ü…→–", 4), ("待办", 4), ("Ａｱ", 3), ("e\u{301}", 1), ("\u{200D}", 0), ("한", 2),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("👍", 2), ("❤", 1), ("❤\u{FE0F}", 2), ("🇩🇪", 2), ("👨\u{200D}👩", 4), ("", 0),
    ])
    func textTakesTheColumnsOfATerminal(text: String, width: Int) {
        #expect(text.columns == width)
    }

    @Test func partsFitTheirColumns() {
        #expect("待办a".prefix(columns: 3) == "待" && "待办a".prefix(columns: 4) == "待办")
        #expect("待办a".suffix(columns: 2) == "a" && "待办a".suffix(columns: 3) == "办a")
        #expect("待".prefix(columns: 0) == "" && "待".suffix(columns: .max) == "待")
    }

    @Test func writesJSON() {
        let json = JSON.object([
            ("b", .strings(["\"\\\n\r\t", "\u{1B}\u{202E}", "ü"])), ("a", .null), ("t", .boolean(true)),
            ("n", .number(-5)), ("e", .array([])), ("o", .object([])),
        ])
        #expect(
            json.text
                == #"{"b":["\"\\\n\r\t","\u001b\u202e","ü"],"a":null,"t":true,"n":-5,"e":[],"o":{}}"#
        )
    }

    @Test func writesEveryValueOfTheBusAsJSON() {
        for (value, text) in [
            (.byte(255), "255"), (true, "true"), (.int16(-2), "-2"), (.uint64(.max), "18446744073709551615"),
            (.double(0.5), "0.5"), (.double(.nan), "null"), (.double(-.infinity), "null"), (.string("\""), #""\"""#),
            (.objectPath("/a"), #""/a""#), (.signature("a{sv}"), #""a{sv}""#),
            (.array([.byte(0), .byte(1)], of: "y"), "[0,1]"), (.structure([true, .byte(1)]), "[true,1]"),
            (.variant(.variant("inner")), #""inner""#),
            (.dictionary([.uint16(2): "b", .uint16(1): "a"], key: "q", value: "s"), #"{"1":"a","2":"b"}"#),
        ] as [(Value, String)] {
            #expect(JSON(value).text == text)
        }
    }

    @Test func printsAResult() {
        var result = OpenResult(
            handler: "com.acme.\u{202E}a",
            way: .launched,
            reply: ["k": true],
            trace: [
                TracePhase("willFinishLaunching", microseconds: 749),
                TracePhase("open", microseconds: 123_456_789, answer: false),
            ]
        )
        #expect(
            result.traceLines(of: "a:b") == [
                "a:b: com.acme.\\u{202E}a (launched)", "     0.7 ms  willFinishLaunching", "123456.8 ms  open  no",
                #"    reply {"k":true}"#,
            ]
        )
        result.id = "12"
        result.trace = []
        result.reply = [:]
        #expect(result.traceLines(of: "a:b") == ["a:b: com.acme.\\u{202E}a (launched 12)"])
        result.reply = ["k": true]
        #expect(
            result.json(of: "a:b").text
                == #"{"url":"a:b","handler":"com.acme.\u202ea","way":"launched","verified":true,"earlier-program":false,"id":"12","reply":{"k":true},"trace":[]}"#
        )
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_575, "1023.9 KiB"), (12_897_485, "12.3 MiB"),
            (1 << 30, "1.0 GiB"), (UInt64.max, "16777215.9 TiB"),
        ] as [(UInt64, String)]
    )
    func printsMemoryInTheLargestUnit(bytes: UInt64, text: String) {
        let status = HandlerStatus(id: "a", state: .known(.active), pid: 1, since: nil, residentMemory: bytes)
        #expect(status.row.map(\.text) == ["a", "active", "1", "–", text, "–"])
        #expect(
            JSON(status).text
                == #"{"id":"a","state":"active","pid":1,"since":null,"memory":\#(bytes),"verified":true,"earlier-program":false,"overdue":false,"background-tasks":[],"quarantined-until":null,"ended":null,"exit-status":null,"signal":null,"end-reason":null,"temporary":"","registered":true}"#
        )
    }

    @Test func statusNamesAHandlerThatIsOverdue() {
        var status = HandlerStatus(id: "com.acme.slow", state: .known(.active), pid: 1)
        #expect(status.notes.isEmpty)
        status.isOverdue = true
        #expect(status.notes == ["com.acme.slow has not answered a request in time, and gets no other until it does"])
        #expect(JSON(status).text.contains(#","overdue":true,"#))
    }

    @Test func statusSaysHowTheLastProcessEnded() {
        var status = HandlerStatus(id: "a", state: .known(.notRunning))
        #expect(status.lastEnd == nil)
        status.ended = 86_400
        let time = LocalTime.text(86_400)
        #expect(status.lastEnd == time)
        status.exitStatus = 3
        #expect(status.lastEnd == "\(time), with exit status 3")
        (status.exitStatus, status.signal) = (nil, 9)
        #expect(status.lastEnd == "\(time), by signal 9 (Killed)")
        #expect(JSON(status).text.contains(#","ended":86400,"exit-status":null,"signal":9,"#))
    }

    @Test func printsAQueuedURL() {
        var url = QueuedURL(id: "7", url: "a:b", handler: "h", state: .waiting, attempts: 2, accepted: 5)
        #expect(url.row.map(\.text) == ["7", "h", "waiting", "2", "–", "–", "a:b", "–"])
        url.next = 9
        url.error = RemoteError("com.example.Error.A", "why")
        #expect(url.row.map(\.text) == ["7", "h", "waiting", "2", LocalTime.text(9), "–", "a:b", "why"])
        #expect(
            JSON(url).text == """
                {"id":"7","request-id":null,"url":"a:b","handler":"h","state":"waiting","attempts":2,"accepted":5,\
                "next":9,"at":null,"every":null,"notify":null,"error":"com.example.Error.A","message":"why"}
                """
        )
        // A date alone would not say when the time comes.
        url.deliveryTime = DeliveryTime(rawValue: "1970-01-02T09:30:00")
        url.repeatInterval = .week
        #expect(url.row[4].brief == "\(LocalTime.text(9).prefix(10)) \(LocalTime.text(9).dropFirst(11).prefix(5))")
        #expect(url.row[5].text == "week")
        #expect(JSON(url).text.contains(#""at":"1970-01-02T09:30:00","every":"week""#))
    }

    // MARK: Streams

    @Test func reportsLostOutput() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let run = try captured { invocation in
            let output = StandardOutput(full)
            output.print("x")
            #expect(output.isIntact)
            output.flush()
            #expect(!output.isIntact)
            // A failure that came before is more important.
            #expect(output.finish(5, StandardError(descriptor: full)) == 5)
            return output.finish(0, invocation.errors)
        }
        #expect(run.status == 74)
        #expect(run.errors == "openurl: standard output: No space left on device\n")
    }

    /// Another program with the same open file, such as ssh, may have made it non-blocking.
    @Test func waitsForTheReaderOfANonBlockingPipe() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe2(&ends, O_CLOEXEC) == 0)
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        try #require(fcntl(writing, F_SETFL, O_NONBLOCK) == 0)
        // Much more than the pipe can hold.
        let count = 1 << 22
        let received = await withCheckedContinuation { (continuation: CheckedContinuation<Int, Never>) in
            Thread.detachNewThread {
                var chunk = [UInt8](repeating: 0, count: 4096)
                var total = 0
                while case let size = read(reading, &chunk, chunk.count), size > 0 { total += size }
                continuation.resume(returning: total)
            }
            let isIntact = StandardOutput(writing).write([UInt8](repeating: UInt8(ascii: "x"), count: count)[...])
            #expect(isIntact)
            close(writing)
        }
        #expect(received == count)
    }

    @Test func writesMuchBeforeTheEnd() throws {
        let file = try MemoryFile()
        let output = StandardOutput(file.descriptor)
        output.print("short")
        #expect(try file.text() == "")
        let long = String(repeating: "x", count: 1 << 16)
        output.print(long)
        #expect(try file.text() == "short\n\(long)\n")
    }
}
