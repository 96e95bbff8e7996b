import RFC1808

@testable import Relay

/// Reads bytes as a request from another machine or a container, whole and in pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let line = bytes.firstIndex(of: UInt8(ascii: "\n"))
    do throws(RelayRequest.ParseError) {
        guard let request = try RelayRequest(bytes) else {
            precondition(line == nil)
            return 0
        }
        // A request is read as it is printed, and nothing may follow it.
        precondition(Array("openurl/1 \(request.verb.rawValue) \(request.url)\n".utf8) == bytes)
        precondition(bytes.dropLast().allSatisfy { (0x20...0x7E).contains($0) } && request.url.scheme != nil)
        precondition((try? RelayRequest(bytes + [0x20])) == nil)
        if let signIn = SignIn(of: request.url) {
            precondition(["http", "https"].contains(request.url.lowercasedScheme))
            precondition(["127.0.0.1", "[::1]", "localhost"].contains(signIn.redirect.host.map { $0.lowercased() }))
        }
        // Each beginning of a request is incomplete.
        precondition((try? RelayRequest(Array(bytes.dropLast()))) ?? nil == nil)
    } catch {
        precondition(line != nil || bytes.count > RelayRequest.lineLimit)
    }
    let reply = RelayReply.failed(7, String(decoding: bytes, as: UTF8.self)).line
    precondition(reply.utf8.dropLast().allSatisfy { (0x20...0x7E).contains($0) } && reply.utf8.count < 1100)
    return 0
}
