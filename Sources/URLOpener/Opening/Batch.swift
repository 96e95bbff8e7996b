internal import DBus

/// The items of a command line, which a command processes one at a time.
package struct Batch {
    /// The name of the item's member in the JSON of a failure.
    let key: String
    let printsJSON: Bool
    /// Whether nothing is printed on standard error.
    var isQuiet = false
    let invocation: Invocation

    package init(key: String, printsJSON: Bool, isQuiet: Bool = false, invocation: Invocation) {
        self.key = key
        self.printsJSON = printsJSON
        self.isQuiet = isQuiet
        self.invocation = invocation
    }

    /// Processes the items in order. A failure does not stop the rest.
    ///
    /// A failure is printed on standard output if the command prints JSON, and on standard error otherwise.
    ///
    /// - Parameter name: returns the item as the command line names it.
    /// - Returns: the exit status of the first failure, or 0 if there is none.
    package func perform<Item>(
        _ items: [Item],
        name: (Item) -> String,
        _ body: (Item) throws(CommandFailure) -> Void
    ) -> Int32 {
        var status: Int32 = 0
        for item in items {
            do throws(CommandFailure) {
                try body(item)
            } catch {
                if status == 0 { status = error.exitStatus }
                if printsJSON {
                    invocation.output.print(error.json(of: name(item), as: key).text)
                } else if !isQuiet {
                    invocation.errors.print(error, of: items.count > 1 ? name(item) : nil)
                }
            }
            invocation.output.flush()
        }
        return status
    }
}

extension CommandFailure {
    fileprivate func json(of name: String, as key: String) -> JSON {
        .object([
            (key, .string(name)),
            ("error", .string(self.name.rawValue)),
            ("message", .string(message)),
            ("exit", .number(exitStatus)),
        ])
    }
}
