import RFC1808

@testable import OpenURLBus

/// Leaves the secrets of a URL out of the URL and out of a message. The first newline separates the two.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let parts = text.unicodeScalars.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map {
        String($0)
    }
    let message = parts.count > 1 ? parts[1] : ""
    let redacted = RedactedURL(parts[0])
    precondition(redacted.text.utf8.count <= 2048 + RedactedURL.mark.utf8.count)
    _ = redacted.redacting(message)
    guard let query = (try? GenericURL(parts[0]))?.query, query.utf8.count >= 8 else { return 0 }
    // The query is hidden in whatever the message says around it.
    precondition(!Array(redacted.redacting("\(message) \(query) \(message)").utf8).contains(Array(query.utf8)))
    return 0
}
