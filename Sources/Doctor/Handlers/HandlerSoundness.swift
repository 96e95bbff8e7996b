internal import SchemeRegistry
internal import Translations

/// Reports how many handlers are registered, if nothing is wrong with them.
struct HandlerSoundness: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        // Only these handlers have been examined.
        let count = files.registry.handlers.count { !$0.isFixed && evidence.concerns($0) }
        if topic != nil, count == 0 { return }
        let registered =
            count == 0
            ? translated("you have not registered any handlers of your own")
            : translated(
                count,
                one: "\(count) handler is registered and can be started",
                other: "\(count) handlers are registered and can be started"
            )
        findings.addSoundness(of: .handlers, "handlers", translated("handlers"), registered)
    }
}
