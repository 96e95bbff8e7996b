internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import Translations

/// A note that tells a waiting user that a handler has not answered yet.
struct LaunchNotice {
    let url: String
    /// The handler on the command line, if there is one.
    let handler: String?

    /// Prints which handler the URL is waiting for; prints nothing if there is none.
    func print(to errors: StandardError, asking router: RouterClient) {
        do throws(CommandFailure) {
            guard let id = try id(asking: router) else { return }
            errors.print(translated("waiting for \(id) …; Ctrl-C cancels"))
        } catch {
            // The call that opens the URL fails in the same way, and reports that.
        }
    }

    private func id(asking router: RouterClient) throws(CommandFailure) -> String? {
        if let handler { return handler }
        guard let scheme = GenericURL(url)?.lowercasedScheme else { return nil }
        return try router.call(RegistryInterface.listSchemes, Empty(), timeout: .seconds(1))[scheme]?.first
    }
}
