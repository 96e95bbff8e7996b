internal import DBus
internal import OpenURLBus
internal import RFC1808

/// A note to a waiting user that a handler has not answered yet.
struct LaunchNotice {
    let url: String
    /// The handler on the command line, if there is one.
    let handler: String?

    /// Prints for which handler the URL is waiting; prints nothing if it has none.
    func print(to errors: StandardError, asking router: RouterClient) {
        do throws(CommandFailure) {
            guard let id = try id(asking: router) else { return }
            errors.print("waiting for \(id) …; Ctrl-C cancels")
        } catch {
            // The call that opens the URL has the same failure, and reports it.
        }
    }

    private func id(asking router: RouterClient) throws(CommandFailure) -> String? {
        if let handler { return handler }
        guard let scheme = GenericURL(url)?.lowercasedScheme else { return nil }
        return try router.call(RegistryInterface.listSchemes, Empty(), timeout: .seconds(1))[scheme]?.first
    }
}
