internal import DBus
internal import OpenURLBus

/// The router on the bus, as the way back to a URL's sender. Calls do not start the router.
struct RouterWayBack: WayBack {
    private static let router = RemoteObject(RouterService.name, RouterService.path, startsService: false)

    let connection: Connection

    func take(_ request: String, activationToken: String?) async throws(OpenURLError) {
        var tokens = OpenOptions()
        tokens.activationToken = activationToken
        let input = Arguments(request, FreedesktopApplication.platformData(tokens))
        do throws(CallError) {
            try await connection.call(LifecycleInterface.returnToSource, on: Self.router, input)
        } catch .remote(let error) {
            throw OpenURLError(error) ?? OpenURLError(.notAllowed, "the router did not return to the sender: \(error)")
        } catch {
            throw OpenURLError(.notAllowed, "the router did not return to the sender: \(error)")
        }
    }
}
