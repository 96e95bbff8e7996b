extension ResolvedParts {
    /// Returns the largest possible length of the text, in bytes: all parts, a slash at the root, and the longest path
    /// prefix.
    func capacity(base: Layout, referenceCount: Int) -> Int {
        base.pathStart + directory.count + (path == .base ? pathRange.count : 0)
            + (query == .base ? base.queryEnd - base.parametersEnd : 0) + referenceCount + 3
    }

    /// Writes the parts in such a way that parsing the text gives the same parts (RFC 1808 section 4, step 7), and
    /// stores the positions of the components in `layout`.
    ///
    /// Adjacent parts of one URL are copied in one piece, with their separators, because this is faster than copying
    /// each separately.
    func write(
        base: Layout,
        _ baseBytes: Span<UInt8>,
        reference: Layout,
        _ bytes: Span<UInt8>,
        to output: inout OutputSpan<UInt8>,
        _ layout: inout Layout
    ) {
        if scheme == .base, networkLocation == .base {
            layout = base
            output.append(copying: baseBytes.extracting(first: base.pathStart))
        } else {
            layout.schemeEnd = (scheme == .base ? base : reference).schemeEnd
            output.append(copying: (scheme == .base ? baseBytes : bytes).extracting(first: layout.hierarchyStart))
            if let networkLocation {
                let source = networkLocation == .base ? base : reference
                layout.copyNetworkLocation(of: source, to: output.count)
                let location = source.hierarchyStart..<source.pathStart
                output.append(copying: (networkLocation == .base ? baseBytes : bytes).extracting(location))
            }
        }

        let tailStart =
            query == .base ? reference.queryEnd : pathHoldsParameters ? reference.parametersEnd : reference.pathEnd
        layout.pathStart = output.count
        writePath(
            (path == .base ? baseBytes : bytes).extracting(pathRange),
            baseBytes.extracting(directory),
            to: &output
        )
        insertPathPrefix(layout, hasParametersAfterPath: tailStart < reference.parametersEnd, in: &output)
        layout.isOpaque =
            layout.schemeEnd > 0 && networkLocation == nil && output.byte(at: layout.pathStart) != UInt8(ascii: "/")

        let pathEnd = output.count
        layout.parametersEnd = pathEnd + max(reference.parametersEnd - tailStart, 0)
        layout.pathEnd =
            if layout.isOpaque { layout.parametersEnd } else if pathHoldsParameters {
                output.firstIndex(of: ";", from: layout.pathStart)
            } else { pathEnd }
        let querySource = query == .base ? base : reference
        layout.queryEnd = layout.parametersEnd + querySource.queryEnd - querySource.parametersEnd
        if query == .base { output.append(copying: baseBytes.extracting(base.parametersEnd..<base.queryEnd)) }
        output.append(copying: bytes.extracting(tailStart...))
    }

    private func writePath(_ path: Span<UInt8>, _ directory: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        guard case .removed(let keepingSurplus) = dotSegments else { return output.append(copying: path) }
        var floor = output.count
        if startsAtRoot {
            output.append(UInt8(ascii: "/"))
            floor += 1
        } else if (directory.isEmpty ? path : directory).byte(at: 0) == UInt8(ascii: "/") {
            floor += 1
        }
        output.appendSegments(directory, floor: floor, keepingSurplus: keepingSurplus)
        output.appendSegments(path, floor: floor, keepingSurplus: keepingSurplus)
    }

    /// Inserts a prefix in front of a path if the parser would otherwise read it as part of another component.
    private func insertPathPrefix(_ layout: Layout, hasParametersAfterPath: Bool, in output: inout OutputSpan<UInt8>) {
        let start = layout.pathStart
        let isEmpty = start == output.count
        if output.byte(at: start) == UInt8(ascii: "/") {
            if networkLocation == nil, output.byte(at: start + 1) == UInt8(ascii: "/") {
                // The parser would read `//` as the start of a network location.
                output.insert("/", ".", at: start)
            }
        } else if networkLocation != nil {
            // Anything except a slash would be read as part of the network location.
            if !isEmpty || hasParametersAfterPath { output.insert("/", at: start) }
        } else if layout.schemeEnd == 0 {
            var wasMerged = false
            if case .removed = dotSegments { wasMerged = true }
            if isEmpty ? wasMerged : output.hasColonInFirstSegment(from: start) {
                // If there is a colon, the parser would read the text before it as a scheme. And an empty path would
                // later resolve to the whole path of a base instead of the base's directory.
                output.insert(".", "/", at: start)
            }
        }
    }
}

extension Layout {
    /// Takes over the positions of a network location from `other`; in this layout, its `//` is at `start`.
    fileprivate mutating func copyNetworkLocation(of other: Layout, to start: Int) {
        let shift = start - other.hierarchyStart
        userEnd = other.userEnd + shift
        hostStart = other.hostStart + shift
        hostEnd = other.hostEnd + shift
        port = other.port
    }
}
