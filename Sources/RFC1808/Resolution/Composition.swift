extension ResolvedParts {
    /// Writes the parts so that parsing the text gives them back (RFC 1808 section 4, step 7), and tells where each lies.
    func write(
        base: Layout,
        _ baseBytes: Span<UInt8>,
        reference: Layout,
        _ bytes: Span<UInt8>,
        to output: inout OutputSpan<UInt8>
    ) -> Layout {
        func append(_ part: Part, to output: inout OutputSpan<UInt8>) {
            output.append(copying: (part.origin == .base ? baseBytes : bytes).extracting(part.range))
        }
        func append(_ separator: Unicode.Scalar, _ part: Part?, to output: inout OutputSpan<UInt8>) {
            guard let part else { return }
            output.append(UInt8(ascii: separator))
            append(part, to: &output)
        }

        var layout = Layout()
        if let scheme {
            append(scheme, to: &output)
            layout.schemeEnd = output.count
            output.append(UInt8(ascii: ":"))
        }
        if let networkLocation {
            output.append(UInt8(ascii: "/"))
            output.append(UInt8(ascii: "/"))
            layout.copyNetworkLocation(of: networkLocation.origin == .base ? base : reference, to: output.count)
            append(networkLocation, to: &output)
        }
        layout.pathStart = output.count

        if let path {
            if case .removed(let keepingSurplus) = dotSegments {
                let source = (path.origin == .base ? baseBytes : bytes).extracting(path.range)
                let directory = baseBytes.extracting(directory)
                if startsAtRoot { output.append(UInt8(ascii: "/")) }
                let first = directory.isEmpty ? source.byte(at: 0) : directory[0]
                let floor = layout.pathStart + (startsAtRoot || first == UInt8(ascii: "/") ? 1 : 0)
                output.appendSegments(directory, floor: floor, keepingSurplus: keepingSurplus)
                output.appendSegments(source, floor: floor, keepingSurplus: keepingSurplus)
            } else {
                append(path, to: &output)
            }
        }
        insertPathPrefix(layout, in: &output)
        layout.isOpaque =
            scheme != nil && networkLocation == nil && output.byte(at: layout.pathStart) != UInt8(ascii: "/")

        layout.pathEnd = output.count
        append(";", parameters, to: &output)
        layout.parametersEnd = output.count
        if layout.isOpaque {
            layout.pathEnd = output.count
        } else if pathHoldsParameters {
            layout.pathEnd = output.firstIndex(of: ";", from: layout.pathStart)
        }
        append("?", query, to: &output)
        layout.queryEnd = output.count
        append("#", fragment, to: &output)
        return layout
    }

    /// Puts before the path what keeps it from being read as part of something else.
    private func insertPathPrefix(_ layout: Layout, in output: inout OutputSpan<UInt8>) {
        let start = layout.pathStart
        let isEmpty = start == output.count
        if output.byte(at: start) == UInt8(ascii: "/") {
            if networkLocation == nil, output.byte(at: start + 1) == UInt8(ascii: "/") {
                output.insert("/", ".", at: start)
            }
        } else if networkLocation != nil {
            if !isEmpty || parameters != nil { output.insert("/", at: start) }
        } else if scheme == nil {
            var wasMerged = false
            if case .removed = dotSegments { wasMerged = true }
            if isEmpty ? wasMerged : output.hasColonInFirstSegment(from: start) {
                output.insert(".", "/", at: start)
            }
        }
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
