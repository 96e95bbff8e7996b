internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// `org.openurl.Registry1`: the handlers, and the schemes that they claim.
enum RegistryObject {
    static func interface(_ router: URLRouter, _ store: RegistryStore) -> ExportedInterface {
        let registrations = Registrations(store: store)
        return ExportedInterface(
            RegistryInterface.name,
            [
                .method(RegistryInterface.register, of: router) { router, call, path in
                    try await registrations.register(path, isReplacing: false, call.sender, router)
                },
                .method(RegistryInterface.replace, of: router) { router, call, path in
                    try await registrations.register(path, isReplacing: true, call.sender, router)
                },
                .method(RegistryInterface.registerTemporarily, of: router) { router, call, path in
                    try await registrations.registerTemporarily(path, call.sender, router)
                },
                .method(RegistryInterface.claim, of: router) { router, call, input in
                    let (schemes, handler, program) = input.values
                    return try await registrations.claim(schemes, handler, program, call.sender, router)
                },
                .method(RegistryInterface.check, of: router) { router, _, text in
                    try await registrations.check(text, router)
                },
                .method(RegistryInterface.unregister, of: router) { router, call, id in
                    try await registrations.unregister(id, call.sender, router)
                    return Empty()
                },
                .method(RegistryInterface.listHandlers, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) {
                        await registrations.entries(for: call.sender, router)
                    }
                },
                .method(RegistryInterface.listSchemes, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) {
                        await registrations.claimants(for: call.sender, router)
                    }
                },
                .method(RegistryInterface.setDefault, of: router) { router, _, input in
                    try await registrations.setDefault(input.values.0, input.values.1, router)
                    return Empty()
                },
                .method(RegistryInterface.reload, of: router) { router, _, _ in await registrations.reload(router) },
                .signal(RegistryInterface.changed),
            ]
        )
    }
}
