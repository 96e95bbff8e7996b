extension GenericURL {
    /// A builder that makes a URL from decoded parts.
    ///
    /// ```swift
    /// var builder = GenericURL.Builder()
    /// builder.scheme = "todolist"
    /// builder.host = "www.acme.com"
    /// builder.queryItems = [.init(name: "Quarterly Report")]
    /// builder.fragment = "200806231300"
    /// try builder.build()     // todolist://www.acme.com?Quarterly%20Report#200806231300
    /// ```
    ///
    /// Every part is plain text without escapes. The builder escapes it once: each byte that may not appear in that
    /// part becomes an escape. So no part can change another, and a `%` always becomes `%25`. The builder does not look
    /// for `..` segments, because only the program that uses a path knows what they mean.
    ///
    /// To change one part of an existing URL, use ``GenericURL/replacing(_:with:)``, which keeps all other parts byte
    /// for byte.
    public struct Builder: Sendable, Hashable {
        /// The scheme, without its colon.
        public var scheme: String?
        /// The user name.
        public var user: String?
        /// The password. It needs a user as well.
        public var password: String?
        /// The host: a name, or an IPv6 address without brackets and with any zone after a plain `%`.
        ///
        /// ``GenericURL/decoded(_:)`` returns the host in this form, while ``GenericURL/host`` has brackets and
        /// escapes. An empty host produces an empty network location, as in `file:///etc`; `nil` produces none.
        public var host: String?
        /// The port.
        public var port: UInt16?
        /// The path's segments. `["lists", ""]` produces `/lists/`, and `[]` produces no path.
        ///
        /// Any `/` within a segment is escaped. If the path ends with a slash, its last segment is empty, and
        /// ``appendSegment(_:)`` replaces it.
        public var pathSegments: [String] = []
        /// Whether the path starts without a slash. In that case, there can be neither a scheme nor a host.
        public var isPathRelative = false
        /// The parameters, without the first `;`.
        public var parameters: String?
        /// The query's items. `[]` produces no query, and a single item with an empty name produces an empty query.
        ///
        /// If the query is plain text, as in the example above, it is one item without a value. Items that come from a
        /// URL keep their escapes.
        public var queryItems: [QueryItem] = []
        /// The fragment.
        public var fragment: String?
        /// The text after the scheme's colon in a URL that has neither a host nor a path, such as `mailto:a@b.c`.
        public var opaquePart: String?

        /// Creates a builder without any parts.
        public init() {}

        /// Creates a builder with a URL's parts.
        ///
        /// If you build a URL from them, it has the same decoded parts as the original. Query items keep their escapes,
        /// and all other parts get the builder's own. If a scheme distinguishes an escaped byte from a plain one, this
        /// changes the meaning:
        ///
        /// - `mailto:a%2Cb@x.org,c@d` becomes `mailto:a,b@x.org,c@d`, which has three addresses instead of two;
        /// - `urn:a%2Fb` becomes `urn:a/b`;
        /// - `#access%26x=1` becomes `#access&x=1`.
        ///
        /// ``GenericURL/replacing(_:with:)`` and ``GenericURL/appending(queryItem:)`` change one part and nothing else.
        ///
        /// If the URL has an empty network location, as in `file:///etc`, ``host`` is empty although
        /// ``GenericURL/host`` is `nil`.
        ///
        /// - Throws: ``PercentDecodingError`` for the first part that has no decoded text.
        public init(_ url: GenericURL) throws(PercentDecodingError) {
            scheme = url.scheme
            user = try url.decoded(.user)
            password = try url.decoded(.password)
            host = try url.decoded(.host) ?? url.networkLocation.map(String.init)
            port = url.port
            for segment in url.pathSegments {
                pathSegments.append(try segment.decoded())
            }
            isPathRelative = !url.path.isEmpty && !url.path.startsWithSlash
            parameters = try url.decoded(.parameters)
            queryItems = Array(url.queryItems)
            fragment = try url.decoded(.fragment)
            opaquePart = try url.decoded(.opaquePart)
        }

        /// Appends a segment to the path. If the last segment is empty, this replaces it: after `b` is appended, `/a`
        /// and `/a/` both become `/a/b`.
        public mutating func appendSegment(_ segment: String) {
            if pathSegments.last?.isEmpty == true { pathSegments.removeLast() }
            pathSegments.append(segment)
        }

        /// Returns the URL made of the parts, each of them escaped.
        ///
        /// If you make a builder from the result, it has the same parts, byte for byte, except where no URL can have
        /// exactly these parts:
        ///
        /// - if there is a scheme but no host, path or parameters, an absent ``opaquePart`` becomes an empty one;
        /// - if there are parameters and a scheme or a host, but no path, the parameters follow a `/`, which is one
        ///   empty segment;
        /// - a path of several segments, the first of which is empty, gets the prefix `/.` if there is no host, or `.`
        ///   if the path is relative, so the first segment becomes `"."`: `["", "evil"]` becomes `/.//evil`;
        /// - ``isPathRelative`` becomes `false` if there is no path.
        ///
        /// A host with control characters is refused. In all other parts they are escaped. For such a part,
        /// ``GenericURL/decoded(_:)`` throws, and ``GenericURL/decodedBytes(_:)`` returns the control characters.
        ///
        /// - Parameter maximumLength: The maximum length of the URL, in bytes.
        /// - Throws: ``BuildError`` for the first part that is wrong.
        public func build(maximumLength: Int = defaultMaximumLength) throws(BuildError) -> GenericURL {
            try check()
            let text = text()
            guard !text.isEmpty else { throw BuildError(.empty) }
            guard text.utf8.count <= maximumLength else { throw BuildError(.tooLong) }
            do {
                return try GenericURL(text, maximumLength: maximumLength)
            } catch {
                // Because all other parts are escaped, the parser can refuse only the scheme or the host.
                throw error.reason == .badScheme ? BuildError(.badScheme, .scheme) : BuildError(.badHost, .host)
            }
        }

        private func check() throws(BuildError) {
            if let scheme, !scheme.utf8.allSatisfy(ByteSet.scheme.contains) || scheme.isEmpty {
                throw BuildError(.badScheme, .scheme)
            }
            if host == nil {
                if user != nil { throw BuildError(.hostMissing, .user) }
                if password != nil { throw BuildError(.hostMissing, .password) }
                if port != nil { throw BuildError(.hostMissing, .port) }
            }
            if user == nil, password != nil { throw BuildError(.userMissing, .password) }
            if opaquePart != nil, scheme == nil || host != nil || !pathSegments.isEmpty || parameters != nil {
                throw BuildError(.opaquePartMisplaced, .opaquePart)
            }
            if isPathRelative, !pathSegments.isEmpty, scheme != nil || host != nil || pathSegments == [""] {
                throw BuildError(.badRelativePath, .pathSegments)
            }
            if let host {
                guard !host.utf8.contains(where: \.separatesInHost), !host.unicodeScalars.contains(where: \.isControl)
                else { throw BuildError(.badHost, .host) }
            }
        }

        private func text() -> String {
            var text = ""
            if let scheme { text += scheme + ":" }
            if let host {
                text += "//"
                if let user {
                    text.appendEscaped(user, .networkLocation)
                    if let password {
                        text += ":"
                        text.appendEscaped(password, .networkLocation)
                    }
                    text += "@"
                }
                text.appendHost(host)
                if let port { text += ":\(port)" }
            }
            if let opaquePart { text.appendOpaquePart(opaquePart) }
            appendPath(to: &text)
            if let parameters {
                text += ";"
                text.appendEscaped(parameters, .parameters)
            }
            for (index, item) in queryItems.enumerated() {
                text += (index == 0 ? "?" : "&") + item.description
            }
            if let fragment {
                text += "#"
                text.appendEscaped(fragment, .query)
            }
            return text
        }

        private func appendPath(to text: inout String) {
            guard let first = pathSegments.first else {
                if parameters != nil, scheme != nil || host != nil { text += "/" }
                return
            }
            if isPathRelative {
                if first.isEmpty { text += "./" }
            } else {
                text += first.isEmpty && pathSegments.count > 1 && host == nil ? "/./" : "/"
            }
            text.appendEscaped(first, isPathRelative ? .firstRelativeSegment : .segment)
            for segment in pathSegments.dropFirst() {
                text += "/"
                text.appendEscaped(segment, .segment)
            }
        }
    }
}

extension GenericURL.Builder: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The parts that are present, with `***` as the password.
    public var description: String {
        "Builder(" + parts.map { "\($0.label): \(String(reflecting: $0.value))" }.joined(separator: ", ") + ")"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The parts that are present, with `***` as the password, so that `dump` does not print it either.
    public var customMirror: Mirror {
        Mirror(self, children: parts.map { Mirror.Child(label: $0.label, value: $0.value) }, displayStyle: .struct)
    }

    private var parts: [(label: String, value: any Sendable)] {
        var parts: [(label: String, value: any Sendable)] = []
        if let scheme { parts.append(("scheme", scheme)) }
        if let user { parts.append(("user", user)) }
        if password != nil { parts.append(("password", "***")) }
        if let host { parts.append(("host", host)) }
        if let port { parts.append(("port", port)) }
        if !pathSegments.isEmpty {
            parts.append(("pathSegments", pathSegments))
            parts.append(("isPathRelative", isPathRelative))
        }
        if let parameters { parts.append(("parameters", parameters)) }
        if !queryItems.isEmpty { parts.append(("queryItems", queryItems)) }
        if let fragment { parts.append(("fragment", fragment)) }
        if let opaquePart { parts.append(("opaquePart", opaquePart)) }
        return parts
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
