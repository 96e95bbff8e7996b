internal import URLOpener

extension Invocation {
    /// Prints sentences about a table: below it on a terminal, and on standard error if a program reads the rows.
    func print(notes: [String]) {
        guard output.isTerminal else {
            for note in notes { errors.print(note) }
            return
        }
        if !notes.isEmpty { output.print("") }
        for line in notes.flatMap({ $0.printable.wrapped(to: output.width - 1) }) { output.print(line) }
    }
}
