extension GenericURL {
    /// The scheme as written, without its colon; `nil` for a relative reference (RFC 1808 section 2.4.2).
    ///
    /// It starts with a letter (decision D5). Because case does not matter in a scheme, use ``lowercasedScheme`` to
    /// look one up. The type is `String` because you usually compare it with other strings; up to 15 bytes need no
    /// allocation.
    public var scheme: String? {
        layout.scheme.map { String(ascii: string.utf8.span.extracting($0)) }
    }

    /// The scheme in lower case, for comparison and for use as a key (RFC 1808 section 2.1); `nil` for a relative
    /// reference.
    public var lowercasedScheme: String? {
        scheme?.lowercased()
    }

    /// The text between `//` and the next `/`, `?` or `#` (decision D1): user, password, host and port.
    ///
    /// It is `nil` if there is no `//`, and empty in `file:///etc`.
    public var networkLocation: Substring? {
        bytes.networkLocation.map { Substring($0) }
    }

    /// The user name, which ends at the first `:` before the `@`.
    public var user: Substring? {
        bytes.user.map { Substring($0) }
    }

    /// The password: the text between the first `:` of the user information and the `@`.
    public var password: Substring? {
        bytes.password.map { Substring($0) }
    }

    /// The host: a name, or an IPv6 address in brackets.
    ///
    /// As with `NSURL`, it is `nil` if the network location is absent or empty, so `file:///etc` has no host. It is
    /// empty if the network location contains only a user or a port. ``decoded(_:)`` returns it without brackets, in
    /// the form that ``Builder`` and `getaddrinfo` accept. An IPv4 address is treated as a name and never converted.
    public var host: Substring? {
        bytes.host.map { Substring($0) }
    }

    /// The port; `nil` if there is none, or if no digits follow the `:`, which is allowed.
    @inlinable
    public var port: UInt16? {
        layout.port
    }

    /// The path with its leading `/`, without parameters; empty for a URL without a path and for an opaque URL.
    public var path: Substring {
        Substring(bytes.path)
    }

    /// The parameters: the text after the first `;` of the path, including any further `;` and `/` (decision D9).
    ///
    /// Opaque URLs have no parameters: a `;` is part of the ``opaquePart``.
    public var parameters: Substring? {
        bytes.parameters.map { Substring($0) }
    }

    /// The text between the first `?` and the fragment.
    public var query: Substring? {
        bytes.query.map { Substring($0) }
    }

    /// The text after the first `#`.
    public var fragment: Substring? {
        bytes.fragment.map { Substring($0) }
    }

    /// The text between the scheme's colon and the query or fragment, in a URL such as `mailto:a@b.c` or `tel:+49`
    /// (decision D7).
    ///
    /// It is `nil` for every URL that can have a path, which means every URL without a scheme, or with a `/` after the
    /// scheme's colon.
    public var opaquePart: Substring? {
        bytes.opaquePart.map { Substring($0) }
    }

    /// Whether the URL has the form `scheme:rest` without a slash after the colon, and therefore no hierarchy (decision
    /// D7).
    public var isOpaque: Bool {
        layout.isOpaque
    }

    /// The ``parameters``, under the name that `NSURL` uses.
    public var parameterString: Substring? {
        parameters
    }

    /// Everything after `scheme:`, including the query and the fragment, under the name that `NSURL` uses; without a
    /// scheme, the whole URL.
    public var resourceSpecifier: Substring {
        view(layout.hierarchyStart..<string.utf8.count)
    }

    /// Returns the bytes of `range` as a view of the stored string.
    func view(_ range: Range<Int>) -> Substring {
        Substring(string, range)
    }
}
