package import RFC1808

/// A request from a program on another machine or in a container: one line of printable ASCII, and nothing after it.
///
/// ```
/// openurl/1 open https://example.com/
/// openurl/1 callback https://example.com/login?redirect_uri=myapp://auth&state=4711
/// openurl/1 can-open mailto:
/// ```
package struct RelayRequest: Sendable, Hashable {
    /// The wish of the program.
    package enum Verb: String, Sendable, Hashable, CaseIterable {
        case open
        /// Open the URL, and wait for the URL that comes back.
        case callback
        /// Report whether the URL can be opened.
        case canOpen = "can-open"
    }

    /// Why bytes are not a request.
    package enum ParseError: Error, Sendable, Hashable {
        /// The line is longer than any request.
        case tooLong
        /// A byte follows the line.
        case notAlone
        /// The line is not a request of this version.
        case malformed
    }

    package let verb: Verb
    /// The URL, which has a scheme.
    package let url: GenericURL

    /// The first word of each request.
    private static let version = "openurl/1"
    /// Maximum length of the URL, in bytes.
    package static let urlLimit = 65_536
    /// Maximum length of the line, in bytes.
    package static let lineLimit = urlLimit + 32

    /// Reads the bytes that have arrived so far.
    ///
    /// - Returns: nil if part of the line is missing.
    package init?(_ bytes: [UInt8]) throws(ParseError) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            if bytes.count > Self.lineLimit { throw .tooLong }
            return nil
        }
        guard end == bytes.count - 1 else { throw .notAlone }
        guard end <= Self.lineLimit else { throw .tooLong }
        let words = bytes[..<end].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3, words[0].elementsEqual(Self.version.utf8),
            let verb = Verb.allCases.first(where: { words[1].elementsEqual($0.rawValue.utf8) }),
            words[2].count <= Self.urlLimit, words[2].allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw .malformed }
        let url: GenericURL
        do throws(GenericURL.ParseError) {
            url = try GenericURL(String(decoding: words[2], as: UTF8.self))
        } catch {
            throw .malformed
        }
        guard url.scheme != nil else { throw .malformed }
        self.verb = verb
        self.url = url
    }
}
