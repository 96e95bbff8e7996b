internal import ByteCoding

/// The head of an HTTP request. The server accepts only a `GET` for one path, from this machine.
struct LoopbackRequest {
    /// The verdict on the bytes so far.
    enum Verdict: Hashable {
        /// Part of the head is missing.
        case incomplete
        /// The request is for the path that is served. `target` is the request target as written.
        case callback(target: String)
        /// The request is refused with this response.
        case refused(LoopbackResponse)
    }

    /// The path that is served.
    let path: String
    /// The allowed values of the `Host` header. A web page that reaches the server through the page's own host name
    /// sends a different value (DNS rebinding).
    let hosts: Set<String>

    /// Maximum size of a head, in bytes.
    static let limit = 32 << 10

    /// Judges the bytes that have arrived.
    func verdict(on bytes: [UInt8]) -> Verdict {
        guard let end = bytes.endOfHead else { return bytes.count >= Self.limit ? .refused(.tooLarge) : .incomplete }
        guard end <= Self.limit else { return .refused(.tooLarge) }
        guard let head = String(validating: bytes[..<end], as: UTF8.self), !head.hasTooManyMarks else {
            return .refused(.badRequest)
        }
        // HTTP ends a line with CR LF, which is one character in Swift.
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: true)[...]
        let words = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { return .refused(.badRequest) }
        let names = lines.compactMap { line in
            line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).first.map { $0.lowercased() }
        }
        let host = zip(names, lines).filter { $0.0 == "host" }.map { $0.1.dropFirst("host:".count).trimmed }
        guard host.count == 1, hosts.contains(host[0].lowercased()) else { return .refused(.misdirected) }
        guard words[0] == "GET" else { return .refused(.wrongMethod) }
        let target = words[1]
        guard target.prefix(while: { $0 != "?" && $0 != "#" }) == path else { return .refused(.notFound) }
        return .callback(target: String(target))
    }
}

extension [UInt8] {
    /// The length of the head, including the empty line at its end; nil if part of the head is missing.
    fileprivate var endOfHead: Int? {
        let mark = Array("\r\n\r\n".utf8)
        return firstRange(of: mark)?.upperBound
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
