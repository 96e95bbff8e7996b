internal import OpenURLBus
internal import SchemeRegistry

/// Decides from the manifest which senders a handler accepts.
///
/// Only a handler has an identity that a manifest can refer to. All other programs are treated as one sender without a
/// name.
extension Handler {
    /// Checks that the handler accepts URLs from a sender (`OUReach`, `OUAllowedSources`).
    ///
    /// - Parameters:
    ///   - sender: the handler that sends the URL; nil for every other program.
    ///   - callerClass: the class of the program that sends the URL.
    /// - Throws: `notAllowed`; for a sender that must not learn that the handler exists, `noHandler`.
    func checkAccess(of sender: BundleIdentifier?, _ callerClass: CallerClass) throws(OpenURLError) {
        let isRefusedByReach = reach == .local && callerClass.isConfined
        let isAllowed = allowedSources.map { allowed in
            sender.map { sender in allowed.contains { $0.matches(sender) } } ?? false
        }
        guard isRefusedByReach || isAllowed == false else { return }
        if callerClass.isConfined { throw OpenURLError.noReachableHandler }
        throw OpenURLError(.notAllowed, "\(id) takes no URLs from \(sender?.rawValue ?? "this program")")
    }

    /// Returns whether this handler, as a sender, may ask who handles a scheme (`LSApplicationQueriesSchemes`).
    func mayQuery(_ scheme: String?) -> Bool {
        manifest.queriesSchemes.contains { $0.rawValue == scheme }
    }
}
