/// What a resolved URL is put together from.
struct ResolvedParts {
    enum DotSegments {
        case kept
        case removed(keepingSurplus: Bool)
    }

    var scheme: String?
    /// The URL whose network location, if it has one, is the result's.
    var location: GenericURL?
    /// What precedes ``path``: empty, or ending in a slash.
    var directory: Substring = ""
    var path: Substring
    var dotSegments = DotSegments.kept
    var parameters: Substring?
    var query: Substring?
    var fragment: Substring?

    /// Writes the parts so that parsing the text gives them back (RFC 1808 section 4, step 7).
    func url() -> GenericURL {
        var bytes: [UInt8] = []
        var layout = Layout()
        if let scheme {
            bytes.append(contentsOf: scheme.utf8)
            layout.schemeEnd = bytes.count
            bytes.append(UInt8(ascii: ":"))
        }
        if let location, let text = location.networkLocation {
            bytes.append(contentsOf: "//".utf8)
            layout.copyNetworkLocation(of: location.layout, to: bytes.count)
            bytes.append(contentsOf: text.utf8)
        }

        layout.pathStart = bytes.count
        appendPath(to: &bytes)
        bytes.insert(contentsOf: pathPrefix(of: bytes[layout.pathStart...], layout).utf8, at: layout.pathStart)
        layout.isOpaque =
            layout.schemeEnd > 0 && !layout.hasNetworkLocation && bytes[layout.pathStart...].first != UInt8(ascii: "/")

        layout.pathEnd = bytes.count
        bytes.append(parameters, after: UInt8(ascii: ";"))
        layout.parametersEnd = bytes.count
        if layout.isOpaque {
            layout.pathEnd = bytes.count
        } else if let semicolon = bytes[layout.pathStart...].firstIndex(of: UInt8(ascii: ";")) {
            layout.pathEnd = semicolon
        }
        bytes.append(query, after: UInt8(ascii: "?"))
        layout.queryEnd = bytes.count
        bytes.append(fragment, after: UInt8(ascii: "#"))
        return GenericURL(string: String(decoding: bytes, as: UTF8.self), layout: layout)
    }

    private func appendPath(to bytes: inout [UInt8]) {
        guard case .removed(let keepingSurplus) = dotSegments else {
            bytes.append(contentsOf: path.utf8)
            return
        }
        var directory = directory.utf8
        var path = path.utf8
        if directory.startsWithSlash {
            directory.removeFirst()
            bytes.append(UInt8(ascii: "/"))
        } else if directory.isEmpty, path.startsWithSlash {
            path.removeFirst()
            bytes.append(UInt8(ascii: "/"))
        }
        let floor = bytes.count
        bytes.appendSegments(directory, floor: floor, keepingSurplus: keepingSurplus)
        bytes.appendSegments(path, floor: floor, keepingSurplus: keepingSurplus)
    }

    /// What must precede the path, so that it is not read as part of something else.
    private func pathPrefix(of path: ArraySlice<UInt8>, _ layout: Layout) -> String {
        let startsWithSlash = path.first == UInt8(ascii: "/")
        if layout.hasNetworkLocation {
            return startsWithSlash || path.isEmpty && parameters == nil ? "" : "/"
        }
        if startsWithSlash {
            return path.dropFirst().first == UInt8(ascii: "/") ? "/." : ""
        }
        guard layout.schemeEnd == 0 else { return "" }
        if path.isEmpty {
            if case .removed = dotSegments { return "./" } else { return "" }
        }
        return path.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ";") }.contains(UInt8(ascii: ":")) ? "./" : ""
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ component: Substring?, after separator: UInt8) {
        guard let component else { return }
        append(separator)
        append(contentsOf: component.utf8)
    }

    /// Appends segments without their dot segments; each `..` takes away the segment before it.
    ///
    /// Nothing is read twice but what a `..` takes away, so the time is linear.
    ///
    /// - Parameters:
    ///   - floor: Where the segments written so far start.
    ///   - keepingSurplus: Whether a `..` with nothing to take away stays (RFC 1808 step 6c) or goes (RFC 3986).
    fileprivate mutating func appendSegments(_ segments: Substring.UTF8View, floor: Int, keepingSurplus: Bool) {
        var rest = segments
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "/"))
            let segment = rest[..<(end ?? rest.endIndex)]
            let next = end.map { rest.index(after: $0) } ?? rest.endIndex
            if segment.elementsEqual("..".utf8) {
                let parent = startOfLastSegment(floor: floor)
                if let parent, !self[parent...].elementsEqual("../".utf8) {
                    removeSubrange(parent...)
                } else if keepingSurplus {
                    append(contentsOf: rest[..<next])
                }
            } else if !segment.elementsEqual(".".utf8) {
                append(contentsOf: rest[..<next])
            }
            rest = rest[next...]
        }
    }

    /// Where the last segment starts, which ends in a slash; `nil` if there is none.
    private func startOfLastSegment(floor: Int) -> Int? {
        guard count > floor else { return nil }
        let previousSlash = self[floor..<count - 1].lastIndex(of: UInt8(ascii: "/"))
        return previousSlash.map { $0 + 1 } ?? floor
    }
}

extension Layout {
    /// Takes over the parts of a network location that starts at `start` here.
    fileprivate mutating func copyNetworkLocation(of other: Layout, to start: Int) {
        let shift = start - (other.hierarchyStart + 2)
        userEnd = other.userEnd + shift
        hostStart = other.hostStart + shift
        hostEnd = other.hostEnd + shift
        port = other.port
        hasNetworkLocation = true
    }
}
