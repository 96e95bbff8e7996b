internal import OpenURLBus
internal import Translations
internal import URLOpener

/// The facts about one handler that `openurl status ID` shows.
struct HandlerDetails {
    let status: HandlerStatus
    /// The latest request for the handler that has ended; nil if there is none, or if the log cannot be read.
    let latest: MonitorEntry?
    /// The last lines of the output; nil if they cannot be read.
    let output: [String]?

    /// How many of the output's lines are shown.
    static let outputLines = 5

    /// Asks the router about a handler, and reads the end of its output.
    init(_ status: HandlerStatus, from router: RouterClient, _ invocation: Invocation) {
        var filter = MonitorFilter()
        filter.handler = status.id
        self.status = status
        latest = router.loggedRequest(filter)
        // Another machine's files are not accessible here.
        output = invocation.host == nil ? router.lastOutput(of: status.id, lines: Self.outputLines) : nil
    }

    var json: JSON {
        let more = [("latest", latest?.json ?? .null), ("output", output.map(JSON.strings) ?? .null)]
        guard case .object(let members) = JSON(status) else { return .object(more) }
        return .object(members + more)
    }

    /// Prints the facts as several lines of text.
    func print(to output: StandardOutput, _ style: TerminalStyle) {
        let width = output.isTerminal ? output.width - 1 : .max
        let isRunning = status.state != .known(.notRunning)
        output.print("\(style.show(isRunning ? "●" : "○", as: status.meaning)) \(status.id.printable)")
        for (label, text) in rows + status.notes.map({ ("", $0) }) {
            for (number, line) in text.printable.wrapped(to: width - Self.labelWidth - 2).enumerated() {
                let head = number == 0 && !label.isEmpty ? "\(label): " : ""
                output.print(head.padded(Self.labelWidth + 2, atStart: true) + line)
            }
        }
        guard let lines = self.output, !lines.isEmpty else { return }
        output.print("")
        for line in lines { output.print(line.printable.keepingBeginning(width)) }
    }

    private static let labelWidth = 10

    private var state: String {
        let state = status.state.rawValue
        return status.since.map { translated("\(state) since \(LocalTime.text($0))") } ?? state
    }

    private var rows: [(label: String, text: String)] {
        var rows = [(translated("State"), state)]
        if let pid = status.pid { rows.append((translated("Process"), String(pid))) }
        if let memory = status.memoryText { rows.append((translated("Memory"), memory)) }
        if !status.backgroundTasks.isEmpty {
            rows.append((translated("Tasks"), status.backgroundTasks.joined(separator: ", ")))
        }
        if let end = status.lastEnd { rows.append((translated("Ended"), end)) }
        if let reason = status.endReason { rows.append(("", reason)) }
        if let latest {
            let request = RequestLine(latest)
            rows += [(translated("Latest"), request.sentence), (translated("Outcome"), request.result)]
        }
        return rows
    }
}

extension RouterClient {
    /// Returns the last lines that a handler has written; nil if they cannot be read, or if its process writes elsewhere.
    fileprivate func lastOutput(of id: String, lines count: Int) -> [String]? {
        do {
            let place = try call(LifecycleInterface.output, id)
            guard !place.isElsewhere else { return nil }
            var bytes: [UInt8] = []
            let add = { (piece: ArraySlice<UInt8>) in
                bytes += piece
                return bytes.count < Self.largestEnd
            }
            if let identifier = place.journal {
                try JournalProgram(identifier, last: count).run(isSilent: true, add)
            } else if let path = place.file {
                var file = HandlerOutputFile(path)
                try file.read(last: count, add)
            } else {
                return nil
            }
            return String(decoding: bytes, as: UTF8.self).unicodeScalars.split { $0 == "\n" }.map { String($0) }
        } catch {
            // The status is worth printing even without the output.
            return nil
        }
    }

    /// Reading stops at this many bytes, so longer lines are cut off.
    private static let largestEnd = 1 << 20
}
