@testable import RFC1808
@testable import WebLinks

/// Reads a text as a link, as a pattern, as a claim of a manifest, and as the answer of `openurl-proofs`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let text = String(decoding: bytes, as: UTF8.self)
    checkAnswer(bytes)
    let words = text.unicodeScalars.split(separator: "\n", maxSplits: 2).map { String($0) }
    for word in words {
        if let claim = try? AssociatedDomain(word) {
            precondition((try? AssociatedDomain(claim.description)) == claim)
        }
        if let url = try? GenericURL(word), let link = try? WebLink(url) { checkLink(link, url) }
    }
    guard words.count > 1, let pattern = try? PathPattern(words[0]), let path = try? LinkPath(words[1]) else {
        return 0
    }
    precondition((try? PathPattern(pattern.rawValue)) == pattern)
    // Ignoring case never makes a pattern match less.
    if pattern.matches(path) { precondition(pattern.matches(path, ignoringCase: true)) }
    let excluded = PathRules([PathRules.Rule(pattern, isExcluded: true), PathRules.Rule(.all)])
    precondition(excluded?.pattern(for: path) == nil || !pattern.matches(path))
    return 0
}

/// Checks that a link has nothing that another program could read differently.
private func checkLink(_ link: WebLink, _ url: GenericURL) {
    precondition(url.lowercasedScheme == "https" && url.user == nil && url.parameters == nil)
    precondition(link.host.rawValue == url.host?.lowercased())
    let path = String(decoding: link.path.bytes, as: UTF8.self)
    precondition(path.utf8.elementsEqual(link.path.bytes) && path.hasPrefix("/"))
    let segments = path.dropFirst().utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for segment in segments.dropLast() { precondition(!segment.isEmpty) }
    for segment in segments { precondition(!segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8)) }
    precondition(!path.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: ";") })
    precondition(PathPattern.all.matches(link.path))
}

private func checkAnswer(_ bytes: [UInt8]) {
    guard let host = try? WebHost("example.com") else { preconditionFailure() }
    guard let answer = SiteAnswer(bytes: bytes, from: host, about: ["com.example.app"]) else { return }
    precondition(answer.text.utf8.elementsEqual(bytes))
    if case .file(let apps) = answer.outcome { precondition(apps.keys.allSatisfy { $0 == "com.example.app" }) }
}
