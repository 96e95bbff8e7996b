internal import Translations
internal import URLOpener

/// Rows of cells.
///
/// For people, the columns are aligned under a header and fit the terminal: long cells are cut or wrapped and, if that
/// is not enough, the last columns are left out. For programs, cells are separated by tabs, without a header.
struct Table {
    /// The columns; empty for a table that has no header and is never cut.
    var columns: [Column] = []
    /// The cells of each row, one for each column.
    var rows: [[Cell]] = []
    /// The sentence that people see if the table has no rows.
    var empty: String?

    /// Shown in a cell that has no value.
    static let absent = "–"
    /// The number of spaces between two columns.
    private static let gap = 2

    /// Prints the table. Controls in a cell are escaped, including tabs and line breaks.
    ///
    /// - Parameter isWide: whether the user wants to see every column and cell in full.
    func print(_ invocation: Invocation, isWide: Bool = false) {
        let output = invocation.output
        guard output.isTerminal else {
            for row in rows { output.print(row.map(\.raw.printable).joined(separator: "\t")) }
            return
        }
        if rows.isEmpty {
            if let empty { output.print(empty) }
            return
        }
        let style = TerminalStyle(invocation)
        let texts = rows.map { $0.map { (isWide ? $0.text : $0.brief).printable } }
        let hasHeader = !columns.isEmpty
        let columns = hasHeader ? columns : texts[0].map { _ in Column("") }
        let natural = columns.indices.map { column in
            max(columns[column].name.columns, texts.map { $0[column].columns }.max() ?? 0)
        }
        // A line that fills the last column would continue on the next line.
        let widths = isWide || !hasHeader ? natural : fitted(natural, to: output.width - 1)
        if hasHeader { output.print(line(zip(columns, widths).map { ($0.name, $1, nil) }, style)) }
        for (row, texts) in zip(rows, texts) {
            let cells = widths.indices.map { columns[$0].lines(of: texts[$0], width: widths[$0]) }
            for number in 0..<(cells.map(\.count).max() ?? 0) {
                let parts = widths.indices.map { column in
                    let text = number < cells[column].count ? cells[column][number] : ""
                    return (text, widths[column], row[column].meaning)
                }
                output.print(line(parts, style))
            }
        }
        let isCut = natural.indices.contains { column in
            column >= widths.count || columns[column].isCut && widths[column] < natural[column]
        }
        if isCut { output.print(style.dim(translated("Cut to the width of the terminal; --wide shows everything."))) }
    }

    /// Joins the parts of a line, each padded to its width.
    private func line(_ parts: [(text: String, width: Int, meaning: TerminalStyle.Meaning?)], _ style: TerminalStyle)
        -> String
    {
        var line = ""
        var spaces = 0
        for part in parts {
            if !part.text.isEmpty {
                line += String(repeating: " ", count: spaces) + style.show(part.text, as: part.meaning)
                spaces = 0
            }
            spaces += part.width - part.text.columns + Self.gap
        }
        return line
    }

    /// Returns the widths of those columns for which there is room, given the width of each column's widest cell.
    private func fitted(_ natural: [Int], to room: Int) -> [Int] {
        var widths = zip(columns, natural).map { $0.leastWidth(for: $1) }
        var left: Int { room - widths.reduce(0, +) - Self.gap * (widths.count - 1) }
        while left < 0, widths.count > 1 { widths.removeLast() }
        // The narrowest of the columns that are cut gets one more character.
        while left > 0,
            let column = widths.indices.filter({ widths[$0] < natural[$0] }).min(by: { widths[$0] < widths[$1] })
        {
            widths[column] += 1
        }
        return widths
    }
}
