extension GenericURL {
    /// Why parts do not make a URL; the raw values are stable names for scripts.
    public enum BuildError: String, Error, Sendable, CaseIterable, CustomStringConvertible {
        /// The scheme is not a letter, then letters, digits, `+`, `.` or `-`.
        case badScheme
        /// The host holds a separator, or a `:` and is not an IPv6 address.
        case badHost
        /// There is a user, a password or a port, but no host.
        case hostMissing
        /// There is a password, but no user; an empty user will do.
        case userMissing
        /// There is an opaque part beside a host, a path or parameters, or without a scheme.
        case opaquePartMisplaced
        /// All parts are absent.
        case empty
        /// The URL would be longer than the limit.
        case tooLong

        /// One sentence in plain English.
        public var description: String {
            switch self {
            case .badScheme: "a scheme is a letter, then letters, digits, '+', '.' or '-'"
            case .badHost: "a host may not hold any of / \\ ? # @ [ ], nor a ':' unless it is an IPv6 address"
            case .hostMissing: "a user, a password or a port needs a host"
            case .userMissing: "a password needs a user, which may be empty"
            case .opaquePartMisplaced: "an opaque part needs a scheme, and excludes a host, a path and parameters"
            case .empty: "a URL needs at least one part"
            case .tooLong: "the URL is longer than the limit"
            }
        }
    }
}
