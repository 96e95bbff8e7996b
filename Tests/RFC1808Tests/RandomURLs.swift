import Glibc
import TestSupport
import Testing

/// Generates random strings: URLs, near-URLs and noise.
struct RandomURLs {
    /// The number of cases for each property. The environment variable `RFC1808_CASES` overrides the default, which
    /// takes a few seconds.
    static let count = environment("RFC1808_CASES").flatMap { Int($0) } ?? 2_500

    /// The seed of the generator: the value of `RFC1808_SEED`, or a random number. The tests print the seed, so that a
    /// failure can be repeated.
    static let seed = environment("RFC1808_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: .min ... .max)

    private var generator: SeededGenerator

    init(_ name: String) {
        generator = SeededGenerator(seed: Self.seed)
        print("\(name): \(Self.count) cases, RFC1808_SEED=\(Self.seed)")
    }

    /// Returns syntax fragments in random order. The parser refuses most of these strings, for every possible reason.
    mutating func string() -> String {
        let pieces = [
            "a", "b", "Z", "0", "80", "65536", ".", "..", "/", "//", ";", "?", "#", ":", "@", "%41", "%2f", "%", "%2",
            "%g0",
            "[", "]", "[::1]", "[fe80::1%25e]", "+", "-", "~", "=", "&", " ", "\"", "\\", "^", "`", "{", "|", "<", "é",
            "\0",
            "\u{7F}", "foo:", "http://", "abcdefghijklmnop", "%C3%A9", "%00", "%FF",
        ]
        return (0...count(12)).map { _ in pick(pieces) }.joined()
    }

    /// Returns syntax fragments in their proper places. The parser accepts nearly all of these strings.
    mutating func url() -> String {
        var url = ""
        if chance(50) { url += pick(["http:", "foo:", "X-1.2+y:", "mailto:", "a:"]) }
        if chance(50) {
            url += "//"
            if chance(20) { url += word() + (chance(50) ? ":" + word() : "") + "@" }
            url += chance(15) ? address() : word()
            if chance(20) { url += ":" + pick(["", "0", "80", "00443", "65535"]) }
            if chance(85) { url += "/" }
        }
        let dots = [".", "..", "..", "", "a", "b:c", "g.", "..g", word(), word()]
        url += (0..<count(6)).map { _ in pick(dots) }.joined(separator: "/")
        if chance(20) { url += ";" + pick(["", "x", "x;y", "x/../y", "x=1/./y", "..", ":"]) }
        if chance(25) { url += "?" + pick(["", "q", "a=b&c", "&", "=", "a=&b==", "/../", "?", word()]) }
        if chance(20) { url += "#" + pick(["", "f", "/../", "?;", word()]) }
        return url
    }

    private mutating func word() -> String {
        let pieces = [
            "a", "B", "z9", "-", "_", "~", "+", ",", "%41", "%2F", "%3a", "%C3%A9", "%25", "abcdefghijklmnopqrst",
        ]
        return (0..<count(4)).map { _ in pick(pieces) }.joined()
    }

    private mutating func address() -> String {
        let groups = (0...count(8)).map { _ in pick(["0", "1", "2001", "db8", "", "::", "abcde", "1.2.3.4"]) }
        return "[" + pick(["::1", "::", "1::", "1:2:3:4:5:6:7:8", "::1.2.3.4", groups.joined(separator: ":")])
            + pick(["", "", "%25en0", "%en0", "%25"]) + "]"
    }

    private mutating func count(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }
    private mutating func pick(_ choices: [String]) -> String {
        choices[Int.random(in: 0..<choices.count, using: &generator)]
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
