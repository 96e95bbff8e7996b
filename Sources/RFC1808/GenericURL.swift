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
/// Parsing never repairs and never decodes: a string is either refused with a ``ParseError`` or printed back byte for
/// byte by ``description``. The components are raw views of the one stored string and cost no allocation, but for a
/// ``scheme`` of more than 15 bytes. Escapes are decoded only when asked for, by ``decoded(_:)``, ``pathSegments`` and
/// ``queryItems``; a `+` is a plus.
///
/// A component that is absent is `nil`, one that is present and empty is `""`: `foo:/a?` has the empty query, `foo:/a` has
/// none (decision D2). Only ``path`` is never absent.
///
/// A limit to the length holds where there is a parameter for it: in the initialisers that throw, in
/// ``resolving(reference:mode:maximumLength:)`` and in ``Builder/build(maximumLength:)``. A URL can be longer, and
/// everything else takes it: it can be decoded from what it was encoded to, and converted from what it was converted to.
///
/// Equality and hashing compare the bytes. ``isEquivalent(to:)`` compares what RFC 1808 says is the same.
public struct GenericURL: Sendable {
    /// The URL as it was written.
    let string: String

    /// Where each component lies in ``string``.
    let layout: Layout

    /// The longest URL, in bytes, that is accepted where no other limit is given.
    public static let defaultMaximumLength = 65_536

    init(string: String, layout: Layout) {
        self.string = string
        self.layout = layout
    }

    /// Parses a URL or a relative reference (RFC 1808 section 2.4).
    ///
    /// The empty reference has a meaning only beside a base, so it is refused here; see
    /// ``resolving(reference:mode:maximumLength:)``.
    ///
    /// - Parameters:
    ///   - string: What to parse. It is stored as it is.
    ///   - maximumLength: The longest accepted input, in bytes.
    /// - Throws: ``ParseError`` with the offset of the byte that is wrong.
    public init(_ string: String, maximumLength: Int = defaultMaximumLength) throws(ParseError) {
        layout = try Layout(parsing: string.utf8.span, maximumLength: maximumLength)
        self.string = string
    }

    /// Parses a URL or a relative reference out of borrowed bytes and keeps a copy of them.
    ///
    /// - Parameters:
    ///   - bytes: What to parse, in ASCII; nothing else is accepted.
    ///   - maximumLength: The longest accepted input, in bytes.
    /// - Throws: ``ParseError`` with the offset of the byte that is wrong.
    public init(utf8 bytes: Span<UInt8>, maximumLength: Int = defaultMaximumLength) throws(ParseError) {
        layout = try Layout(parsing: bytes, maximumLength: maximumLength)
        string = String(ascii: bytes)
    }
}

extension GenericURL: LosslessStringConvertible {
    /// The URL as it was written, with its password if it has one; for logs there is ``debugDescription``.
    public var description: String { string }

    /// Parses a URL of any length where the reason for a refusal does not matter.
    ///
    /// It serves code that is generic over `LosslessStringConvertible`. Elsewhere the context chooses: this one where only an
    /// optional fits, as in `GenericURL(text)?.scheme` and `if let url = GenericURL(text)`, the one that throws, and
    /// has a limit to the length, after `try`.
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
    /// The URL for logs and debuggers, its password replaced by `***`.
    ///
    /// Only that: a token in the place of the user, in an opaque part, a path or a query stays.
    public var debugDescription: String {
        guard let password else { return string }
        return String(string[..<password.startIndex]) + "***" + string[password.endIndex...]
    }

    /// One child with the URL without its password, so that `dump` does not print it either.
    public var customMirror: Mirror {
        Mirror(self, children: ["url": debugDescription], displayStyle: .struct)
    }
}

extension GenericURL: Hashable {
    /// Whether both were written with the same bytes.
    public static func == (a: GenericURL, b: GenericURL) -> Bool {
        a.string == b.string
    }

    /// Feeds the bytes as they were written to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(string)
    }
}

extension GenericURL: Codable {
    /// Decodes a string and parses it, however long it is: the decoder holds it already, and every URL can be encoded.
    ///
    /// - Throws: `DecodingError.dataCorrupted`, with the ``ParseError`` underneath, if the string is refused.
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

    /// Encodes the URL as the string that it was written as.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}
