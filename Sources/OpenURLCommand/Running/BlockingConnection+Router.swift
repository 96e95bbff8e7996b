internal import DBus
internal import OpenURLBus
internal import URLOpener

extension Duration {
    /// About thirty years, for a wait that only an event ends.
    static let endless = Duration.seconds(1_000_000_000)
}

extension BlockingConnection {
    /// Waits for signals of the router until Ctrl-C, or until the condition holds.
    ///
    /// - Throws: an error if the router exits or the connection ends.
    func followRouter(_ interrupt: Interrupt?, until isDone: () -> Bool) throws(CallError) {
        var isInterrupted = false
        _ = try wait(
            forSignalsOf: RouterService.name,
            timeout: .endless,
            watching: {
                guard let interrupt else { return [] }
                return [
                    (
                        descriptor: interrupt.descriptor,
                        isReadable: { if interrupt.take() { isInterrupted = true } }
                    )
                ]
            },
            until: { isInterrupted || isDone() }
        )
    }
}
