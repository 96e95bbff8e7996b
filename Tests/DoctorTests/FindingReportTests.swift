import Foundation
import Testing

@testable import Doctor

@Suite struct FindingReportTests {
    private static let ok = Finding(
        part: .session,
        level: .ok,
        check: "bus",
        subject: "session bus",
        message: "answers"
    )
    private static let fail = Finding(
        part: .handlers,
        level: .fail,
        check: "program",
        subject: "com.example.note",
        message: "is\tgone",
        file: "/home/me/a b.plist",
        line: 7,
        fix: "rm 'a b'",
        repair: .reload
    )
    private static let warn = Finding(
        part: .entries,
        level: .warn,
        check: "web",
        subject: "a",
        message: "b",
        file: "/c",
        repair: .cache(directory: "/d")
    )
    private static let skip = Finding(
        part: .openers,
        level: .skip,
        check: "gio",
        subject: "gio",
        message: "is not installed"
    )

    @Test(
        arguments: [
            ([], false), ([ok], false), ([ok, warn, skip], false), ([fail], true), ([ok, fail], true),
            ([fail, warn], true),
        ] as [([Finding], Bool)]
    )
    func onlyAFailureFails(_ findings: [Finding], _ hasFailed: Bool) {
        #expect(Report(findings: findings).hasFailed == hasFailed)
    }

    @Test func linesHaveSixCells() {
        let lines = Report(findings: [Self.ok, Self.fail, Self.warn]).lines
        #expect(
            lines == """
                ok\tbus\tsession bus\tanswers\t\t
                fail\tprogram\tcom.example.note\tis\\tgone\t/home/me/a b.plist:7\trm 'a b'
                warn\tweb\ta\tb\t/c\t

                """
        )
    }

    /// Text of files and other programs cannot end a cell, a line or a colour.
    @Test(arguments: ["\t", "\n", "\r", "\u{1B}[2J", "\u{7}", "\u{9B}2J", "\u{202E}", "\u{0}"])
    func controlsReachNoTerminal(_ control: String) throws {
        let finding = Finding(
            part: .handlers,
            level: .fail,
            check: "x",
            subject: "a\(control)b",
            message: "c\(control)d",
            file: "/e\(control)f",
            fix: "g\(control)h"
        )
        let report = Report(findings: [finding])
        #expect(report.lines.split(separator: "\n").count == 1)
        #expect(report.lines.split(separator: "\t").count == 6)
        #expect(report.lines.dropLast().unicodeScalars.allSatisfy { $0 == "\t" || $0.value >= 32 })
        for text in [report.lines, report.text(isColoured: false)] where !["\t", "\n"].contains(control) {
            #expect(!text.contains(control))
        }
        let records = try JSONDecoder().decode([[String: String?]].self, from: Data(report.json().utf8))
        #expect(records.first?["subject"]??.contains(control) == false)
    }

    @Test func recordsHaveEveryKey() throws {
        let report = Report(findings: [Self.ok, Self.fail])
        #expect(
            try report.json() == """
                [{"check":"bus","file":null,"fix":null,"level":"ok","line":null,"message":"answers","subject":"session bus"},\
                {"check":"program","file":"/home/me/a b.plist","fix":"rm 'a b'","level":"fail","line":7,\
                "message":"is\\\\tgone","subject":"com.example.note"}]

                """
        )
        #expect(try Report(findings: []).json() == "[]\n")
    }

    @Test func personGetsGroups() {
        let text = Report(findings: [Self.warn, Self.ok, Self.fail, Self.skip]).text(isColoured: false)
        #expect(
            text == """
                Session
                  ok    session bus  answers

                Handlers
                  fail  com.example.note  is\\tgone
                        file: /home/me/a b.plist:7
                        run:  rm 'a b'

                Desktop entries
                  warn  a  b
                        file: /c

                Who would open it
                  skip  gio  is not installed

                1 failure, 1 warning; --fix fixes 2 of them.

                """
        )
    }

    @Test(arguments: [(Finding.Level.ok, "32"), (.warn, "33"), (.fail, "1;31"), (.skip, "2")])
    func levelsHaveColours(_ level: Finding.Level, _ colour: String) {
        let finding = Finding(part: .router, level: level, check: "x", subject: "y", message: "z")
        let text = Report(findings: [finding]).text(isColoured: true)
        #expect(text.contains("\u{1B}[1mRouter\u{1B}[0m\n"))
        #expect(text.contains("  \u{1B}[\(colour)m\(level.rawValue)"))
        #expect(!Report(findings: [finding]).text(isColoured: false).contains("\u{1B}"))
    }

    /// One long subject does not move all others to the right.
    @Test func columnHasALimit() {
        let long = Finding(
            part: .router,
            level: .ok,
            check: "x",
            subject: String(repeating: "a", count: 60),
            message: "b"
        )
        let short = Finding(part: .router, level: .ok, check: "x", subject: "a", message: "c")
        let text = Report(findings: [long, short]).text(isColoured: false)
        #expect(text.contains("\n  ok    a\(String(repeating: " ", count: 27))  c\n"))
    }

    struct Summary: Sendable, CustomTestStringConvertible {
        let findings: [Finding]
        let testDescription: String

        init(_ findings: [Finding], _ text: String) {
            self.findings = findings
            testDescription = text
        }
    }

    private static let arrived = Finding(
        part: .probe,
        level: .ok,
        check: "probe",
        subject: "bus",
        message: "arrived in 1 ms"
    )
    private static let plain = Finding(part: .handlers, level: .fail, check: "x", subject: "y", message: "z")

    @Test(arguments: [
        Summary([], "Nothing is wrong here; --probe sends a URL to make sure."),
        Summary([ok, skip], "Nothing is wrong here; --probe sends a URL to make sure."),
        Summary([ok, arrived], "Nothing is wrong, and the URLs arrived."),
        Summary([plain], "1 failure."),
        Summary([plain, plain], "2 failures."),
        Summary([fail], "1 failure; --fix fixes one of them."),
        Summary([warn], "1 warning; --fix fixes one of them."),
        Summary([warn, warn, plain], "1 failure, 2 warnings; --fix fixes one of them."),
        Summary([warn, fail, arrived], "1 failure, 1 warning; --fix fixes 2 of them."),
    ])
    func lastLineCounts(_ summary: Summary) {
        let text = Report(findings: summary.findings).text(isColoured: false)
        #expect(text.hasSuffix("\n\(summary.testDescription)\n"), "\(text)")
    }

    @Test(
        arguments: [(nil, nil, nil), ("/a", nil, "/a"), ("/a", 3, "/a:3"), (nil, 3, nil)] as [(String?, Int?, String?)]
    )
    func placeIsThatOfCompilers(_ file: String?, _ line: Int?, _ place: String?) {
        var finding = Self.plain
        finding.file = file
        finding.line = line
        #expect(finding.place == place)
    }
}
