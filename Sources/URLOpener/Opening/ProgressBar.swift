internal import OpenURLBus

/// The progress of a handler's work, in the last line of a terminal.
final class ProgressBar {
    private let errors: StandardError
    private(set) var isShown = false

    /// Creates a bar that shows nothing yet.
    init(on errors: StandardError) {
        self.errors = errors
    }

    /// Shows a report in place of the one before.
    func show(_ report: ProgressReport) {
        isShown = true
        errors.draw(Self.line(report, width: terminalWidth(of: errors.descriptor)))
    }

    /// Removes the bar, so that other output can begin at the start of the line.
    func remove() {
        if isShown { errors.draw("") }
        isShown = false
    }

    /// The number of characters in the bar.
    private static let length = 20

    /// Returns the line for a report, which fits into a terminal of a width.
    static func line(_ report: ProgressReport, width: Int) -> String {
        let done = Int(report.fraction * Double(length))
        let bar = String(repeating: "#", count: done) + String(repeating: "-", count: length - done)
        let percent = "\(Int(report.fraction * 100))"
        let padding = String(repeating: " ", count: max(0, 3 - percent.count))
        let line = "[\(bar)] \(padding)\(percent) %"
        let text = report.message.isEmpty ? line : "\(line)  \(report.message.printable)"
        // A line that fills the last column would go on in the next line.
        return String(text.prefix(max(0, width - 1)))
    }
}
