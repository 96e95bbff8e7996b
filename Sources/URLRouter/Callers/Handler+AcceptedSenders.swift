internal import OpenURLBus
internal import SchemeRegistry

/// The rules by which a manifest allows or forbids a sender.
///
/// Only a handler has an identity that a manifest can name. Every other program is one sender, without a name.
extension Handler {
    /// Checks that the handler takes URLs from a sender (`OUReach`, `OUAllowedSources`).
    ///
    /// - Parameters:
    ///   - sender: the handler that sends; nil for every other program.
    ///   - callerClass: the kind of program that sends.
    /// - Throws: `notAllowed`.
    func checkAccess(of sender: BundleIdentifier?, _ callerClass: CallerClass) throws(OpenURLError) {
        if manifest.reach == .local, callerClass != .user, callerClass != .handler {
            let senders = "sandboxes, other hosts and programs that are not known"
            throw OpenURLError(.notAllowed, "\(id) takes no URLs from \(senders): its manifest has OUReach local")
        }
        guard let allowed = manifest.allowedSources else { return }
        guard let sender, allowed.contains(where: { $0.matches(sender) }) else {
            throw OpenURLError(.notAllowed, "\(id) takes no URLs from \(sender?.rawValue ?? "this program")")
        }
    }

    /// Whether this handler, as a sender, may ask for the handler of a scheme (`LSApplicationQueriesSchemes`).
    func mayQuery(_ scheme: String?) -> Bool {
        manifest.queriesSchemes.contains { $0.rawValue == scheme }
    }
}
