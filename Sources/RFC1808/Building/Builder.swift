extension GenericURL {
    /// Puts a URL together from decoded parts.
    ///
    /// ```swift
    /// var builder = GenericURL.Builder()
    /// builder.scheme = "todolist"
    /// builder.host = "www.acme.com"
    /// builder.queryItems = [.init("Quarterly Report")]
    /// builder.fragment = "200806231300"
    /// try builder.build()     // todolist://www.acme.com?Quarterly%20Report#200806231300
    /// ```
    ///
    /// Every part is text as a person means it. Each is escaped once, by what may stand in its place, so no part can
    /// reach into its neighbours, and a `%` always becomes `%25`. Parts that hold `..` are not looked at: that is for
    /// whoever gives a path its meaning.
    public struct Builder: Sendable, Hashable {
        /// The scheme, without its colon.
        public var scheme: String?
        /// The user name.
        public var user: String?
        /// The password; it takes a user, too.
        public var password: String?
        /// The host: a name, or an IPv6 address without brackets, a zone after a `%`.
        ///
        /// An empty one gives an empty network location, as in `file:///etc`; `nil` gives none.
        public var host: String?
        /// The port.
        public var port: UInt16?
        /// The segments of the path, in each of which a `/` is escaped; `["lists", ""]` is `/lists/`, `[]` is no path.
        public var pathSegments: [String] = []
        /// Whether the path starts without a slash; only one with neither scheme nor host can.
        public var isPathRelative = false
        /// The parameters, without the first `;`.
        public var parameters: String?
        /// The items of the query; `[]` is no query, one item with an empty name is an empty query.
        public var queryItems: [QueryItem] = []
        /// The fragment.
        public var fragment: String?
        /// What follows the colon of a URL such as `mailto:a@b.c`, instead of a host and a path.
        public var opaquePart: String?

        /// An item of a query, decoded.
        public struct QueryItem: Sendable, Hashable {
            /// The name.
            public var name: String
            /// The value; without one there is no `=` either.
            public var value: String?

            /// An item of a name and perhaps a value.
            public init(_ name: String, _ value: String? = nil) {
                self.name = name
                self.value = value
            }
        }

        /// Starts without any part.
        public init() {}

        /// Starts with the parts of a URL.
        ///
        /// What is built from them has the same decoded parts, though maybe other escapes.
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
            for item in url.queryItems {
                queryItems.append(QueryItem(try item.name.decoded(), try item.value?.decoded()))
            }
            fragment = try url.decoded(.fragment)
            opaquePart = try url.decoded(.opaquePart)
        }

        /// The URL of the parts, each escaped.
        ///
        /// Where the text would mean something else, the path gets the prefix that ``GenericURL/resolved(against:mode:)``
        /// describes: an empty first segment without a host becomes `/.//`, parameters without a path follow a `/`.
        ///
        /// - Parameter maximumLength: The longest accepted URL, in bytes.
        /// - Returns: A URL whose decoded parts are those given here.
        /// - Throws: ``BuildError`` for the first part that cannot be there.
        public func build(maximumLength: Int = defaultMaximumLength) throws(BuildError) -> GenericURL {
            try check()
            let text = text()
            guard !text.isEmpty else { throw .empty }
            guard text.utf8.count <= maximumLength else { throw .tooLong }
            do {
                return try GenericURL(text, maximumLength: maximumLength)
            } catch {
                // All else is escaped.
                throw error.reason == .badScheme ? .badScheme : .badHost
            }
        }

        private func check() throws(BuildError) {
            if let scheme, !scheme.utf8.allSatisfy(ByteSet.scheme.contains) || scheme.isEmpty { throw .badScheme }
            if host == nil, user != nil || password != nil || port != nil { throw .hostMissing }
            if user == nil, password != nil { throw .userMissing }
            if opaquePart != nil, scheme == nil || host != nil || !pathSegments.isEmpty || parameters != nil {
                throw .opaquePartMisplaced
            }
            if let host, host.utf8.contains(where: \.separatesInHost) { throw .badHost }
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
                text += index == 0 ? "?" : "&"
                text.appendEscaped(item.name, .queryName)
                if let value = item.value {
                    text += "="
                    text.appendEscaped(value, .queryValue)
                }
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
            let isRelative = isPathRelative && scheme == nil && host == nil
            if isRelative {
                if first.isEmpty, pathSegments.count > 1 { text += "./" }
            } else {
                text += first.isEmpty && pathSegments.count > 1 && host == nil ? "/./" : "/"
            }
            text.appendEscaped(first, isRelative ? .firstRelativeSegment : .segment)
            for segment in pathSegments.dropFirst() {
                text += "/"
                text.appendEscaped(segment, .segment)
            }
        }
    }
}
