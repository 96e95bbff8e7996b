internal import OpenURLBus

extension OpenResult {
    /// The handler, how it was reached, and each step with the milliseconds since the router accepted the URL.
    func traceLines(of url: String) -> [String] {
        let title = "\(url.printable): \(handler.printable) (\(path.rawValue))"
        return [title]
            + trace.map { phase in
                let tenths = (phase.microseconds + 50) / 100
                let milliseconds = "\(tenths / 10).\(tenths % 10)"
                let padding = String(repeating: " ", count: max(0, 8 - milliseconds.count))
                return "\(padding)\(milliseconds) ms  \(phase.name.printable)\(phase.answer ? "" : "  no")"
            }
    }

    /// The result as an object.
    func json(of url: String) -> JSON {
        let phases = trace.map { phase in
            JSON.object([
                ("phase", .string(phase.name)),
                ("microseconds", .number(phase.microseconds)),
                ("answer", .boolean(phase.answer)),
            ])
        }
        return .object([
            ("url", .string(url)),
            ("handler", .string(handler)),
            ("path", .string(path.rawValue)),
            ("reply", JSON(reply)),
            ("trace", .array(phases)),
        ])
    }
}
