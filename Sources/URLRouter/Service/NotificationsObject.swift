internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// `org.openurl.Notifications1`: the handlers' own notifications.
enum NotificationsObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            NotificationsInterface.name,
            [
                .method(NotificationsInterface.schedule, of: router) { router, call, input in
                    let (id, notification) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.localNotifications.schedule(notification, of: subject, caller: call.sender)
                    }
                },
                .method(NotificationsInterface.cancel, of: router) { router, call, input in
                    let (id, identifier) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.localNotifications.cancel(identifier, of: subject)
                        return Empty()
                    }
                },
                .method(NotificationsInterface.cancelAll, of: router) { router, call, id in
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.localNotifications.cancel(nil, of: subject)
                        return Empty()
                    }
                },
                .method(NotificationsInterface.list, of: router) { router, call, id in
                    let handler =
                        id.isEmpty
                        ? await router.callers.ownHandler(of: call.sender)
                        : try await router.callers.identifier(id, actingAs: call.sender).rawValue
                    return try await router.callers.querying(call.sender) {
                        try await router.localNotifications.list(of: handler)
                    }
                },
            ]
        )
    }
}
