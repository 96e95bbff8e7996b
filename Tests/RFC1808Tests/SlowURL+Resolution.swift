extension SlowURL {
    /// Resolves the URL according to RFC 1808 section 4.
    func resolved1808(against base: SlowURL) -> String {
        if scheme != nil { return text }
        var result = self
        result.scheme = base.scheme
        var wasMerged = false
        if networkLocation == nil || networkLocation == "" {
            result.networkLocation = base.networkLocation ?? networkLocation
            let (basePath, baseParameters) = base.pathAndParameters
            if path.isEmpty {
                result.path = basePath
                if parameters == nil {
                    result.parameters = baseParameters
                    if query == nil { result.query = base.query }
                }
            } else if !path.hasPrefix("/") {
                wasMerged = true
                result.path = Self.removeDots1808(merged(with: basePath, base))
            }
        }
        return result.text(wasMerged: wasMerged)
    }

    /// Resolves the URL by RFC 3986 section 5.2.
    func resolved3986(against base: SlowURL) -> String {
        if opaquePart != nil { return text }
        var result = self
        result.parameters = nil
        let own = path + (parameters.map { ";" + $0 } ?? "")
        let (basePath, baseParameters) = base.pathAndParameters
        let whole = basePath + (baseParameters.map { ";" + $0 } ?? "")
        var wasMerged = false
        if scheme != nil || networkLocation != nil {
            result.scheme = scheme ?? base.scheme
            result.path = Self.removeDots3986(own)
        } else {
            result.scheme = base.scheme
            result.networkLocation = base.networkLocation
            if own.isEmpty {
                result.path = whole
                if query == nil { result.query = base.query }
            } else if own.hasPrefix("/") {
                result.path = Self.removeDots3986(own)
            } else {
                wasMerged = true
                result.path = Self.removeDots3986(merged(own, with: whole, base))
            }
        }
        return result.text(wasMerged: wasMerged)
    }

    private var pathAndParameters: (String, String?) {
        guard let opaquePart else { return (path, parameters) }
        let pieces = opaquePart.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(pieces[0]), pieces.count > 1 ? String(pieces[1]) : nil)
    }

    private func merged(_ own: String? = nil, with basePath: String, _ base: SlowURL) -> String {
        var directory = basePath
        while !directory.isEmpty, !directory.hasSuffix("/") { directory.removeLast() }
        if basePath.isEmpty, base.networkLocation != nil { directory = "/" }
        return directory + (own ?? path)
    }

    /// Removes dot segments by the literal rules of step 6 in RFC 1808 section 4. The path excludes its initial slash.
    private static func removeDots1808(_ path: String) -> String {
        let root = path.hasPrefix("/") ? "/" : ""
        var segments = path.dropFirst(root.count).split(separator: "/", omittingEmptySubsequences: false).map(
            String.init
        )
        // a) and b)
        let last = segments.removeLast()
        segments = segments.filter { $0 != "." } + [last == "." ? "" : last]
        // c)
        func match() -> Int? {
            segments.indices.dropLast(2).first { segments[$0] != ".." && segments[$0 + 1] == ".." }
        }
        while let index = match() { segments.removeSubrange(index...index + 1) }
        // d)
        if segments.count >= 2, segments[segments.count - 1] == "..", segments[segments.count - 2] != ".." {
            segments.removeLast(2)
            segments.append("")
        }
        return root + segments.joined(separator: "/")
    }

    /// Removes dot segments by the literal rules of RFC 3986 section 5.2.4. A path without an initial slash gets one
    /// during the removal.
    private static func removeDots3986(_ path: String) -> String {
        guard !path.isEmpty else { return path }
        guard path.hasPrefix("/") else { return String(removeDots3986("/" + path).dropFirst()) }
        var input = path
        var output = ""
        while !input.isEmpty {
            if input.hasPrefix("/./") {
                input.removeFirst(2)
            } else if input == "/." {
                input = "/"
            } else if input.hasPrefix("/../") || input == "/.." {
                input = input == "/.." ? "/" : String(input.dropFirst(3))
                while let last = output.popLast(), last != "/" {}
            } else {
                let segment = "/" + input.dropFirst().prefix { $0 != "/" }
                output += segment
                input.removeFirst(segment.count)
            }
        }
        return output
    }

    private var text: String { text(wasMerged: false) }

    private func text(wasMerged: Bool) -> String {
        var path = opaquePart ?? path
        if networkLocation != nil, !path.hasPrefix("/"), !path.isEmpty || parameters != nil { path = "/" + path }
        if networkLocation == nil, path.hasPrefix("//") { path = "/." + path }
        if scheme == nil, networkLocation == nil {
            let firstSegment = path.prefix { !"/;".contains($0) }
            if firstSegment.contains(":") || path.isEmpty && wasMerged { path = "./" + path }
        }
        return (scheme.map { $0 + ":" } ?? "") + (networkLocation.map { "//" + $0 } ?? "") + path
            + (parameters.map { ";" + $0 } ?? "") + (query.map { "?" + $0 } ?? "") + (fragment.map { "#" + $0 } ?? "")
    }
}
