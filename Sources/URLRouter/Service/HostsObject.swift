internal import DBus
internal import OpenURLBus

/// `org.openurl.Hosts1`: URLs to other hosts and from other hosts.
enum HostsObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            HostsInterface.name,
            [
                .method(HostsInterface.list, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) { try await router.hosts.listed() }
                },
                .method(HostsInterface.problems, of: router) { router, _, _ in router.hosts.problems },
                .method(HostsInterface.add, of: router) { router, _, input in
                    try await router.hosts.add(input.values.0, input.values.1)
                    return Empty()
                },
                .method(HostsInterface.remove, of: router) { router, _, name in
                    try await router.hosts.remove(name)
                    return Empty()
                },
                .method(HostsInterface.receive, of: router) { router, _, input in
                    try await router.hosts.receive(input.values.0, input.values.1)
                },
                .method(HostsInterface.appeared, of: router) { router, call, input in
                    let (name, requests) = input.values
                    try await router.hosts.appeared(name, requests, caller: call.sender)
                    return Empty()
                },
            ]
        )
    }
}
