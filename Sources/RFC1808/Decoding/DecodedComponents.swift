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

    /// The text of a component with its escapes decoded once; `nil` if the component is absent, `""` if it is empty.
    ///
    /// A `+` is a plus, in a query, too: forms write a space like that, URLs do not. The host of an IPv6 literal comes without
    /// its brackets, a zone after a plain `%`, as `getaddrinfo` takes it.
    ///
    /// Text of many lines, such as the body of a mail, holds control characters. It is in the bytes:
    ///
    /// ```swift
    /// let url = try GenericURL("mailto:a@b.c?body=one%0D%0Atwo")
    /// let body = url.queryItems.first(named: "body")?.value?.decodedBytes() ?? []
    /// String(validating: body, as: UTF8.self)     // "one\r\ntwo"; nil for what is not UTF-8
    /// ```
    ///
    /// - Throws: ``PercentDecodingError`` if the bytes are not UTF-8, hold a control character, or are a host with a
    ///   separator. ``decodedBytes(_:)`` always answers.
    public func decoded(_ component: Component) throws(PercentDecodingError) -> String? {
        component == .host ? try decodedHost() : try raw(component)?.percentDecodedText()
    }

    /// The bytes of a component with its escapes decoded once, of a host without brackets; `nil` if the component is absent.
    public func decodedBytes(_ component: Component) -> [UInt8]? {
        (component == .host ? hostWithoutBrackets : raw(component))?.percentDecodedBytes
    }

    /// A component as it was written.
    func raw(_ component: Component) -> Substring? {
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
    private func decodedHost() throws(PercentDecodingError) -> String? {
        guard let host = hostWithoutBrackets else { return nil }
        let isLiteral = host != self.host
        let text = try host.percentDecodedText()
        for (offset, byte) in text.utf8.enumerated()
        where byte.separatesInHost || byte == UInt8(ascii: ":") && !isLiteral {
            throw host.decodingError(.separatorInHost, atDecodedOffset: offset)
        }
        return text
    }

    private var hostWithoutBrackets: Substring? {
        host.map { $0.utf8.first == UInt8(ascii: "[") ? $0.dropFirst().dropLast() : $0 }
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
