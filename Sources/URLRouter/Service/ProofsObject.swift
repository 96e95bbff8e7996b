internal import DBus
internal import OpenURLBus

/// `org.openurl.Proofs1`: the links to web pages that go to handlers.
enum ProofsObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            ProofsInterface.name,
            [
                .method(ProofsInterface.list, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) { try await router.provenLinks.list() }
                },
                .method(ProofsInterface.decide, of: router) { router, _, input in
                    let (host, id, word) = input.values
                    let decision = LinkProof.Decision(rawValue: word)
                    guard word.isEmpty || decision != nil else {
                        throw RemoteError(.invalidArguments, LinkProof.Decision.problem(with: word))
                    }
                    try await router.provenLinks.decide(host, id, decision)
                    return Empty()
                },
                .method(ProofsInterface.fetch, of: router) { router, call, id in
                    try await router.callers.querying(call.sender) {
                        try await router.provenLinks.fetch(id)
                        return Empty()
                    }
                },
            ]
        )
    }
}
