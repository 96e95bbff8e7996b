import DBus
import Foundation
import OpenURLBus
import Reactor
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// Tables for a person and for a program. Standard output is no terminal here, so it has 80 columns.
@Suite struct TableTests {
    private static let esc = "\u{1B}"

    private func printed(
        _ table: Table,
        isTerminal: Bool = true,
        isWide: Bool = false,
        _ variables: [String: String] = ["NO_COLOR": "1"]
    ) throws -> [String] {
        try captured(isTerminal: isTerminal) { invocation in
            var invocation = invocation
            invocation.environment = { variables[$0] }
            table.print(invocation, isWide: isWide)
            return 0
        }.lines
    }

    @Test func programGetsTabs() throws {
        let table = Table(columns: ["A", "B"], rows: [["long cell", "x"], ["y", "tab\there"]], empty: "None.")
        #expect(try printed(table, isTerminal: false) == ["long cell\tx", "y\ttab\\u{9}here"])
        #expect(try printed(Table(columns: ["A"], empty: "None."), isTerminal: false) == [])
    }

    @Test func personGetsAlignedColumns() throws {
        let table = Table(columns: ["A", "B", "C"], rows: [["long cell", "ü", "x"], ["y", "\u{1B}[2J", "z"]])
        #expect(
            try printed(table) == ["A          B          C", "long cell  ü          x", "y          \\u{1B}[2J  z"]
        )
        #expect(try printed(Table(rows: [["a", "b"]])) == ["a  b"])
        #expect(try printed(Table(columns: ["A"])) == [])
        #expect(try printed(Table(columns: ["A"], empty: "None.")) == ["None."])
    }

    @Test func wideCharactersTakeTwoColumns() throws {
        let table = Table(columns: ["A", "B"], rows: [["待办", "x"], ["e\u{301}", "y"]])
        #expect(try printed(table) == ["A     B", "待办  x", "e\u{301}     y"])
        let long = Table(
            columns: ["A", Column("B", .cut(least: 8)), Column("C", .wrapped(least: 8))],
            rows: [["待办", Cell(String(repeating: "事", count: 100)), Cell(String(repeating: "项", count: 100))]]
        )
        let lines = try printed(long)
        #expect(lines.allSatisfy { $0.columns < 80 }, "\(lines)")
    }

    @Test(arguments: [
        ("待办 事项", 4, ["待办", "事项"]), ("待办事", 3, ["待", "办", "事"]), ("a bc def", 4, ["a bc", "def"]),
        ("ab cdef", 4, ["ab", "cdef"]), ("", 4, [""]),
    ])
    func linesFitTheirColumns(text: String, width: Int, expected: [String]) {
        #expect(text.wrapped(to: width) == expected)
    }

    private static let hint = "Cut to the width of the terminal; --wide shows everything."
    private static let long = String(repeating: "a", count: 100) + String(repeating: "z", count: 100)

    @Test func longCellsAreCutInTheMiddle() throws {
        let table = Table(
            columns: [Column("ID", .cut(least: 8)), "STATE", Column("PATH", .cut(least: 8))],
            rows: [[Cell(Self.long), "active", Cell(Self.long)], ["x", "suspended", "y"]]
        )
        let lines = try printed(table)
        try #require(lines.count == 4, "\(lines)")
        #expect(lines.allSatisfy { $0.count < 80 }, "\(lines)")
        // Both columns that can be cut get the same width, and the other column stays whole.
        let cell = String(repeating: "a", count: 16) + "…" + String(repeating: "z", count: 16)
        #expect(lines[1].split(separator: " ").map(String.init) == [cell, "active", cell])
        #expect(lines[2].split(separator: " ") == ["x", "suspended", "y"])
        #expect(lines[3] == Self.hint)
        let wide = try printed(table, isWide: true)
        #expect(wide[1].split(separator: " ").map(String.init) == [Self.long, "active", Self.long])
        #expect(wide.count == 3)
        #expect(try printed(table, isTerminal: false)[0] == "\(Self.long)\tactive\t\(Self.long)")
    }

    @Test func lastColumnsAreLeftOutIfThereIsNoRoom() throws {
        let table = Table(
            columns: ["A", Column("B", .cut(least: 20)), Column("C", .cut(least: 20))],
            rows: [[Cell(String(repeating: "x", count: 40)), Cell(Self.long), Cell(Self.long)]]
        )
        let lines = try printed(table)
        #expect(lines.map(\.count) == [43, 79, Self.hint.count], "\(lines)")
        #expect(lines[0].split(separator: " ") == ["A", "B"])
        #expect(try printed(table, isWide: true)[0].split(separator: " ") == ["A", "B", "C"])
    }

    @Test func wrappedCellsKeepTheirWords() throws {
        let words = (1...40).map { "word\($0)" }
        let table = Table(
            columns: ["A", Column("WHY", .wrapped(least: 10))],
            rows: [["wins", Cell(words.joined(separator: " "))]]
        )
        let lines = try printed(table)
        #expect(lines.count > 3 && lines.allSatisfy { $0.count < 80 }, "\(lines)")
        #expect(lines.dropFirst(2).allSatisfy { $0.hasPrefix("      word") }, "\(lines)")
        let cells: [Substring] = lines.dropFirst().flatMap { $0.split(separator: " ") }
        #expect(cells.dropFirst().map(\.description) == words)
    }

    @Test func tableWithoutAHeaderIsWhole() throws {
        #expect(try printed(Table(rows: [["url", Cell(Self.long)]])) == ["url  \(Self.long)"])
    }

    @Test func coloursAreForTerminalsThatHaveThem() throws {
        let table = Table(columns: ["A", "B"], rows: [[Cell("bad", as: .bad), "x"]])
        let plain = ["A    B", "bad  x"]
        #expect(try printed(table, [:]) == ["A    B", "\(Self.esc)[31mbad\(Self.esc)[0m  x"])
        #expect(try printed(table, ["NO_COLOR": "1"]) == plain)
        #expect(try printed(table, ["TERM": "dumb"]) == plain)
        #expect(try printed(table, isTerminal: false, [:]) == ["bad\tx"])
    }

    @Test func colourSaysHowAHandlerIs() {
        func meaning(
            _ state: HandlerState,
            until end: UInt64? = nil,
            isOverdue: Bool = false
        ) -> TerminalStyle.Meaning? {
            var status = HandlerStatus(id: "a", state: .known(state))
            status.quarantinedUntil = end
            status.isOverdue = isOverdue
            return status.row[1].meaning
        }
        #expect(meaning(.active) == .good && meaning(.inactive) == .good && meaning(.background) == .good)
        #expect(meaning(.suspended) == .pending && meaning(.notRunning) == .dim)
        #expect(meaning(.notRunning, until: 1) == .bad)
        #expect(meaning(.active, isOverdue: true) == .bad)
        #expect(HandlerStatus(id: "a", state: .unknown("new")).row[1].meaning == nil)
    }

    @Test func personReadsTheTimeOfToday() throws {
        let now = WallClock.microseconds / 1_000_000
        let today = Cell(time: now)
        #expect(today.text == LocalTime.text(now))
        // At midnight the day may change between the two readings of the clock.
        #expect(today.brief.count == 8 || today.brief.count == 10)
        #expect(Cell(time: now - 200_000).brief == LocalTime.text(now - 200_000).prefix(10))
        let table = Table(columns: ["A"], rows: [[Cell(time: 86_400 * 10)]])
        #expect(try printed(table)[1].count == 10)
        #expect(try printed(table, isWide: true)[1] == LocalTime.text(86_400 * 10))
        #expect(try printed(table, isTerminal: false) == [LocalTime.text(86_400 * 10)])
    }

    @Test(arguments: [
        ("abcdefgh", 8, "abcdefgh"), ("abcdefgh", 7, "abc…fgh"), ("abcdefgh", 6, "abc…gh"), ("abcdefgh", 1, "…"),
        ("", 3, ""), ("待办事项", 8, "待办事项"), ("待办事项", 5, "待…项"), ("待办事项", 4, "待…"),
    ])
    func middleIsLeftOut(text: String, width: Int, expected: String) {
        #expect(text.keepingEnds(width) == expected)
    }
}
