internal import DBus
internal import OpenURLBus

/// The object through which a caller follows and cancels something that it has asked for: the handle at one path.
///
/// A handle belongs to the router's actor.
final class RequestHandle {
    let path: ObjectPath
    /// The only connection that may use the handle.
    let owner: BusName
    /// Whether the owner has cancelled. A handle stays cancelled.
    private(set) var isCancelled = false
    /// Withdraws what the owner has asked for, at the stage that it has reached. The stage sets the closure and removes it; a
    /// stage that begins looks at ``isCancelled`` first.
    var withdraw: (() -> Void)?

    init(_ path: ObjectPath, of owner: BusName) {
        self.path = path
        self.owner = owner
    }

    /// Cancels for the owner. Does nothing the second time.
    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        withdraw?()
    }
}
