extension GenericURL {
    /// Why parts do not make a URL, and which part is wrong.
    public struct BuildError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of problem. The raw values are stable names for scripts.
        ///
        /// A later version may add reasons, so a `switch` needs a `default`.
        public enum Reason: String, Sendable, CaseIterable {
            /// The scheme is not a letter followed by letters, digits, `+`, `.` or `-`.
            case badScheme
            /// The host contains a separator or a control character, or contains a `:` and is not an IPv6 address.
            case badHost
            /// There is a user, a password or a port, but no host.
            case hostMissing
            /// There is a password, but no user. An empty user is enough.
            case userMissing
            /// A relative path comes with a scheme or a host, or consists of a single empty segment.
            case badRelativePath
            /// An opaque part comes with a host, a path or parameters, or without a scheme.
            case opaquePartMisplaced
            /// All parts are absent.
            case empty
            /// The URL would be longer than the limit.
            case tooLong
        }

        /// A part of a URL, named like the corresponding property of ``GenericURL/Builder``. The raw values are stable
        /// names for scripts.
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

        /// The kind of problem.
        public let reason: Reason
        /// The wrong part; `nil` if the problem concerns the URL as a whole.
        public let part: Part?

        init(_ reason: Reason, _ part: Part? = nil) {
            self.reason = reason
            self.part = part
        }

        /// The reason's stable name, such as `badHost`.
        public var name: String { reason.rawValue }

        /// The problem in plain English. It shows neither the part nor its content, which may be a password.
        public var message: String {
            switch reason {
            case .badScheme: "a scheme is a letter, then letters, digits, '+', '.' or '-'"
            case .badHost:
                "a host may not contain a control character or any of / \\ ? # @ [ ], nor a ':' unless it is an IPv6 address; "
                    + "write an IPv6 address without brackets, and the port in `port`"
            case .hostMissing: "a user, a password or a port needs a host"
            case .userMissing: "a password needs a user, which may be empty"
            case .badRelativePath: "a relative path cannot have a scheme or a host, nor be just one empty segment"
            case .opaquePartMisplaced: "an opaque part needs a scheme, and allows no host, path or parameters"
            case .empty: "a URL needs at least one part"
            case .tooLong: "the URL is longer than the limit"
            }
        }

        /// The part and the message.
        public var description: String { part.map { "\($0.rawValue): \(message)" } ?? message }
    }
}
