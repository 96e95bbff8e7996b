extension GenericURL {
    /// Puts a URL together from decoded parts.
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
    /// Every part is text as a person means it. Each is escaped once, by what may stand in its place, so no part can
    /// reach into its neighbours, and a `%` always becomes `%25`. Parts that hold `..` are not looked at: that is for
    /// whoever gives a path its meaning.
    ///
    /// To change one part of a URL that somebody else wrote, take ``GenericURL/replacing(_:with:)``, which leaves all
    /// others as they are.
    public struct Builder: Sendable, Hashable {
        /// The scheme, without its colon.
        public var scheme: String?
        /// The user name.
        public var user: String?
        /// The password; it takes a user, too.
        public var password: String?
        /// The host: a name, or an IPv6 address without brackets, a zone after a `%`.
        ///
        /// That is how ``GenericURL/decoded(_:)`` gives the host of a URL; ``GenericURL/host`` has brackets and escapes.
        /// The empty host makes an empty network location, as in `file:///etc`; `nil` makes none.
        public var host: String?
        /// The port.
        public var port: UInt16?
        /// The segments of the path, in each of which a `/` is escaped; `["lists", ""]` is `/lists/`, `[]` is no path.
        ///
        /// A slash at the end is an empty last segment: ``appendSegment(_:)`` takes care of it.
        public var pathSegments: [String] = []
        /// Whether the path starts without a slash; only one with neither scheme nor host can.
        public var isPathRelative = false
        /// The parameters, without the first `;`.
        public var parameters: String?
        /// The items of the query; `[]` is no query, one item with an empty name is an empty query.
        ///
        /// A query that is just text, as in the example above, is one item without a value. Items of a URL keep their escapes.
        public var queryItems: [QueryItem] = []
        /// The fragment.
        public var fragment: String?
        /// What follows the colon of a URL such as `mailto:a@b.c`, instead of a host and a path.
        public var opaquePart: String?

        /// Starts without any part.
        public init() {}

        /// Starts with the parts of a URL.
        ///
        /// What is built from them has the same decoded parts, but the escapes that are usual, except in the query, whose
        /// items keep theirs. Where a scheme tells an escaped byte from a plain one, that changes the meaning:
        /// `mailto:a%2Cb@x.org,c@d` becomes `mailto:a,b@x.org,c@d`, which is three addresses, `urn:a%2Fb` becomes
        /// `urn:a/b`, and `#access%26x=1` becomes `#access&x=1`. ``GenericURL/replacing(_:with:)`` and
        /// ``GenericURL/appending(queryItem:)`` change one part and nothing else.
        ///
        /// ``host`` is empty where the URL's network location is, as in `file:///etc`, although ``GenericURL/host`` is
        /// `nil` there.
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

        /// Appends a segment to the path, in the place of the empty last one if the path ends in a slash: `b` makes both
        /// `/a` and `/a/` to `/a/b`.
        public mutating func appendSegment(_ segment: String) {
            if pathSegments.last?.isEmpty == true { pathSegments.removeLast() }
            pathSegments.append(segment)
        }

        /// The URL of the parts, each escaped.
        ///
        /// The builder of the result has the parts of this one, byte for byte, except where no text says just that:
        ///
        /// - a scheme with neither host nor path has an empty ``opaquePart``, given or not;
        /// - parameters after a scheme or a host without a path follow a `/`, which is one empty segment;
        /// - a path that starts with an empty segment and goes on follows `/.` without a host, or `.` if it is relative,
        ///   so its segments start with `"."`: `["", "evil"]` is `/.//evil`;
        /// - ``isPathRelative`` is `false` without a path.
        ///
        /// Control characters are refused only in a host. Elsewhere they are escaped, and ``GenericURL/decoded(_:)`` throws
        /// for them; ``GenericURL/decodedBytes(_:)`` has them.
        ///
        /// - Parameter maximumLength: The longest accepted URL, in bytes.
        /// - Throws: ``BuildError`` for the first part that cannot be there.
        public func build(maximumLength: Int = defaultMaximumLength) throws(BuildError) -> GenericURL {
            try check()
            let text = text()
            guard !text.isEmpty else { throw BuildError(.empty) }
            guard text.utf8.count <= maximumLength else { throw BuildError(.tooLong) }
            do {
                return try GenericURL(text, maximumLength: maximumLength)
            } catch {
                // All else is escaped.
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
    /// The parts that are present, the password as `***`.
    public var description: String {
        "Builder(" + parts.map { "\($0.label): \(String(reflecting: $0.value))" }.joined(separator: ", ") + ")"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The parts that are present, the password as `***`, so that `dump` does not print it either.
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
