internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

/// A request as a line of text.
struct RequestLine {
    private let entry: MonitorEntry

    init(_ entry: MonitorEntry) {
        self.entry = entry
    }

    // MARK: Words

    private var time: String { LocalTime.text(entry.time / 1_000_000) }

    /// The source's identifier, or the name of its program.
    private var sourceName: String {
        guard let source = entry.source else { return entry.pid.map { translated("process \($0)") } ?? Table.absent }
        return source.hasPrefix("/") ? source.split(separator: "/").last.map(String.init) ?? source : source
    }

    /// The source's name, with the process if the program has no identifier.
    private var source: String {
        guard let pid = entry.pid, entry.source?.hasPrefix("/") == true else { return sourceName }
        return "\(sourceName)(\(pid))"
    }

    /// The source for a program to read, in English.
    private var sourceField: String {
        guard entry.source == nil, let pid = entry.pid else { return source }
        return "process \(pid)"
    }

    /// The URL, or the kind of request if there is none.
    private var subject: String {
        let isOpening = [.known(.open), .known(.call)].contains(entry.kind)
        let attempt = entry.attempt.map { " \($0)" } ?? ""
        let kind = isOpening ? "" : "\(entry.kind.rawValue)\(attempt)"
        return [kind, entry.url ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The outcome, or the latest step if there is none yet.
    private var outcome: String {
        if let error = entry.error {
            let name = error.name.rawValue
            return name.split(separator: ".").last.map(String.init) ?? name
        }
        if entry.microseconds != nil { return entry.way?.rawValue ?? "done" }
        if entry.decision == .known(.ask), entry.trace.isEmpty { return translated("asking …") }
        return entry.trace.last.map { "\($0.name) …" } ?? "…"
    }

    private var milliseconds: String {
        guard let microseconds = entry.microseconds ?? entry.trace.last?.microseconds else { return "" }
        let tenths = microseconds / 100 + (microseconds % 100 + 50) / 100
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Fields for a program to read.
    var fields: [String] {
        [
            time, entry.kind.rawValue, sourceField, entry.handler ?? Table.absent, entry.url ?? Table.absent, outcome,
            entry.exitStatus.map { "\($0)" } ?? Table.absent, milliseconds, entry.error?.message ?? Table.absent,
        ]
    }

    /// The request in words: what was asked, by which program, and when.
    var sentence: String { translated("\(subject) from \(source) at \(time)") }

    /// The outcome in words, with the message if the request failed.
    var result: String {
        (milliseconds.isEmpty ? outcome : translated("\(outcome) after \(milliseconds) ms"))
            + (message.map { ": \($0)" } ?? "")
    }

    /// The message, if the request failed.
    var message: String? { entry.error?.message }

    /// The whole URL on a line of its own, because a terminal's columns may not have room for it.
    var wholeURL: [String] { entry.url.map { ["url      \($0)"] } ?? [] }

    /// Lines with the facts that have no column.
    var details: [String] {
        let status = entry.error == nil ? [] : entry.exitStatus.map { ["exit     \($0)"] } ?? []
        let request = entry.requestID.map { ["request  \($0)"] } ?? []
        let rule = entry.rule.map { ["chosen   \($0)"] } ?? []
        let policy =
            entry.decision.map { ["policy   \($0.rawValue)\(entry.decisionReason.map { ": \($0)" } ?? "")"] } ?? []
        let steps = entry.trace.map { "\($0.paddedMilliseconds) ms  \($0.name)\($0.answer ? "" : "  no")" }
        return status + request + rule + policy + steps
    }

    // MARK: Columns

    /// The widths of the columns.
    private struct Columns {
        let route: Int
        let subject: Int
        static let time = 8
        static let outcome = 15
        static let milliseconds = 7
        static let gap = "  "
        /// The width that does not depend on the terminal, with the gaps. A line that fills the last column would wrap to
        /// the next line.
        static let fixed = 1 + time + outcome + milliseconds + 4 * gap.count
        static let leastRest = 20

        init(width: Int) {
            let rest = max(Self.leastRest, width - Self.fixed)
            route = min(48, rest * 3 / 5)
            subject = rest - route
        }
    }

    /// The width of the narrowest terminal on which a line takes one row.
    static var leastWidth: Int { Columns.fixed + Columns.leastRest }

    /// Returns the names of the columns.
    static func header(width: Int) -> String {
        let columns = Columns(width: width)
        let cells = [
            translated("TIME").padded(Columns.time), translated("SOURCE → HANDLER").padded(columns.route),
            translated("URL").padded(columns.subject),
            translated("OUTCOME").padded(Columns.outcome), "ms".padded(Columns.milliseconds, atStart: true),
        ]
        return String(cells.joined(separator: Columns.gap).prefix(columns: max(0, width - 1)))
    }

    /// Returns the line for a terminal, without a line break.
    func text(width: Int, _ style: TerminalStyle) -> String {
        let columns = Columns(width: width)
        let to = (entry.handler ?? Table.absent).printable
        // Keep the end of an identifier, which is more telling than its beginning.
        let room = columns.route - 3
        let isWide = source.printable.columns + to.columns <= room
        let from = (isWide ? source : sourceName).printable
        let shownFrom = from.keepingEnd(max(room / 3, room - to.columns))
        let shownTo = to.keepingEnd(room - shownFrom.columns)
        let route = "\(style.name(shownFrom)) \(style.dim("→")) \(style.name(shownTo))"
        let routePadding = String(repeating: " ", count: max(0, room - shownFrom.columns - shownTo.columns))
        let outcome = outcome.printable.keepingBeginning(Columns.outcome).padded(Columns.outcome)
        let colouredOutcome =
            entry.error != nil
            ? style.bad(outcome) : entry.microseconds == nil ? style.pending(outcome) : style.good(outcome)
        let cells = [
            style.dim(String(time.suffix(Columns.time))), route + routePadding,
            subject.printable.keepingBeginning(columns.subject).padded(columns.subject), colouredOutcome,
            milliseconds.padded(Columns.milliseconds, atStart: true),
        ]
        return cells.joined(separator: Columns.gap)
    }
}

extension TracePhase {
    fileprivate var paddedMilliseconds: String {
        let tenths = microseconds / 100 + (microseconds % 100 + 50) / 100
        return "\(tenths / 10).\(tenths % 10)".padded(8, atStart: true)
    }
}
