internal import URLOpener

/// Text in a terminal's columns.
extension String {
    /// Pads the text with spaces to the given width in columns.
    func padded(_ width: Int, atStart: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - columns))
        return atStart ? spaces + self : self + spaces
    }

    /// Cuts the text to the given width by removing its end.
    func keepingBeginning(_ width: Int) -> String {
        columns <= width ? self : prefix(columns: max(0, width - 1)) + "…"
    }

    /// Cuts the text to the given width by removing its beginning.
    func keepingEnd(_ width: Int) -> String {
        columns <= width ? self : "…" + suffix(columns: max(0, width - 1))
    }

    /// Cuts the text to the given width by removing its middle.
    func keepingEnds(_ width: Int) -> String {
        guard columns > width else { return self }
        return "\(prefix(columns: width / 2))…\(suffix(columns: max(0, width - 1 - width / 2)))"
    }

    /// Splits the text into lines that fit the given width, between words where possible. There is at least one line.
    func wrapped(to width: Int) -> [String] {
        let width = max(1, width)
        var lines: [String] = []
        var rest = self[...]
        while rest.columns > width {
            // A single character may be wider than the line.
            let full = max(rest.prefix(columns: width).endIndex, rest.index(after: rest.startIndex))
            let space = rest[full...].first == " " ? full : rest[..<full].lastIndex(of: " ") ?? rest.startIndex
            let end = space > rest.startIndex ? space : full
            lines.append(String(rest[..<end]))
            rest = rest[end...].drop { $0 == " " }
        }
        return lines + [String(rest)]
    }
}
