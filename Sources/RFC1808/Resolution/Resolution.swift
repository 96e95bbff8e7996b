extension GenericURL {
    /// The URL that this reference means beside `base` (RFC 1808 section 4, or RFC 3986 section 5.2).
    ///
    /// The base may itself be relative or opaque; what it lacks, the result lacks. The result has at most the length of both
    /// and three bytes, so it can be longer than the limit that either was parsed with;
    /// ``resolving(reference:mode:maximumLength:)`` keeps to a limit. Parsing its text gives the same components; where the
    /// plain concatenation of the parts would mean something else, the path gets a prefix:
    ///
    /// - `..//evil/x` beside `todolist:/a/b` is `todolist:/.//evil/x`, not the host `evil`;
    /// - `;x` or `g` beside `http://a` gets a `/`, else it would be part of the host;
    /// - a relative result such as `b:c` gets `./`, else `b` would be a scheme; so does one with nothing left of its path.
    public func resolved(against base: GenericURL, mode: ResolutionMode = .rfc1808) -> GenericURL {
        if layout.schemeEnd > 0, mode == .rfc1808 || isOpaque { return self }
        return GenericURL(layout, string.utf8.span, against: base, mode)
    }

    /// Parses a reference that may be empty and resolves it against this URL.
    ///
    /// The empty reference means this URL, with its fragment by RFC 1808 (decision D4) and without it by RFC 3986; a URL that
    /// is only a fragment keeps it, since none is empty.
    ///
    /// - Parameters:
    ///   - reference: What to parse.
    ///   - mode: The algorithm that resolves it.
    ///   - maximumLength: The longest accepted reference, and the longest result, in bytes.
    /// - Returns: What the reference means beside this URL.
    /// - Throws: ``ParseError`` with the offset in the reference of the byte that is wrong, or with
    ///   ``ParseError/Reason/tooLong`` if the reference or the result is.
    public func resolving(
        reference: String,
        mode: ResolutionMode = .rfc1808,
        maximumLength: Int = defaultMaximumLength
    ) throws(ParseError) -> GenericURL {
        guard reference.isEmpty else {
            let bytes = reference.utf8.span
            let layout = try Layout(parsing: bytes, maximumLength: maximumLength)
            if layout.schemeEnd > 0, mode == .rfc1808 || layout.isOpaque {
                return GenericURL(string: reference, layout: layout)
            }
            return try GenericURL(layout, bytes, against: self, mode, maximumLength: maximumLength)
        }
        // Without its fragment, `#top` would be the empty reference again.
        let end = mode == .rfc3986 && layout.queryEnd > 0 ? layout.queryEnd : string.utf8.count
        guard end <= maximumLength else {
            throw ParseError(.tooLong, at: max(maximumLength, 0), in: string.utf8.span)
        }
        return end == string.utf8.count ? self : GenericURL(string: String(view(0..<end)), layout: layout)
    }

    private init(
        _ layout: Layout,
        _ bytes: Span<UInt8>,
        against base: GenericURL,
        _ mode: ResolutionMode,
        maximumLength: Int
    ) throws(ParseError) {
        self.init(layout, bytes, against: base, mode)
        guard string.utf8.count <= maximumLength else {
            throw ParseError(.tooLong, at: max(maximumLength, 0), in: string.utf8.span)
        }
    }

    private init(_ layout: Layout, _ bytes: Span<UInt8>, against base: GenericURL, _ mode: ResolutionMode) {
        let baseBytes = base.string.utf8.span
        let parts =
            switch mode {
            case .rfc1808: ResolvedParts(rfc1808: layout, bytes, against: base.layout, baseBytes)
            case .rfc3986: ResolvedParts(rfc3986: layout, bytes, against: base.layout, baseBytes)
            }
        var result = Layout()
        let capacity = parts.capacity(base: base.layout, referenceCount: bytes.count)
        string = String(utf8Capacity: capacity) { output in
            parts.write(base: base.layout, baseBytes, reference: layout, bytes, to: &output, &result)
        }
        self.layout = result
    }
}
