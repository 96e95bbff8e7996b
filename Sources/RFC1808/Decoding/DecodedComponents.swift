extension GenericURL {
    /// A component that may hold escapes.
    public enum Component: String, Sendable, CaseIterable {
        /// ``GenericURL/user``.
        case user
        /// ``GenericURL/password``.
        case password
        /// ``GenericURL/host``.
        case host
        /// ``GenericURL/path``; take ``GenericURL/pathSegments`` where a `%2F` must not become a separator.
        case path
        /// ``GenericURL/parameters``.
        case parameters
        /// ``GenericURL/query``; take ``GenericURL/queryItems`` where a `%26` must not become a separator.
        case query
        /// ``GenericURL/fragment``.
        case fragment
        /// ``GenericURL/opaquePart``.
        case opaquePart
    }

    /// The text of a component with its escapes decoded once; `nil` if the component is absent.
    ///
    /// The host of an IPv6 literal comes without its brackets, a zone after a plain `%`, as `getaddrinfo` takes it.
    ///
    /// - Throws: ``PercentDecodingError`` if the bytes are not UTF-8, hold a control character, or are a host with a
    ///   separator. ``decodedBytes(_:)`` always answers.
    public func decoded(_ component: Component) throws(PercentDecodingError) -> String? {
        guard let raw = raw(component) else { return nil }
        return component == .host ? try decodedHost(raw) : try raw.percentDecodedText()
    }

    /// The bytes of a component with its escapes decoded once; `nil` if the component is absent.
    public func decodedBytes(_ component: Component) -> [UInt8]? {
        raw(component)?.percentDecodedBytes
    }

    private func raw(_ component: Component) -> Substring? {
        switch component {
        case .user: user
        case .password: password
        case .host: host
        case .path: path
        case .parameters: parameters
        case .query: query
        case .fragment: fragment
        case .opaquePart: opaquePart
        }
    }

    /// An escaped separator in a host is refused: whoever puts the decoded host into a URL, or compares it with the end
    /// of a domain, would get another host.
    private func decodedHost(_ raw: Substring) throws(PercentDecodingError) -> String {
        let isLiteral = raw.utf8.first == UInt8(ascii: "[")
        let host = isLiteral ? raw.dropFirst().dropLast() : raw
        let text = try host.percentDecodedText()
        for (offset, byte) in text.utf8.enumerated()
        where byte.separatesInHost || byte == UInt8(ascii: ":") && !isLiteral {
            throw host.decodingError(.separatorInHost, atDecodedOffset: offset)
        }
        return text
    }
}

extension UInt8 {
    /// Whether a host with this byte could be taken for another one; for a colon that depends.
    var separatesInHost: Bool {
        switch self {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
