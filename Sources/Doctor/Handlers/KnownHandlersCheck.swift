internal import DBus
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations

/// Compares the handlers that the router knows with those that this process finds.
struct KnownHandlersCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        switch evidence.listed {
        case nil: return
        case .failure(let error)?:
            findings.add(
                .handlers,
                .skip,
                "stale-router",
                translated("router"),
                translated("could not list its handlers: \(error)")
            )
        case .success?:
            for handler in evidence.temporary where isConcerned(handler) { report(handler, &findings) }
            reportDifference(&findings)
        }
    }

    private func isConcerned(_ handler: HandlerEntry) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier { return handler.id == identifier }
        return topic.schemes.contains { handler.schemes.contains($0.rawValue) }
    }

    /// Reports a handler that the router has only in memory.
    private func report(_ handler: HandlerEntry, _ findings: inout Findings) {
        let schemes = handler.schemes.map { "\($0):" }.joined(separator: ", ")
        let fact =
            handler.temporary == .known(.claim)
            ? translated(
                """
                gets \(schemes) while the program that 'openurl run' started is running; the desktop does not know about it
                """
            ) : translated("is registered until the router exits; the desktop does not know about it")
        findings.add(.handlers, .ok, "temporary", handler.id, fact)
    }

    /// Reports a problem if the handlers that the router knows differ from those that this process finds.
    private func reportDifference(_ findings: inout Findings) {
        let missing = evidence.unknown.sorted()
        let more = evidence.unfound.sorted()
        guard !missing.isEmpty || !more.isEmpty else { return }
        let (absent, extra) = (missing.joined(separator: ", "), more.joined(separator: ", "))
        let fact =
            more.isEmpty
            ? translated("does not know \(absent)")
            : missing.isEmpty
                ? translated("knows \(extra), which this program does not find")
                : translated("does not know \(absent), and knows \(extra), which this program does not find")
        findings.add(
            .handlers,
            .warn,
            "stale-router",
            translated("router"),
            fact,
            fix: PublicationCheck.reloading,
            repair: .reload
        )
    }
}
