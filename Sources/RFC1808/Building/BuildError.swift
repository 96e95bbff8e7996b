extension GenericURL {
    /// Why parts do not make a URL, and which part.
    public struct BuildError: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong; the raw values are stable names for scripts.
        ///
        /// A later version may add reasons: a `switch` needs a `default`.
        public enum Reason: String, Sendable, CaseIterable {
            /// The scheme is not a letter, then letters, digits, `+`, `.` or `-`.
            case badScheme
            /// The host holds a separator or a control character, or a `:` and is not an IPv6 address.
            case badHost
            /// There is a user, a password or a port, but no host.
            case hostMissing
            /// There is a password, but no user; an empty user will do.
            case userMissing
            /// There is a relative path beside a scheme or a host, or one of nothing but an empty segment.
            case badRelativePath
            /// There is an opaque part beside a host, a path or parameters, or without a scheme.
            case opaquePartMisplaced
            /// All parts are absent.
            case empty
            /// The URL would be longer than the limit.
            case tooLong
        }

        /// A part of a URL, by the name that it has in ``GenericURL/Builder``; the raw values are stable names for scripts.
        public enum Part: String, Sendable, CaseIterable {
            /// ``GenericURL/Builder/scheme``.
            case scheme
            /// ``GenericURL/Builder/user``.
            case user
            /// ``GenericURL/Builder/password``.
            case password
            /// ``GenericURL/Builder/host``.
            case host
            /// ``GenericURL/Builder/port``.
            case port
            /// ``GenericURL/Builder/pathSegments``.
            case pathSegments
            /// ``GenericURL/Builder/opaquePart``.
            case opaquePart
        }

        /// What is wrong.
        public let reason: Reason
        /// The part that cannot be there; `nil` where it is about all of them.
        public let part: Part?

        init(_ reason: Reason, _ part: Part? = nil) {
            self.reason = reason
            self.part = part
        }

        /// The stable name of the reason, such as `badHost`.
        public var name: String { reason.rawValue }

        /// What is wrong in plain English, without the part and without what it holds: that may be a password.
        public var message: String {
            switch reason {
            case .badScheme: "a scheme is a letter, then letters, digits, '+', '.' or '-'"
            case .badHost:
                "a host may not hold a control character or any of / \\ ? # @ [ ], nor a ':' unless it is an IPv6 address; "
                    + "an IPv6 address stands without brackets, the port in `port`"
            case .hostMissing: "a user, a password or a port needs a host"
            case .userMissing: "a password needs a user, which may be empty"
            case .badRelativePath: "a relative path excludes a scheme and a host, and is not just one empty segment"
            case .opaquePartMisplaced: "an opaque part needs a scheme, and excludes a host, a path and parameters"
            case .empty: "a URL needs at least one part"
            case .tooLong: "the URL is longer than the limit"
            }
        }

        /// The part and the message.
        public var description: String { part.map { "\($0.rawValue): \(message)" } ?? message }
    }
}
