@testable import RFC1808

/// Parses, prints, decodes, resolves, rebuilds and edits a URL. The process stops at a property that does not hold.
///
/// The first newline splits the input into a base and a reference. A URL cannot contain a newline.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    let bytes = Array(input)
    // AddressSanitizer knows the exact end of the fuzzer's own memory, but not the exact end of an array's elements.
    precondition((try? GenericURL(utf8: input.span))?.description == (try? GenericURL(utf8: bytes.span))?.description)
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let urls = parts.compactMap { checkedParse(Array($0)) }
    for url in urls {
        checkDecoding(url)
        checkRebuilding(url)
        for (index, piece) in parts.enumerated() {
            checkReplacing(url, with: piece)
            checkAppending(url, name: piece, value: index == 0 ? nil : parts[0])
        }
        precondition(url.isEquivalent(to: url))
        for base in urls { checkResolving(url, against: base) }
    }
    return 0
}

/// Checks that accepted input prints unchanged, and that a refusal names a byte of the input or its end.
private func checkedParse(_ bytes: [UInt8]) -> GenericURL? {
    do throws(GenericURL.ParseError) {
        let url = try GenericURL(utf8: bytes.span)
        precondition(Array(url.description.utf8) == bytes)
        precondition(checkedComponents(url).reduce(0) { $0 + ($1?.utf8.count ?? 0) } <= 3 * bytes.count)
        let text = url.debugDescription
        precondition(url.password == nil ? text == url.description : text.contains(":***@"))
        return url
    } catch {
        precondition((0...bytes.count).contains(error.offset))
        precondition(error.byte == (error.offset < bytes.count ? bytes[error.offset] : nil))
        precondition(!error.description.isEmpty)
        return nil
    }
}

/// Returns all raw components, after a check that the components and their separators make up the URL.
private func checkedComponents(_ url: GenericURL) -> [Substring?] {
    var text = ""
    if let scheme = url.scheme { text += scheme + ":" }
    if let location = url.networkLocation {
        text += "//" + location
        var parts = ""
        if let user = url.user { parts += user + (url.password.map { ":" + $0 } ?? "") + "@" }
        parts += url.host ?? ""
        precondition(location == parts || location.hasPrefix(parts + ":"))
        precondition(url.port == nil || location.hasSuffix("\(url.port ?? 0)"))
    }
    text += (url.opaquePart ?? url.path) + (url.parameters.map { ";" + $0 } ?? "")
    text += (url.query.map { "?" + $0 } ?? "") + (url.fragment.map { "#" + $0 } ?? "")
    precondition(text == url.description)
    precondition(url.isOpaque == (url.opaquePart != nil))
    let components = [
        url.networkLocation, url.user, url.password, url.host, url.path, url.parameters, url.query, url.fragment,
        url.opaquePart, url.scheme.map { $0[...] },
    ]
    let bytes = [
        url.bytes.networkLocation, url.bytes.user, url.bytes.password, url.bytes.host, url.bytes.path,
        url.bytes.parameters, url.bytes.query, url.bytes.fragment, url.bytes.opaquePart, url.bytes.scheme,
    ]
    precondition(bytes.map { $0.map(Array.init) } == components.map { $0.map { Array($0.utf8) } })
    return components
}

