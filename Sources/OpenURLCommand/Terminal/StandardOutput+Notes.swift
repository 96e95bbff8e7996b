internal import URLOpener

extension StandardOutput {
    /// Prints sentences below a table; prints nothing if there are none.
    func print(notes: [String]) {
        if !notes.isEmpty { print("") }
        for note in notes {
            for line in isTerminal ? note.printable.wrapped(to: width - 1) : [note.printable] { print(line) }
        }
    }
}
