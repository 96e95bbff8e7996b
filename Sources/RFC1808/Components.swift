extension GenericURL {
    /// The scheme as it was written, without its colon; `nil` for a relative reference (RFC 1808 section 2.4.2).
    ///
    /// A scheme starts with a letter (decision D5). To look one up, use ``lowercasedScheme``: case does not matter in
    /// a scheme. It is a `String` because that is what schemes are compared with; up to 15 bytes need no allocation.
    public var scheme: String? {
        layout.schemeEnd == 0 ? nil : String(ascii: string.utf8.span.extracting(first: layout.schemeEnd))
    }

    /// The scheme in lower case, the form to compare and to use as a key (RFC 1808 section 2.1); `nil` for a relative
    /// reference.
    public var lowercasedScheme: String? {
        scheme?.lowercased()
    }

    /// Everything between `//` and the next `/`, `?` or `#` (decision D1): user, password, host and port.
    ///
    /// `nil` without `//`; empty in `file:///etc`.
    public var networkLocation: Substring? {
        layout.networkLocation.map(view)
    }

    /// The user name, up to the first `:` before the `@`.
    public var user: Substring? {
        layout.user.map(view)
    }

    /// The password, all between the first `:` of the user information and the `@`.
    public var password: Substring? {
        layout.password.map(view)
    }

    /// The host: a name, or an IPv6 address in its brackets.
    ///
    /// `nil` without a network location and where that is empty, as `NSURL` had it, so for `file:///etc`; empty where only a
    /// user or a port is given. ``decoded(_:)`` has it without brackets, as ``Builder`` and `getaddrinfo` take it. An IPv4
    /// address is a name like any other: nothing is ever converted.
    public var host: Substring? {
        layout.host.map(view)
    }

    /// The port; `nil` also where the `:` stands without digits, which is allowed.
    public var port: UInt16? {
        layout.port
    }

    /// The path with its leading `/`, without parameters; empty if there is none and for an opaque URL.
    public var path: Substring {
        view(layout.isOpaque ? layout.path.upperBound..<layout.path.upperBound : layout.path)
    }

    /// The parameters: what follows the first `;` of the path, further `;` and `/` included (decision D9).
    ///
    /// An opaque URL has none: there a `;` is part of ``opaquePart``.
    public var parameters: Substring? {
        layout.parameters.map(view)
    }

    /// What follows the first `?`, up to the fragment.
    public var query: Substring? {
        layout.query.map(view)
    }

    /// What follows the `#`.
    public var fragment: Substring? {
        layout.fragment(in: string.utf8.count).map(view)
    }

    /// What follows the colon of a URL such as `mailto:a@b.c` or `tel:+49`, up to its query or fragment (decision D7).
    ///
    /// `nil` for every URL that can have a path: those without a scheme, and those with a `/` after it.
    public var opaquePart: Substring? {
        layout.isOpaque ? view(layout.path) : nil
    }

    /// Whether the URL is `scheme:rest` without a slash after the colon, so that it has no hierarchy (decision D7).
    public var isOpaque: Bool {
        layout.isOpaque
    }

    /// ``parameters`` by the name that `NSURL` gave them.
    public var parameterString: Substring? {
        parameters
    }

    /// Everything after `scheme:`, query and fragment included, by `NSURL`'s name; without a scheme all there is.
    public var resourceSpecifier: Substring {
        view(layout.hierarchyStart..<string.utf8.count)
    }

    /// The bytes of `range` as a view of the stored string.
    func view(_ range: Range<Int>) -> Substring {
        let bytes = string.utf8
        let start = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
        let end = bytes.index(start, offsetBy: range.count)
        return Substring(bytes[start..<end])
    }
}

extension String {
    /// A copy of bytes that are known to be ASCII.
    init(ascii bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
