internal import DBus

/// The items on a command line, which a command processes one at a time.
package struct Batch {
    /// The key of the item in the JSON for its failure.
    let key: String
    let printsJSON: Bool
    /// Whether standard error stays empty.
    var isQuiet = false
    let invocation: Invocation

    package init(key: String, printsJSON: Bool, isQuiet: Bool = false, invocation: Invocation) {
        self.key = key
        self.printsJSON = printsJSON
        self.isQuiet = isQuiet
        self.invocation = invocation
    }

    /// Processes the items in order. If one fails, the others are still processed.
    ///
    /// Failures go to standard output if the command prints JSON, and to standard error otherwise.
    ///
    /// - Parameter name: returns an item as it appears on the command line.
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
