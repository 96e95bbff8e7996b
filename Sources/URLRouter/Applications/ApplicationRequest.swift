internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// A request whose URL goes to an application of the desktop, or to the command of a handler.
struct ApplicationRequest {
    let request: OpenRequest
    let url: GenericURL
    /// The application, or a handler with a command.
    let claimant: Claimant
    /// The desktop entry of the application: the claimant itself, or the entry that the manifest of a handler names. Nil for any other
    /// handler, and for an entry that is not there.
    let application: DesktopEntry?

    init(_ request: OpenRequest, _ destination: Destination, _ application: DesktopEntry?) {
        self.request = request
        url = destination.delivered
        claimant = destination.claimant
        self.application = application
    }

    var id: String { claimant.id }

    /// The name of the application's desktop entry; that of the claimant if there is no entry.
    var applicationID: String { application?.id.rawValue ?? id }

    var options: OpenOptions { request.options }
    var account: String { request.account }
    var isCancelled: Bool { request.isCancelled }
    var caller: UInt32? { request.caller }

    /// The outcome of a cancelled request.
    var cancellation: OpenURLError {
        request.wasHandedOver
            ? OpenURLError(.cancelled, "the request was cancelled; \(id) has the URL and may still open it")
            : .withdrawn
    }

    /// The time limit of the whole open.
    var timeout: Duration { request.timeout }

    /// The rest of the time limit.
    var left: Duration { ContinuousClock.now.duration(to: request.deadline) }

    func result(_ way: OpenResult.Way) -> OpenResult {
        OpenResult(handler: id, way: way, reply: [:], trace: request.trace)
    }
}