private func checkDecoding(_ url: GenericURL) {
    for component in GenericURL.Component.allCases {
        let bytes = url.decodedBytes(component)
        do throws(GenericURL.PercentDecodingError) {
            let text = try url.decoded(component)
            precondition((text == nil) == (bytes == nil))
            guard let text, let bytes else { continue }
            precondition(text.utf8.elementsEqual(bytes))
            precondition(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        } catch {
            precondition(Array(url.description.utf8)[error.offset] == UInt8(ascii: "%"))
        }
    }
    let segments = url.pathSegments.map { $0.raw }
    precondition((url.path.hasPrefix("/") ? "/" : "") + segments.joined(separator: "/") == url.path)
    let items = url.queryItems.map { $0.name.raw + ($0.value.map { "=" + $0.raw } ?? "") }
    precondition(items.joined(separator: "&") == url.query ?? "")
    precondition(url.pathSegments.reversed().map { $0.raw } == segments.reversed())
    precondition(url.queryItems.reversed().map { $0.description[...] } == items.reversed())
}

/// Checks that a URL that is built from decoded parts has the same parts.
private func checkRebuilding(_ url: GenericURL) {
    guard let parts = decodedParts(url) else { return }
    do throws(GenericURL.BuildError) {
        let again = try parts.build()
        precondition(parts == decodedParts(again))
    } catch {
        precondition(error.reason == .tooLong)
    }
}

/// Checks that a replaced component has its new text, or is absent, and that all other components keep their bytes.
private func checkReplacing(_ url: GenericURL, with piece: some Collection<UInt8>) {
    let text = String(decoding: piece, as: UTF8.self)
    let before = replaceable(url)
    for (component, own) in before {
        precondition((try? url.replacing(component, with: own.map(String.init))) == url)
        for raw in [text, nil] {
            do throws(GenericURL.ParseError) {
                let result = try url.replacing(component, with: raw)
                var after = before
                after[component] = .some(component == .path ? raw.map { $0[...] } ?? "" : raw.map { $0[...] })
                precondition(replaceable(result) == after)
                precondition(result.scheme == url.scheme && result.port == url.port)
                precondition(checkedParse(Array(result.description.utf8)) == result)
            } catch {
                precondition((0...(raw ?? "").utf8.count).contains(error.offset))
                precondition(error.byte == Array((raw ?? "").utf8).dropFirst(error.offset).first)
            }
        }
    }
}

/// Checks that appending adds one item to the query, and that removing the item restores the URL.
private func checkAppending(_ url: GenericURL, name: some Collection<UInt8>, value: (some Collection<UInt8>)?) {
    let name = String(decoding: name, as: UTF8.self)
    let value = value.map { String(decoding: $0, as: UTF8.self) }
    let result = url.appending(queryItem: .init(name: name, value: value))
    precondition(result.queryItems.last?.name.decodedBytes() == Array(name.utf8))
    precondition(result.queryItems.last?.value?.decodedBytes() == value.map { Array($0.utf8) })
    precondition(result.queryItems.count == (url.query == "" ? 0 : url.queryItems.count) + 1)
    precondition((try? result.replacing(.query, with: url.query.map(String.init))) == url)
    precondition(checkedComponents(result)[0...5] == checkedComponents(url)[0...5])
    guard let again = try? GenericURL(result.description, maximumLength: .max) else {
        preconditionFailure("\(result) does not parse")
    }
    precondition(checkedComponents(again) == checkedComponents(result))
}

/// The components that can be replaced.
private func replaceable(_ url: GenericURL) -> [GenericURL.Component: Substring?] {
    [
        .user: url.user, .password: url.password, .host: url.host, .path: url.path, .parameters: url.parameters,
        .query: url.query, .fragment: url.fragment, .opaquePart: url.opaquePart,
    ]
}

private func decodedParts(_ url: GenericURL) -> GenericURL.Builder? {
    do throws(GenericURL.PercentDecodingError) {
        return try GenericURL.Builder(url)
    } catch {
        precondition(!error.description.isEmpty)
        return nil
    }
}

/// Checks that parsing the printed result of a resolution gives the same components.
private func checkResolving(_ reference: GenericURL, against base: GenericURL) {
    for mode in GenericURL.ResolutionMode.allCases {
        let result = reference.resolved(against: base, mode: mode)
        do throws(GenericURL.ParseError) {
            let again = try GenericURL(result.description, maximumLength: .max)
            precondition(checkedComponents(again) == checkedComponents(result))
            precondition(again.port == result.port)
        } catch {
            preconditionFailure("\(result) does not parse: \(error)")
        }
        precondition(result.fragment == reference.fragment)
        precondition(result.scheme == reference.scheme ?? base.scheme)
        if base.networkLocation == nil, reference.networkLocation == nil {
            precondition(reference.scheme != nil || result.networkLocation == nil)
        }
        let count = result.description.utf8.count
        precondition(count <= base.description.utf8.count + reference.description.utf8.count + 3)
    }
}
