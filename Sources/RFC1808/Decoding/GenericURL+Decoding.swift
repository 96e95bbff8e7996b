extension GenericURL {
    /// A component that may contain escapes.
    public enum Component: String, Sendable, CaseIterable {
        /// ``GenericURL/user``.
        case user
        /// ``GenericURL/password``.
        case password
        /// ``GenericURL/host``.
        case host
        /// ``GenericURL/path``. Use ``GenericURL/pathSegments`` if `%2F` must not become a separator.
        case path
        /// ``GenericURL/parameters``.
        case parameters
        /// ``GenericURL/query``. Use ``GenericURL/queryItems`` if `%26` must not become a separator.
        case query
        /// ``GenericURL/fragment``.
        case fragment
        /// ``GenericURL/opaquePart``.
        case opaquePart
    }

    /// Returns a component's text, with its escapes decoded once.
    ///
    /// This is `nil` if the component is absent, and `""` if it is empty. A `+` remains a plus sign, even in a query:
    /// web forms write a space as `+`, but URLs do not. An IPv6 host is returned without its brackets and with a plain
    /// `%` before its zone, as `getaddrinfo` accepts it.
    ///
    /// If the text has several lines, as the body of an email may, it contains control characters, and this method
    /// throws an error. Decode the bytes instead:
    ///
    /// ```swift
    /// let url = try GenericURL("mailto:a@b.c?body=one%0D%0Atwo")
    /// let body = url.queryItems.first(named: "body")?.value?.decodedBytes() ?? []
    /// String(validating: body, as: UTF8.self)     // "one\r\ntwo"; nil for bytes that are not UTF-8
    /// ```
    ///
    /// - Throws: ``PercentDecodingError`` if the decoded bytes are not UTF-8, if the text contains a control character,
    ///   or if a host contains a separator. ``decodedBytes(_:)`` never throws.
    public func decoded(_ component: Component) throws(PercentDecodingError) -> String? {
        component == .host ? try decodedHost() : try raw(component)?.percentDecodedText()
    }

    /// Returns a component's bytes, with its escapes decoded once; `nil` if the component is absent.
    ///
    /// A host is returned without its brackets.
    public func decodedBytes(_ component: Component) -> [UInt8]? {
        (component == .host ? hostWithoutBrackets : raw(component))?.percentDecodedBytes
    }

    /// Returns a component as it was written.
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

    /// Returns the decoded host, and refuses one with an escaped separator.
    ///
    /// A program may put the decoded host into a URL, or compare its end with a domain. If it contained a separator,
    /// such a program would see a different host.
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
    /// Whether a host that contains this byte could be read as a different one. A colon does not count, because IPv6
    /// addresses contain it.
    var separatesInHost: Bool {
        switch self {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
