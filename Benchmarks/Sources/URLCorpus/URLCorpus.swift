/// URLs for measuring parsers. A generator with a fixed seed makes the same ones in every run.
///
/// Half of them are typical for a router of custom schemes, the other half for a browser. They include user
/// information, IPv6 hosts, ports, parameters, queries and escapes. Some are short and some long, with 89 bytes on
/// average.
public struct URLCorpus: Sendable {
    /// Absolute URLs.
    public let urls: [String]
    /// References to resolve, each against ``base``.
    public let references: [String]
    /// Absolute URLs of the web, of 47 bytes on average. Every parser accepts each of them unchanged.
    public let webURLs: [String]
    /// A base URL, as deep as is typical on the web.
    public let base = "http://user@www.example.com:8080/a/b/c/d.html;p=1?q=2#f"

    /// Returns the mean length of some URLs, in whole bytes.
    public static func meanLength(of urls: [String]) -> Int {
        urls.isEmpty ? 0 : (urls.reduce(0) { $0 + $1.utf8.count } + urls.count / 2) / urls.count
    }

    /// Generates `count` URLs and as many references.
    public init(count: Int) {
        var generator = SplitMix64(state: 1808)
        urls = (0..<count).map { _ in generator.url() }
        references = (0..<count).map { _ in generator.reference() }
        webURLs = (0..<count).map { _ in generator.webURL() }
    }
}

/// A small generator whose sequence is known (Steele, Lea, Flood 2014).
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func word() -> String {
        let words = [
            "list", "task", "quarterly", "report", "open", "edit", "groceries", "image", "index.html", "2026-11-21",
            "x", "profile", "settings", "com.acme.todolist", "b7f3c2e0", "search", "thumbnail-large", "en_GB",
        ]
        var word = words[Int.random(in: 0..<words.count, using: &self)]
        if chance(15) { word += "%20" + words[Int.random(in: 0..<words.count, using: &self)] }
        if chance(4) { word += "%C3%A9%E2%82%AC" }
        return word
    }

    mutating func path(_ depths: ClosedRange<Int>) -> String {
        var path = ""
        for _ in 0..<Int.random(in: depths, using: &self) { path += "/" + word() }
        return path
    }

    mutating func tail() -> String {
        var tail = ""
        if chance(8) { tail += ";" + word() }
        if chance(60) {
            let count = chance(15) ? Int.random(in: 4...13, using: &self) : Int.random(in: 1...3, using: &self)
            tail += "?" + (0..<count).map { _ in word() + "=" + word() }.joined(separator: "&")
        }
        if chance(25) { tail += "#" + word() }
        return tail
    }

    mutating func host() -> String {
        var location = ""
        if chance(8) { location += chance(50) ? "user:pa55word@" : "user@" }
        if chance(6) {
            location += chance(50) ? "[2001:db8:85a3::8a2e:370:7334]" : "[fe80::1%25eth0]"
        } else {
            let names = ["www.example.com", "acme.com", "localhost", "cdn.images.example.org", "192.0.2.17", "task"]
            location += names[Int.random(in: 0..<names.count, using: &self)]
        }
        if chance(10) { location += ":\(Int.random(in: 80...65_535, using: &self))" }
        return location
    }

    mutating func url() -> String {
        if chance(50) {
            let schemes = ["todolist", "com.acme.todolist", "x-callback", "spotify", "slack", "fb1234567890"]
            let scheme = schemes[Int.random(in: 0..<schemes.count, using: &self)]
            if chance(8) { return scheme + ":" + word() + (chance(50) ? "?" + word() : "") }
            return scheme + "://" + host() + (chance(15) ? "?" + word() : path(1...4) + tail())
        }
        return (chance(70) ? "https://" : "http://") + host() + path(1...6) + tail()
    }

    mutating func webURL() -> String {
        let names = [
            "www.example.com", "acme.com", "en.example.org", "cdn.images.example.org", "localhost", "docs.acme.io",
        ]
        let words = [
            "about", "search", "wiki", "docs", "index.html", "2026", "thumbnail-large.png", "en_GB", "issues",
            "Uniform_Resource_Locator", "b7f3c2e0", "latest", "products",
        ]
        func word(_ generator: inout SplitMix64) -> String { words[Int.random(in: 0..<words.count, using: &generator)] }
        var url = chance(90) ? "https://" : "http://"
        if chance(1) { url += chance(50) ? "user:pa55word@" : "user@" }
        url += names[Int.random(in: 0..<names.count, using: &self)]
        if chance(3) { url += ":\(Int.random(in: 1_024...65_535, using: &self))" }
        if chance(15) { return url + "/" }
        for _ in 0..<Int.random(in: 1...4, using: &self) { url += "/" + word(&self) }
        if chance(5) { url += "%20" + word(&self) }
        if chance(1) { url += ";" + word(&self) }
        if chance(30) { url += "?q=" + word(&self) + (chance(40) ? "&page=" + word(&self) : "") }
        if chance(10) { url += "#" + word(&self) }
        return url
    }

    mutating func reference() -> String {
        let prefixes = ["", "", "../", "../../", "./", "/", "//" + host() + "/"]
        return prefixes[Int.random(in: 0..<prefixes.count, using: &self)] + word() + path(0...3) + tail()
    }
}
