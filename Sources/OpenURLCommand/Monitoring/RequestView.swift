internal import OpenURLBus
internal import Reactor
internal import URLOpener

/// A view of requests on standard output: for people, lines that grow; for programs, tab-separated fields or JSON.
///
/// As long as a request's line is the last one, the line is rewritten. If other lines follow it, the request gets
/// another line when it ends.
final class RequestView {
    private let display: MonitorDisplayOptions
    private let output: StandardOutput
    private let style: TerminalStyle
    private let isDumb: Bool
    /// Whether a line may be rewritten. If it were wider than the terminal, only its last row would be.
    private var mayRewrite: Bool { output.isTerminal && !isDumb && output.width >= RequestLine.leastWidth }
    /// The request whose line is the last one and may still grow.
    private var growing: UInt64?
    /// Requests that have a line but have not ended.
    private var begun: Set<UInt64> = []
    private var day: String?

    init(_ display: MonitorDisplayOptions, _ invocation: Invocation) {
        self.display = display
        output = invocation.output
        isDumb = invocation.environment("TERM") == "dumb"
        style = TerminalStyle(invocation)
    }

    /// Prints the names of the columns, for users who are waiting for the first request.
    func begin() {
        guard output.isTerminal, !display.outputOptions.json else { return }
        day = LocalTime.text(WallClock.microseconds / 1_000_000).day
        output.print(style.dim(RequestLine.header(width: output.width)))
    }

    /// Ends the last line.
    func end() {
        if growing != nil { output.print("") }
        growing = nil
    }

    /// Shows a request, or its progress.
    func show(_ entry: MonitorEntry) {
        let hasEnded = entry.microseconds != nil
        if display.outputOptions.json {
            if hasEnded { output.print(entry.json.text) }
            return
        }
        guard output.isTerminal else {
            guard hasEnded else { return }
            let request = RequestLine(entry)
            output.print(request.fields.map(\.printable).joined(separator: "\t"))
            for detail in display.verbose ? request.details : [] {
                output.print(Self.indentation + detail.printable)
            }
            return
        }
        let mayRewrite = mayRewrite
        if !hasEnded, !mayRewrite || growing != entry.time && begun.contains(entry.time) { return }
        let request = RequestLine(entry)
        let line = request.text(width: output.width, style)
        if mayRewrite, growing == entry.time {
            output.append("\r\(line)\u{1B}[K")
        } else {
            end()
            printDay(of: entry)
            output.append(line)
        }
        growing = entry.time
        guard hasEnded else {
            begun.insert(entry.time)
            return
        }
        begun.remove(entry.time)
        end()
        for line in request.message.map(indented) ?? [] { output.print(style.bad(line)) }
        guard display.verbose else { return }
        for line in (request.wholeURL + request.details).flatMap(indented) { output.print(style.dim(line)) }
    }

    private static let indentation = String(repeating: " ", count: 10)

    /// Splits the text below a request into lines that fit the terminal, between words where possible.
    private func indented(_ text: String) -> [String] {
        text.printable.wrapped(to: max(20, output.width - 1 - Self.indentation.count)).map { Self.indentation + $0 }
    }

    /// Prints the date before the first request of each day.
    private func printDay(of entry: MonitorEntry) {
        let day = LocalTime.text(entry.time / 1_000_000).day
        if day != self.day { output.print(style.dim(day)) }
        self.day = day
    }
}

extension String {
    /// The date in an ISO 8601 date and time.
    fileprivate var day: String { String(prefix { $0 != "T" }) }
}

extension MonitorEntry {
    /// The request as an object without empty keys, and with the exit status of a failure.
    var json: JSON {
        var members = members.compactMap { member in member.content.map { (name: member.key, value: JSON($0)) } }
        if let status = exitStatus { members.append((name: "exit", value: .number(status))) }
        return .object(members)
    }

    /// The exit status that `openurl open` would have; nil while the request runs.
    var exitStatus: Int32? {
        guard microseconds != nil else { return nil }
        guard let error else { return 0 }
        return OpenURLError(error)?.code.exitStatus ?? ExitStatus.failure
    }
}
