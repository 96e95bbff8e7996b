/// Rows of text.
///
/// For a person, the columns are aligned under a header. For a program, cells are separated by tabs, without a header.
package struct Table {
    /// The names of the columns; empty for a table without a header.
    package var header: [String] = []
    /// The cells of each row, one for each column.
    package var rows: [[String]] = []

    package init(header: [String] = [], rows: [[String]] = []) {
        self.header = header
        self.rows = rows
    }

    /// Stands in a cell that has no value.
    package static let absent = "–"

    /// Prints the table. Controls in a cell are escaped, including tabs and line breaks.
    package func print(to output: StandardOutput) {
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
