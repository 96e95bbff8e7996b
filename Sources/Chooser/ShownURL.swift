internal import RFC1808

/// A URL as people see it, in three parts: the host, which is always in full, and the shortened text around it.
///
/// A `GenericURL` consists of printable ASCII, so the text has no character that looks like another one, that changes the
/// direction of the text, or that is invisible. Internationalized hosts are in Punycode.
struct ShownURL: Hashable {
    /// The scheme and the user.
    var before: String
    /// The host; empty if the URL has none.
    var host: String
    /// The port, the path and the rest.
    var after: String

    private static let maximumBefore = 40
    private static let maximumAfter = 100

    init(_ url: GenericURL) {
        let text = url.description
        guard let host = url.host, !host.isEmpty else {
            before = ""
            self.host = ""
            after = shortened(text[...], to: Self.maximumBefore + Self.maximumAfter)
            return
        }
        before = shortened(text[..<host.startIndex], to: Self.maximumBefore)
        self.host = String(host)
        after = shortened(text[host.endIndex...], to: Self.maximumAfter)
    }

    var text: String { before + host + after }
}

/// Returns a text of one-byte characters with an ellipsis in its middle if it has more characters.
func shortened(_ text: Substring, to maximum: Int) -> String {
    guard text.utf8.count > maximum else { return String(text) }
    let end = maximum / 2
    return "\(text.prefix(maximum - 1 - end))…\(text.suffix(end))"
}
