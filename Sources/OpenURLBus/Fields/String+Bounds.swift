extension String {
    /// Returns the longest beginning that consists of whole Unicode scalars and has at most this many bytes.
    package func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(self[..<end])
    }

    /// Returns the text, cut to at most this many bytes. If it was cut, it ends with an ellipsis, so that
    /// ``RedactedURL`` notices the cut.
    package func cut(toBytes limit: Int) -> String {
        utf8.count > limit ? prefix(bytes: limit - "…".utf8.count) + "…" : self
    }
}
