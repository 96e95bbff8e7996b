/// Rows of text: in columns under a header for a person, and separated by tabs for a program.
struct Table {
    /// The columns' names; without any, no header is printed.
    var header: [String] = []
    /// The cells of each row, as many as there are columns.
    var rows: [[String]] = []

    /// What stands in the place of a cell that has no content.
    static let absent = "–"

    /// Prints the table; nothing in it is obeyed by a terminal or taken for a separator.
    func print(to output: StandardOutput) {
        let rows = rows.map { $0.map(\.printable) }
        guard output.isTerminal else {
            for row in rows { output.print(row.joined(separator: "\t")) }
            return
        }
        let lines = header.isEmpty || rows.isEmpty ? rows : [header] + rows
        var widths: [Int] = []
        for line in lines {
            for (column, cell) in line.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        for line in lines {
            var text = ""
            for (column, cell) in line.enumerated() {
                text += cell
                guard column < line.count - 1 else { continue }
                text += String(repeating: " ", count: widths[column] - cell.count + 2)
            }
            output.print(text)
        }
    }
}
