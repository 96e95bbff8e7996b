import Glibc

/// A second implementation of RFC 1808 sections 2.4 and 4, to compare the library with.
///
/// The implementation prefers obvious code over fast code. It follows the order of the RFC's text, works on strings and
/// shares no code with the library.
struct SlowURL: Equatable {
    var scheme: String?
    var networkLocation: String?
    var user: String?
    var password: String?
    var host: String?
    var port: Int?
    var path = ""
    var parameters: String?
    var query: String?
    var fragment: String?
    var opaquePart: String?

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    private static let digits = "0123456789"
    private static let hexDigits = "0123456789ABCDEFabcdef"
    private static let allowed = letters + digits + "-._~!$&'()*+,=:@/;?#%[]"

    /// Parses the string. The result is `nil` if the library must refuse the string.
    init?(_ string: String) {
        guard !string.isEmpty, string.utf8.count <= 65_536 else { return nil }
        guard string.unicodeScalars.allSatisfy(Self.allowed.unicodeScalars.contains) else { return nil }
        let pieces = string.split(separator: "%", omittingEmptySubsequences: false)
        for piece in pieces.dropFirst() {
            guard piece.count >= 2, piece.prefix(2).allSatisfy(Self.hexDigits.contains) else { return nil }
        }
        var rest = string

        // 2.4.1: the fragment.
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = String(rest[..<hash])
            guard fragment?.contains("#") == false else { return nil }
        }
        // 2.4.2: the scheme.
        if let colon = rest.firstIndex(of: ":") {
            let name = rest[..<colon]
            if name.allSatisfy((Self.letters + Self.digits + "+-.").contains) {
                guard let first = name.first, Self.letters.contains(first) else { return nil }
                scheme = String(name)
                rest = String(rest[rest.index(after: colon)...])
            } else if !name.contains(where: "/?;".contains) {
                return nil
            }
        }
        // 2.4.3: the network location.
        if rest.hasPrefix("//") {
            rest = String(rest.dropFirst(2))
            let location = String(rest.prefix { !"/?".contains($0) })
            rest = String(rest.dropFirst(location.count))
            networkLocation = location
            guard takeApart(location) else { return nil }
        }
        // 2.4.4: the query.
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = String(rest[..<mark])
        }
        if scheme != nil, networkLocation == nil, !rest.hasPrefix("/") {
            opaquePart = rest
        } else if let semicolon = rest.firstIndex(of: ";") {
            // 2.4.5: the parameters.
            parameters = String(rest[rest.index(after: semicolon)...])
            path = String(rest[..<semicolon])
        } else {
            path = rest
        }
        for part in [path, parameters, query, fragment, opaquePart] where part?.contains(where: "[]".contains) == true {
            return nil
        }
    }

    private mutating func takeApart(_ location: String) -> Bool {
        guard !location.isEmpty else { return true }
        let pieces = location.split(separator: "@", omittingEmptySubsequences: false).map(String.init)
        guard pieces.count <= 2, let hostAndPort = pieces.last else { return false }
        if pieces.count == 2 {
            guard !pieces[0].contains(where: "[]".contains) else { return false }
            if let colon = pieces[0].firstIndex(of: ":") {
                user = String(pieces[0][..<colon])
                password = String(pieces[0][pieces[0].index(after: colon)...])
            } else {
                user = pieces[0]
            }
        }
        let name: Substring
        if hostAndPort.hasPrefix("[") {
            guard let bracket = hostAndPort.firstIndex(of: "]") else { return false }
            name = hostAndPort[...bracket]
            guard Self.isIPv6(String(name.dropFirst().dropLast())) else { return false }
        } else {
            name = hostAndPort.prefix { $0 != ":" }
            guard !name.contains(where: "[]".contains) else { return false }
        }
        host = String(name)
        let portText = hostAndPort.dropFirst(name.count)
        guard !portText.isEmpty else { return true }
        guard portText.hasPrefix(":") else { return false }
        let number = portText.dropFirst()
        guard number.allSatisfy(Self.digits.contains) else { return false }
        if number.isEmpty { return true }
        let significant = number.drop { $0 == "0" }
        guard significant.count <= 5, let value = Int(significant.isEmpty ? "0" : significant), value <= 65_535 else {
            return false
        }
        port = value
        return true
    }

    /// Returns whether the C library accepts the text as an IPv6 address. A zone is `%25` and unreserved characters or
    /// escapes.
    private static func isIPv6(_ text: String) -> Bool {
        var address = text
        if let percent = text.firstIndex(of: "%") {
            address = String(text[..<percent])
            let zone = text[percent...]
            guard zone.hasPrefix("%25"), zone.count > 3 else { return false }
            guard zone.allSatisfy((letters + digits + "-._~%").contains) else { return false }
        }
        var result = in6_addr()
        return inet_pton(AF_INET6, address, &result) == 1
    }
}
