internal import OpenURLBus
internal import SchemeRegistry

/// The rules by which a manifest allows or forbids a sender.
///
/// Only a handler has an identity that a manifest can name. Every other program is one sender, without a name.
extension Handler {
    /// Checks that the handler takes URLs from a sender (`OUAllowedSources`).
    ///
    /// - Parameter sender: the handler that sends; nil for every other program.
    /// - Throws: `notAllowed`.
    func checkAccess(of sender: BundleIdentifier?) throws(OpenURLError) {
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
