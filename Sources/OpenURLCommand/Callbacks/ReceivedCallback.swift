internal import OpenURLBus
internal import RFC1808
internal import URLOpener

/// A callback that has come.
struct ReceivedCallback {
    let url: GenericURL
    /// The facts about the program that brought the callback; empty for a callback that did not come through the router.
    var details = CallbackDetails()

    /// The failure that the server reports with the callback (RFC 6749 section 4.1.2.1); nil for a success.
    var refusal: String? {
        let parameters = FormParameters(url)
        guard let error = parameters["error"] else { return nil }
        return parameters["error_description"].map { "\(error): \($0)" } ?? error
    }

    /// The callback for `--json`.
    var json: JSON {
        let parameters = FormParameters(url).members.map { (name: $0.name, value: JSON.string($0.value)) }
        var members = [(name: "url", value: JSON.string(url.description)), (name: "query", value: .object(parameters))]
        members.append((name: "source", value: JSON(details.source)))
        members.append((name: "source-application", value: details.sourceApplication.map(JSON.string) ?? .null))
        members.append((name: "activation-token", value: details.activationToken.map(JSON.string) ?? .null))
        return .object(members)
    }
}
