internal import Reactor

/// A cell of a ``Table``.
struct Cell: Hashable, ExpressibleByStringLiteral {
    /// The content.
    let text: String
    /// The content for people to read, unless the table is wide.
    let brief: String
    /// The meaning of the content for the row.
    let meaning: TerminalStyle.Meaning?
    /// The text for programs, where the output is not a terminal.
    let raw: String

    init(_ text: String, brief: String? = nil, as meaning: TerminalStyle.Meaning? = nil) {
        self.text = text
        self.brief = brief ?? text
        self.meaning = meaning
        raw = text
    }

    /// Creates a cell with a word or a text that programs know.
    ///
    /// - Parameter shown: the same for people, in their language.
    init(word: String, _ shown: String, as meaning: TerminalStyle.Meaning? = nil) {
        (text, brief, raw) = (shown, shown, word)
        self.meaning = meaning
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    /// Creates a cell with a time in seconds since 1970. For people to read, it shows the time if it is today, and the
    /// date otherwise.
    ///
    /// - Parameter isExact: Whether the date comes with the time, in hours and minutes.
    init(time: UInt64, isExact: Bool = false) {
        let halves = LocalTime.text(time).split(separator: "T")
        let isToday = LocalTime.text(WallClock.microseconds / 1_000_000).split(separator: "T").first == halves.first
        let brief = (isToday ? halves.last : halves.first).map(String.init)
        guard isExact, !isToday, let date = brief, let hours = halves.last?.prefix(5) else {
            self.init(LocalTime.text(time), brief: brief)
            return
        }
        self.init(LocalTime.text(time), brief: "\(date) \(hours)")
    }

    /// A cell without a value.
    static let absent = Cell(Table.absent)
}
