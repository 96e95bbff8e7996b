internal import OpenURLBus
internal import RFC1808
internal import URLOpener

/// A callback that has arrived.
struct ReceivedCallback {
    let url: GenericURL
    /// Facts about the program that sent the callback; empty if it did not come through the router.
    var details = CallbackDetails()

    /// The error that the server reports in the callback (RFC 6749 section 4.1.2.1); nil if it succeeded.
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
