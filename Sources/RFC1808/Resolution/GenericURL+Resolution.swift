extension GenericURL {
    /// Returns the URL that this reference means relative to `base` (RFC 1808 section 4, or RFC 3986 section 5.2).
    ///
    /// The base may be relative or opaque. If neither it nor the reference has a scheme or a network location, the
    /// result has none. The result is at most three bytes longer than both together, so it can exceed the length limit
    /// of either. To limit the length, use ``resolving(reference:mode:maximumLength:)``.
    ///
    /// If you parse the result's text, you get the same components. If simply joining the parts would produce a URL
    /// with a different meaning, the path gets a prefix:
    ///
    /// - `..//evil/x` against `todolist:/a/b` gives `todolist:/.//evil/x`, so `evil` does not become the host;
    /// - `;x` or `g` against `http://a` gets a `/` in front of it, so it does not become part of the host;
    /// - a relative result such as `b:c` gets `./` in front of it, so `b` does not become a scheme;
    /// - a relative result whose path has become empty also gets `./`.
    public func resolved(against base: GenericURL, mode: ResolutionMode = .rfc1808) -> GenericURL {
        if layout.schemeEnd > 0, mode == .rfc1808 || isOpaque { return self }
        return GenericURL(layout, string.utf8.span, against: base, mode)
    }

    /// Parses a reference, which may be empty, and resolves it against this URL.
    ///
    /// An empty reference means this URL, with its fragment in the RFC 1808 algorithm (decision D4), and without it in
    /// the RFC 3986 algorithm. A URL that consists only of a fragment keeps the fragment, because no URL is empty.
    ///
    /// - Parameters:
    ///   - reference: The text of the reference to parse.
    ///   - mode: The algorithm that resolves the reference.
    ///   - maximumLength: The maximum length of the reference, and of the result, in bytes.
    /// - Returns: The URL that the reference means relative to this URL.
    /// - Throws: ``ParseError`` with the offset of the wrong byte in the reference, or with
    ///   ``ParseError/Reason/tooLong`` if the reference or the result is too long.
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
        // Without its fragment, a URL such as `#top` would be empty.
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
