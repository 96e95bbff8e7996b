extension GenericURL {
    /// Returns this URL with new text for one component. Every other byte stays unchanged.
    ///
    /// ```swift
    /// let url = try GenericURL("http://u:secret@h/a%2Cb?q=a+b")
    /// try url.replacing(.password, with: nil)     // http://u@h/a%2Cb?q=a+b
    /// try url.replacing(.query, with: "q=%26")    // http://u:secret@h/a%2Cb?q=%26
    /// ```
    ///
    /// The new text is raw and must already have its escapes; only ``Builder`` escapes text. A component's separator
    /// appears and disappears together with it. Nothing else changes: if you remove the host, the URL keeps its `//`.
    ///
    /// When the result is parsed, the component has the new text, and all others are unchanged, absent or present. If
    /// this is impossible, the change is refused, for example:
    ///
    /// - a user without a host;
    /// - parameters after a host without a path;
    /// - a path that would be read as a host, or that would make an opaque URL hierarchical;
    /// - the removal of the user while the URL has a password.
    ///
    /// This URL's length limit does not apply to the result.
    ///
    /// - Parameters:
    ///   - component: The component to replace.
    ///   - raw: The new text; `nil` removes the component. Because a path is never absent, `nil` makes it empty.
    /// - Throws: ``ParseError`` with the offset in `raw` of a byte that the component cannot contain, with
    ///   ``ParseError/Reason/misplacedComponent`` if the component cannot have this text, or with
    ///   ``ParseError/Reason/emptyInput`` if the URL would be empty.
    public func replacing(_ component: Component, with raw: String?) throws(ParseError) -> GenericURL {
        let text = raw ?? ""
        let bytes = text.utf8.span
        if raw != nil { try component.check(bytes) }
        let misplaced = ParseError(.misplacedComponent, at: 0, in: bytes)

        let isAbsent = raw == nil && component != .path
        var edited = string
        if let place = place(of: component) {
            let separated = isAbsent ? "" : place.prefix + text + place.suffix
            edited = view(0..<place.range.lowerBound) + separated + view(place.range.upperBound..<string.utf8.count)
        }
        let result: GenericURL
        do {
            result = try GenericURL(edited, maximumLength: .max)
        } catch {
            throw error.reason == .emptyInput ? error : misplaced
        }
        // This comparison finds any effect on another component, so no component needs its own rule.
        guard result.scheme == scheme, result.port == port else { throw misplaced }
        for other in Component.allCases {
            guard result.raw(other) == (other != component ? self.raw(other) : isAbsent ? nil : text[...]) else {
                throw misplaced
            }
        }
        return result
    }

    /// Returns this URL with one more item at the end of its query. Every other byte stays unchanged.
    ///
    /// If the URL has no query, a `?` precedes the item; if the query is not empty, an `&` does. This URL's length
    /// limit does not apply to the result.
    ///
    /// ```swift
    /// let url = try GenericURL("http://h/a%2Cb?q=a+b#f")
    /// url.appending(queryItem: .init(name: "title", value: "R&D"))    // http://h/a%2Cb?q=a+b&title=R%26D#f
    /// ```
    public func appending(queryItem item: QueryItem) -> GenericURL {
        let end = layout.queryEnd
        let added = (query.map { $0.isEmpty ? "" : "&" } ?? "?") + item.description
        var layout = layout
        layout.queryEnd += added.utf8.count
        return GenericURL(string: view(0..<end) + added + view(end..<string.utf8.count), layout: layout)
    }

    /// Returns the range that a component occupies, or would occupy, including its separators, and the separators to
    /// write around new text; `nil` if this URL has no place for it.
    private func place(of component: Component) -> (range: Range<Int>, prefix: String, suffix: String)? {
        switch component {
        case .user:
            guard let location = layout.networkLocation else { return nil }
            // The `@` has to stay, because a password follows.
            if let user = layout.user, layout.password != nil { return (user, "", "") }
            return (location.lowerBound..<layout.hostStart, "", "@")
        case .password:
            return layout.user.map { ($0.upperBound..<layout.hostStart - 1, ":", "") }
        case .host:
            guard layout.hasNetworkLocation else { return (layout.hierarchyStart..<layout.hierarchyStart, "//", "") }
            return (layout.hostStart..<layout.hostEnd, "", "")
        case .path:
            return layout.isOpaque ? nil : (layout.path, "", "")
        case .parameters:
            return (layout.pathEnd..<layout.parametersEnd, ";", "")
        case .query:
            return (layout.parametersEnd..<layout.queryEnd, "?", "")
        case .fragment:
            return (layout.queryEnd..<string.utf8.count, "#", "")
        case .opaquePart:
            return layout.opaquePart.map { ($0, "", "") }
        }
    }
}

extension GenericURL.Component {
    /// Throws an error about the first byte that this component cannot contain.
    fileprivate func check(_ bytes: Span<UInt8>) throws(GenericURL.ParseError) {
        if self == .host, bytes.byte(at: 0) == UInt8(ascii: "[") {
            let end = try bytes.endOfIPv6Literal(from: 0)
            guard end == bytes.count else { throw GenericURL.ParseError(.textAfterBracket, at: end, in: bytes) }
            return
        }
        let end = bytes.endOfEscaped(byteSet, from: 0)
        guard end < bytes.count else { return }
        if self == .host, bytes[end] == UInt8(ascii: ":") { throw GenericURL.ParseError(.badHost, at: end, in: bytes) }
        throw bytes.unexpectedByte(at: end)
    }

    /// The bytes that this component may contain without an escape.
    private var byteSet: ByteSet {
        switch self {
        case .user, .host: .networkLocation
        case .password: .password
        case .path: .path
        case .parameters, .opaquePart: .parameters
        case .query, .fragment: .query
        }
    }
}
