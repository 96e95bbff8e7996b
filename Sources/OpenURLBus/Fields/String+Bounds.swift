extension String {
    /// The longest beginning of whole Unicode scalars with at most a number of bytes.
    package func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(self[..<end])
    }

    /// The text with at most a number of bytes. A longer text ends with an ellipsis, which tells ``RedactedURL`` that it was cut.
    package func cut(toBytes limit: Int) -> String {
        utf8.count > limit ? prefix(bytes: limit - "…".utf8.count) + "…" : self
    }
}
