internal import DBus
internal import OpenURLBus

/// An object through which a caller follows and cancels something that it has asked for. This is the handle at one
/// path.
///
/// It belongs to the router's actor.
final class RequestHandle {
    let path: ObjectPath
    /// The only connection that may use this handle.
    let owner: BusName
    /// Whether the owner has cancelled. This stays true.
    private(set) var isCancelled = false
    /// Withdraws what the owner has asked for, at the stage that it has reached. Each stage sets this closure and
    /// removes it, and looks at ``isCancelled`` first when it begins.
    var withdraw: (() -> Void)?

    init(_ path: ObjectPath, of owner: BusName) {
        self.path = path
        self.owner = owner
    }

    /// Cancels the request on behalf of the owner. A second call does nothing.
    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        withdraw?()
    }
}
