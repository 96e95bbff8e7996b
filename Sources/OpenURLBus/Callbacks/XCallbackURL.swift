package import RFC1808

/// Names from x-callback-url (revision 3 of the draft): a program opens a URL, and the handler answers by opening one
/// of the program's URLs.
package enum XCallbackURL {
    /// The host of these URLs.
    package static let host = "x-callback-url"
    /// The scheme of answers to the router's calls. Such a URL contains a secret.
    package static let replyScheme = "openurl-reply"

    /// Returns whether a string begins like an answer to a call. It need not be a URL.
    package static func isReply(_ text: String) -> Bool {
        let beginning = text.utf8.prefix(replyScheme.utf8.count + 1)
        return String(Substring(beginning)).lowercased() == "\(replyScheme):"
    }
}

extension GenericURL {
    /// Whether the URL follows x-callback-url.
    package var isXCallback: Bool { host?.lowercased() == XCallbackURL.host }

    /// Returns the URL without the parameters that x-callback-url reserves, whose names begin with `x-`.
    package func removingXParameters() throws(OpenURLError) -> GenericURL {
        guard let query else { return self }
        let pairs = query.split(separator: "&", omittingEmptySubsequences: false)
        let kept = pairs.filter { pair in
            let name = pair.prefix { $0 != "=" }
            return (FormParameters.decoded(name) ?? String(name)).prefix(2).lowercased() != "x-"
        }
        return kept.count == pairs.count ? self : try replacingQuery(with: kept.map(String.init))
    }

    /// Returns the URL with more parameters at the end of its query.
    ///
    /// - Throws: ``OpenURLError/Code/limitsExceeded`` if this makes the URL too long.
    package func appending(_ parameters: [(name: String, value: String)]) throws(OpenURLError) -> GenericURL {
        guard !parameters.isEmpty else { return self }
        let before = query.map { $0.isEmpty ? [] : [String($0)] } ?? []
        let url = try replacingQuery(with: before + parameters.map { FormParameters.pair($0.name, $0.value) })
        guard url.description.utf8.count <= Self.defaultMaximumLength else {
            throw OpenURLError(
                .limitsExceeded,
                "the URL with its parameters is longer than \(Self.defaultMaximumLength) bytes"
            )
        }
        return url
    }
}
