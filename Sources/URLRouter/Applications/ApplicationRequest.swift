internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// A request whose URL goes to one of the desktop's applications, or to a handler's command.
struct ApplicationRequest {
    let request: OpenRequest
    let url: GenericURL
    /// The application, or a handler with a command.
    let claimant: Claimant
    /// The application's desktop entry: either the claimant itself, or the entry that a handler's manifest names. Nil
    /// for any other handler, and for an entry that does not exist.
    let application: DesktopEntry?
    /// The command that opens the URL instead of the application's usual one; nil for the usual one.
    let command: ExecCommand?

    init(_ request: OpenRequest, _ destination: Destination, _ application: DesktopEntry?) {
        self.request = request
        url = destination.delivered
        claimant = destination.claimant
        command = destination.manner?.command
        self.application = application
    }

    var id: String { claimant.id }

    /// The name of the application's desktop entry, or of the claimant if there is none.
    var applicationID: String { application?.id.rawValue ?? id }

    var options: OpenOptions { request.options }
    var account: String { request.account }
    var isCancelled: Bool { request.isCancelled }
    var caller: UInt32? { request.caller }

    /// The error for a cancelled request.
    var cancellation: OpenURLError { request.wasHandedOver ? lateCancellation : .withdrawn }

    /// The error for a request that was cancelled when its receiver already had the URL.
    var lateCancellation: OpenURLError {
        OpenURLError(.cancelled, "the request was cancelled; \(id) has the URL and may still open it")
    }

    /// Time limit for opening the URL.
    var timeout: Duration { request.timeout }

    /// The time left until the deadline.
    var left: Duration { ContinuousClock.now.duration(to: request.deadline) }

    func result(_ way: OpenResult.Way) -> OpenResult {
        OpenResult(handler: id, way: way, reply: [:], trace: request.trace)
    }
}
