internal import DBus
internal import OpenURLBus

/// An object through which a caller follows and cancels something that it has asked for.
///
/// It belongs to the router's actor.
final class RequestHandle {
    let token: HandleToken
    /// The only connection that may use this handle.
    let owner: BusName
    /// Whether the owner has cancelled. This stays true.
    private(set) var isCancelled = false
    /// Withdraws what the owner has asked for, at the stage that it has reached. Each stage sets this closure and
    /// removes it, and looks at ``isCancelled`` first when it begins.
    var withdraw: (() -> Void)?

    init(_ token: HandleToken, of owner: BusName) {
        self.token = token
        self.owner = owner
    }

    /// The handle's path. Few handles ever need it, because it appears only in signals.
    var path: ObjectPath {
        // Only a unique name gets a handle, so it has a path.
        RequestInterface.path(of: owner, token) ?? RequestInterface.root
    }

    /// Cancels the request on behalf of the owner. A second call does nothing.
    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        withdraw?()
    }
}
