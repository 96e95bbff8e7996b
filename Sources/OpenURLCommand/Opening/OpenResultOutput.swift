internal import OpenURLBus

extension OpenResult {
    /// Returns the result as lines for a person.
    ///
    /// The first line names the handler and says how the URL reached the handler. Each further line has a step and the
    /// milliseconds since the router accepted the URL.
    func traceLines(of url: String) -> [String] {
        let number = id.map { " \($0.printable)" } ?? ""
        let title = "\(url.printable): \(handler.printable) (\(path.rawValue)\(number))"
        return [title]
            + trace.map { phase in
                let tenths = (phase.microseconds + 50) / 100
                let milliseconds = "\(tenths / 10).\(tenths % 10)"
                let padding = String(repeating: " ", count: max(0, 8 - milliseconds.count))
                return "\(padding)\(milliseconds) ms  \(phase.name.printable)\(phase.answer ? "" : "  no")"
            }
    }

    /// Returns the result as an object. The object of a queued URL also has the number of the URL.
    func json(of url: String) -> JSON {
        let phases = trace.map { phase in
            JSON.object([
                ("phase", .string(phase.name)),
                ("microseconds", .number(phase.microseconds)),
                ("answer", .boolean(phase.answer)),
            ])
        }
        let number = id.map { [("id", JSON.string($0))] } ?? []
        return .object(
            [("url", .string(url)), ("handler", .string(handler)), ("path", .string(path.rawValue))] + number
                + [("reply", JSON(reply)), ("trace", .array(phases))]
        )
    }
}
