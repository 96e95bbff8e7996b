internal import DBus
internal import OpenURLBus
internal import Policy

/// `org.openurl.Policy1`: the rules and the remembered answers.
enum PolicyObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(PolicyInterface.name, rules(router) + answers(router))
    }

    private static func rules(_ router: URLRouter) -> [ExportedInterface.Member] {
        [
            .method(PolicyInterface.rules, of: router) { router, _, _ in
                let (rules, problems) = router.permissions.listedRules()
                return Arguments(rules, problems)
            },
            .method(PolicyInterface.set, of: router) { router, _, input in
                let (source, scheme, host, word) = input.values
                guard let decision = PolicyDecision(rawValue: word) else {
                    throw RemoteError(.invalidArguments, PolicyDecision.problem(with: word))
                }
                try await router.permissions.setRule(try pattern(source, scheme, host), decision)
                return Empty()
            },
            .method(PolicyInterface.remove, of: router) { router, _, input in
                try await router.permissions.removeRule(try pattern(input.values.0, input.values.1, input.values.2))
                return Empty()
            },
            .method(PolicyInterface.reset, of: router) { router, _, _ in
                try await router.permissions.resetRules()
                return Empty()
            },
        ]
    }

    private static func answers(_ router: URLRouter) -> [ExportedInterface.Member] {
        [
            .method(PolicyInterface.answers, of: router) { router, _, _ in
                try router.permissions.listedAnswers()
            },
            .method(PolicyInterface.forget, of: router) { router, _, input in
                let (source, scheme, host) = input.values
                return try router.permissions.forget(
                    pattern(source.isEmpty ? "*" : source, scheme.isEmpty ? "*" : scheme, host)
                )
            },
            .method(PolicyInterface.question, of: router) { router, call, input in
                try await router.explainer.question(input.values.0, input.values.1, caller: call.sender)
            },
            .method(PolicyInterface.remember, of: router) { router, call, input in
                try router.permissions.remember(input.values.0, input.values.1, from: call.sender)
                return Empty()
            },
        ]
    }

    private static func pattern(_ source: String, _ scheme: String, _ host: String) throws(RemoteError) -> PolicyPattern
    {
        do throws(PolicySyntaxError) {
            return try PolicyPattern(source: source, scheme: scheme, host: host)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
    }
}
