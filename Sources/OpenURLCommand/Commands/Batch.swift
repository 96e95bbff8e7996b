internal import DBus

/// Several things that a command does one after the other, and how it tells what became of each.
struct Batch {
    /// What a thing is called in the JSON of one that failed.
    let key: String
    let printsJSON: Bool
    /// Whether nothing is said on standard error.
    var isQuiet = false
    let invocation: Invocation

    /// Does something with each, whatever became of the ones before, and tells of those that failed: in JSON on standard
    /// output if the command prints JSON, else on standard error.
    ///
    /// - Parameter name: the thing as it was given.
    /// - Returns: the exit status of the first failure, 0 without one.
    func perform<Item>(
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
                    invocation.errors.print(items.count > 1 ? "\(name(item)): \(error.message)" : error.message)
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
