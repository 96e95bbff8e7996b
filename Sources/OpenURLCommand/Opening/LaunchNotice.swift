internal import DBus
internal import OpenURLBus
internal import RFC1808

/// Tells a person who waits which handler is starting.
struct LaunchNotice {
    let url: String
    /// The handler, where the caller chose one.
    let handler: String?

    /// Prints the handler that gets the URLs of the scheme; nothing where there is none.
    func print(to errors: StandardError, asking router: RouterClient) {
        do throws(CommandFailure) {
            guard let id = try id(asking: router) else { return }
            errors.print("starting \(id) …")
        } catch {
            // What is wrong with the router is told when the call itself fails.
        }
    }

    private func id(asking router: RouterClient) throws(CommandFailure) -> String? {
        if let handler { return handler }
        guard let scheme = GenericURL(url)?.lowercasedScheme else { return nil }
        return try router.call(RegistryInterface.listSchemes, Empty(), timeout: .seconds(1))[scheme]?.first
    }
}
