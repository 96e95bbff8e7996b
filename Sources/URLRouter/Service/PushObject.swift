internal import DBus
internal import OpenURLBus

/// `org.openurl.Push1`, and the connector of UnifiedPush.
enum PushObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            PushInterface.name,
            [
                .method(PushInterface.register, of: router) { router, call, input in
                    let (id, options) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.pushes.register(subject, options)
                    }
                },
                .method(PushInterface.unregister, of: router) { router, call, input in
                    let (id, instance) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.pushes.unregister(subject, instance)
                        return Empty()
                    }
                },
                .method(PushInterface.list, of: router) { router, call, _ in
                    try await router.pushes.list(for: call.sender)
                },
            ]
        )
    }

    /// The interfaces through which distributors reach the router. A distributor may be any program: it shows that it
    /// may call with the token, which only the distributor and the router know.
    static func connectors(_ router: URLRouter) -> [ExportedInterface] {
        [
            ExportedInterface(
                UnifiedPush.connector,
                [
                    .method(UnifiedPush.message, of: router) { router, _, arguments in
                        let id = arguments["id"]?.string ?? ""
                        let message = arguments["message"].flatMap(bytes) ?? []
                        try await router.pushes.receive(message, arguments["token"]?.string ?? "", id: id)
                        return id.isEmpty ? [:] : ["id": .string(id)]
                    },
                    .method(UnifiedPush.newEndpoint, of: router) { router, _, arguments in
                        let endpoint = arguments["endpoint"]?.string ?? ""
                        try await router.pushes.take(endpoint: endpoint, arguments["token"]?.string ?? "")
                        return [:]
                    },
                    .method(UnifiedPush.unregistered, of: router) { router, _, arguments in
                        try await router.pushes.end(arguments["token"]?.string ?? "")
                        return [:]
                    },
                ]
            ),
            ExportedInterface(
                UnifiedPush.connector1,
                [
                    .method(UnifiedPush.message1, of: router) { router, _, input in
                        let (token, message, id) = input.values
                        try await router.pushes.receive(message, token, id: id)
                        return Empty()
                    },
                    .method(UnifiedPush.newEndpoint1, of: router) { router, _, input in
                        let (token, endpoint) = input.values
                        try await router.pushes.take(endpoint: endpoint, token)
                        return Empty()
                    },
                    .method(UnifiedPush.unregistered1, of: router) { router, _, token in
                        try await router.pushes.end(token)
                        return Empty()
                    },
                ]
            ),
        ]
    }

    /// Returns the bytes of an array of bytes, or of a string. The specification's text calls the message a string.
    private static func bytes(_ value: Value) -> [UInt8]? {
        if let text = value.string { return Array(text.utf8) }
        guard case .array(let elements, "y") = value else { return nil }
        return elements.map { if case .byte(let byte) = $0 { byte } else { 0 } }
    }
}
