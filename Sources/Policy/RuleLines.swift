/// The lines of a file of rules, as they were written.
package struct RuleLines: Sendable, Hashable {
    package var lines: [String]

    /// Splits a text into lines, ignoring a byte order mark at the beginning.
    package init(_ text: String = "") {
        let scalars = text.unicodeScalars
        lines = scalars.dropFirst(scalars.first == "\u{FEFF}" ? 1 : 0)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { line in
                (line.last == "\r" ? line.dropLast() : line).split(separator: "\r", omittingEmptySubsequences: false)
            }
            .map { String($0) }
        if lines.last == "" { lines.removeLast() }
    }

    /// The text, with a line break at the end of each line.
    package var text: String { lines.map { "\($0)\n" }.joined() }
}
