import RFC1808

@testable import Loopback

private let request = LoopbackRequest(path: "/callback", hosts: ["127.0.0.1:8080", "[::1]:8080", "localhost:8080"])
private let local = SocketTable.End(address: [127, 0, 0, 1], port: 8080)
private let remote = SocketTable.End(address: [127, 0, 0, 1], port: 40000)

/// Judges an HTTP request, whole and in part, and reads the same bytes as a line of the kernel's table of sockets.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let verdict = request.verdict(on: bytes)
    // Bytes that follow a head do not change its verdict.
    if verdict != .incomplete { precondition(request.verdict(on: bytes + [0x0D]) == verdict) }
    let part = request.verdict(on: Array(bytes.prefix(count / 2)))
    precondition(part == .incomplete || part == verdict)
    if case .callback(let target) = verdict {
        precondition(target.hasPrefix("/callback"))
        if let url = try? GenericURL("http://127.0.0.1:8080\(target)") {
            precondition(url.networkLocation == "127.0.0.1:8080" && url.path.hasPrefix("/callback"))
        }
    }
    let line = Substring(String(decoding: bytes, as: UTF8.self))
    if SocketTable.user(in: line, from: local, to: remote) != nil { precondition(line.contains(local.text)) }
    return 0
}
