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
            .method(PolicyInterface.rules) { _, _ in
                let (rules, problems) = await router.policyRules()
                return Arguments(rules, problems)
            },
            .method(PolicyInterface.set) { _, input in
                let (source, scheme, host, word) = input.values
                guard let decision = PolicyDecision(rawValue: word) else {
                    throw RemoteError(.invalidArguments, PolicyDecision.problem(with: word))
                }
                try await router.setRule(try pattern(source, scheme, host), decision)
                return Empty()
            },
            .method(PolicyInterface.remove) { _, input in
                try await router.removeRule(try pattern(input.values.0, input.values.1, input.values.2))
                return Empty()
            },
            .method(PolicyInterface.reset) { _, _ in
                try await router.resetRules()
                return Empty()
            },
        ]
    }

    private static func answers(_ router: URLRouter) -> [ExportedInterface.Member] {
        [
            .method(PolicyInterface.answers) { _, _ in
                return await router.policyAnswers()
            },
            .method(PolicyInterface.forget) { _, input in
                let (source, scheme, host) = input.values
                return await router.forgetAnswers(
                    try pattern(source.isEmpty ? "*" : source, scheme.isEmpty ? "*" : scheme, host)
                )
            },
            .method(PolicyInterface.question) { call, input in
                try await router.question(input.values.0, input.values.1, caller: call.sender)
            },
            .method(PolicyInterface.remember) { call, input in
                try await router.rememberAnswer(input.values.0, input.values.1, caller: call.sender)
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
