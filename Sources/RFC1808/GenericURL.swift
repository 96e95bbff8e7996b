/// A URL in the generic syntax of RFC 1808, absolute or relative, kept exactly as it was written.
///
/// ```swift
/// let url = try GenericURL("todolist://www.acme.com?Quarterly%20Report#200806231300")
/// url.lowercasedScheme        // "todolist"
/// url.host                    // "www.acme.com"
/// try url.decoded(.query)     // "Quarterly Report"
/// url.fragment                // "200806231300"
/// ```
///
/// Parsing never repairs and never decodes a string. Either it fails with a ``ParseError``, or ``description`` returns
/// the same bytes. The components are raw views of the one stored string, so reading them allocates no memory, except
/// for a ``scheme`` of more than 15 bytes. If you examine many URLs, read ``bytes``, which is faster. Escapes are
/// decoded only on demand, by ``decoded(_:)``, ``pathSegments`` and ``queryItems``. A `+` is always a plus sign.
///
/// If a component is absent, it is `nil`; if it is present but empty, it is `""`. For example, `foo:/a?` has an empty
/// query and `foo:/a` has none (decision D2). Only ``path`` is never absent.
///
/// A URL's length is limited only where there is a `maximumLength` parameter: in the throwing initializers, in
/// ``resolving(reference:mode:maximumLength:)`` and in ``Builder/build(maximumLength:)``. All other operations accept
/// and return longer URLs too, so you can encode and decode every URL, or convert it to a string and back.
///
/// Equality and hashing compare the bytes. ``isEquivalent(to:)`` also ignores differences in case that have no meaning.
public struct GenericURL: Sendable {
    /// The URL as written.
    @usableFromInline let string: String

    /// Position of each component in ``string``.
    @usableFromInline let layout: Layout

    /// The maximum length, in bytes, of a URL that is parsed or built without another limit.
    public static let defaultMaximumLength = 65_536

    init(string: String, layout: Layout) {
        self.string = string
        self.layout = layout
    }

    /// Parses a URL or a relative reference (RFC 1808 section 2.4).
    ///
    /// An empty reference has a meaning only together with a base, so an empty string is refused here. If a reference
    /// may be empty, use ``resolving(reference:mode:maximumLength:)``.
    ///
    /// - Parameters:
    ///   - string: The text to parse, which the URL stores unchanged.
    ///   - maximumLength: The maximum length of the input, in bytes.
    /// - Throws: ``ParseError`` with the offset of the wrong byte.
    @inlinable
    public init(_ string: String, maximumLength: Int = defaultMaximumLength) throws(ParseError) {
        layout = try Layout(parsing: string.utf8.span, maximumLength: maximumLength)
        self.string = string
    }

    /// Parses a URL or a relative reference from borrowed bytes, and keeps a copy of them.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to parse. A byte outside ASCII is refused.
    ///   - maximumLength: The maximum length of the input, in bytes.
    /// - Throws: ``ParseError`` with the offset of the wrong byte.
    public init(utf8 bytes: Span<UInt8>, maximumLength: Int = defaultMaximumLength) throws(ParseError) {
        layout = try Layout(parsing: bytes, maximumLength: maximumLength)
        string = String(ascii: bytes)
    }
}

extension GenericURL: LosslessStringConvertible {
    /// The URL as written, including the password. Use ``debugDescription`` for logs.
    public var description: String { string }

    /// Parses a URL of any length; `nil` if the string is not a URL.
    ///
    /// This is for code that is generic over `LosslessStringConvertible`. In other code, the context selects the
    /// initializer: an expression that needs an optional, such as `GenericURL(text)?.scheme`, uses this one, and an
    /// expression after `try` uses the throwing one, which limits the length.
    @_disfavoredOverload
    public init?(_ description: String) {
        do {
            try self.init(description, maximumLength: .max)
        } catch {
            return nil
        }
    }
}

extension GenericURL: CustomDebugStringConvertible, CustomReflectable {
    /// The URL for logs and debuggers, with `***` in place of the password.
    ///
    /// This hides only the password. A token in the user name, the opaque part, the path or the query remains visible.
    public var debugDescription: String {
        guard let password else { return string }
        return String(string[..<password.startIndex]) + "***" + string[password.endIndex...]
    }

    /// The URL without its password as the only child, so that `dump` does not print the password either.
    public var customMirror: Mirror {
        Mirror(self, children: ["url": debugDescription], displayStyle: .struct)
    }
}

extension GenericURL: Hashable {
    /// Returns whether both URLs have the same bytes.
    public static func == (a: GenericURL, b: GenericURL) -> Bool {
        a.string == b.string
    }

    /// Adds the bytes of the URL to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(string)
    }
}

extension GenericURL: Codable {
    /// Decodes a string and parses it, without a length limit.
    ///
    /// Every URL can be encoded, so every URL must be decodable. A limit would save no memory here, because the decoder
    /// already holds the whole string.
    ///
    /// - Throws: `DecodingError.dataCorrupted`, with the ``ParseError`` as its underlying error, if the string is not a
    ///   URL.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let string = try container.decode(String.self)
        do {
            try self.init(string, maximumLength: .max)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error)
            )
        }
    }

    /// Encodes the URL as a string, exactly as written.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}
