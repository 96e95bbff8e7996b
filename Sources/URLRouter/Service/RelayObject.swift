internal import DBus
internal import OpenURLBus

/// `org.openurl.Relay1`.
enum RelayObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            RelayInterface.name,
            [
                .method(RelayInterface.openURL, of: router) { router, call, input in
                    let (source, url, options) = input.values
                    return try await router.relays.openURL(
                        source,
                        url,
                        options,
                        caller: call.sender,
                        bytes: call.argumentBytes,
                        abandon: call.cancelTask
                    )
                },
                .method(RelayInterface.canOpenURL, of: router) { router, _, input in
                    try await router.relays.canOpenURL(input.values.0, input.values.1)
                },
                .method(RelayInterface.requestCallback, of: router) { router, call, input in
                    let (source, url, options) = input.values
                    return try await router.relays.requestCallback(source, url, options, caller: call.sender)
                },
            ]
        )
    }
}
