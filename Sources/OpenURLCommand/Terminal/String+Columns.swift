/// Text in a terminal's columns.
extension String {
    /// Pads the text with spaces to the given width.
    func padded(_ width: Int, atStart: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - count))
        return atStart ? spaces + self : self + spaces
    }

    /// Cuts the text to the given width by removing its end.
    func keepingBeginning(_ width: Int) -> String {
        count <= width ? self : prefix(max(0, width - 1)) + "…"
    }

    /// Cuts the text to the given width by removing its beginning.
    func keepingEnd(_ width: Int) -> String {
        count <= width ? self : "…" + suffix(max(0, width - 1))
    }

    /// Cuts the text to the given width by removing its middle.
    func keepingEnds(_ width: Int) -> String {
        count <= width ? self : "\(prefix(width / 2))…\(suffix(max(0, width - 1 - width / 2)))"
    }

    /// Splits the text into lines that fit the given width, between words where possible. There is at least one line.
    func wrapped(to width: Int) -> [String] {
        let width = max(1, width)
        var lines: [String] = []
        var rest = self[...]
        while rest.count > width {
            let line = rest.prefix(width + 1)
            let space = line.lastIndex(of: " ") ?? line.startIndex
            let end = space > line.startIndex ? space : line.index(before: line.endIndex)
            lines.append(String(rest[..<end]))
            rest = rest[end...].drop { $0 == " " }
        }
        return lines + [String(rest)]
    }
}
