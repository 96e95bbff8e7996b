internal import OpenURLBus

extension OpenResult {
    /// The handler, how it was reached, and each step with the milliseconds since the router accepted the URL.
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

    /// The result as an object; a URL that was queued has a number besides.
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
