internal import OpenURLBus

/// A bar that shows a handler's progress on the last line of a terminal.
final class ProgressBar {
    private let errors: StandardError
    private(set) var isShown = false

    /// Creates a bar that shows nothing yet.
    init(on errors: StandardError) {
        self.errors = errors
    }

    /// Shows a report in place of the previous one.
    func show(_ report: ProgressReport) {
        isShown = true
        errors.draw(Self.line(report, width: terminalWidth(of: errors.descriptor)))
    }

    /// Removes the bar, so that other output starts at the beginning of the line.
    func remove() {
        if isShown { errors.draw("") }
        isShown = false
    }

    /// The length of the bar in characters.
    private static let length = 20

    /// Returns the line for a report, cut to a terminal's width.
    static func line(_ report: ProgressReport, width: Int) -> String {
        let done = Int(report.fraction * Double(length))
        let bar = String(repeating: "#", count: done) + String(repeating: "-", count: length - done)
        let percent = "\(Int(report.fraction * 100))"
        let padding = String(repeating: " ", count: max(0, 3 - percent.count))
        let line = "[\(bar)] \(padding)\(percent) %"
        let text = report.message.isEmpty ? line : "\(line)  \(report.message.printable)"
        // A line that fills the last column would wrap to the next line.
        return String(text.prefix(columns: max(0, width - 1)))
    }
}
