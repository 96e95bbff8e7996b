import Glibc
import TestSupport
import Testing

@testable import Links

/// The regular expressions of rules that change links.
@Suite struct LinkExpressionTests {
    private func match(_ pattern: String, _ text: String, ignoringCase: Bool = false) throws -> [String?]? {
        let expression = try LinkExpression(Array(pattern.utf8), ignoringCase: ignoringCase)
        let bytes = Array(text.utf8)
        var budget = LinkChange.maximumSteps
        guard let match = try expression.firstMatch(in: bytes, from: 0, budget: &budget) else { return nil }
        return ([match.whole] + match.groups).map { range in range.map { String(decoding: bytes[$0], as: UTF8.self) } }
    }

    @Test(
        arguments: [
            ("b*", "abb", [""]), ("b+", "abb", ["bb"]), ("a|ab", "xabc", ["ab"]),
            ("(a|ab)(c|bcd)(d*)", "abcd", ["abcd", "a", "bcd", ""]),
            ("^a", "ba", nil), ("a$", "aba", ["a"]), ("^$", "", [""]), ("a.c", "abc", ["abc"]), (#"a\.c"#, "abc", nil),
            ("[^/]+", "//ab/", ["ab"]), ("[]a-c-]+", "x-]b", ["-]b"]), ("[^]a]", "]ab", ["b"]),
            ("[[:digit:]x]+", "a1x2", ["1x2"]),
            ("a{2}", "aaa", ["aa"]), ("a{2,}", "aaaa", ["aaaa"]), ("a{1,2}", "aaa", ["aa"]), ("xa{0}y", "xy", ["xy"]),
            ("(a)|(b)", "b", ["b", nil, "b"]), ("(a*)*", "aab", ["aa", "aa"]), ("(a|b)*c", "abc", ["abc", "b"]),
            ("()", "a", ["", ""]), ("a(|b)c", "ac", ["ac", ""]), ("(^|&)q=([^&]*)", "x&q=1&y", ["&q=1", "&", "1"]),
            (#"\\\[\("#, #"a\[("#, [#"\[("#]), ("x**", "xx", ["xx"]),
        ] as [(String, String, [String?]?)]
    )
    func expressionMatches(_ pattern: String, _ text: String, _ expected: [String?]?) throws {
        #expect(try match(pattern, text) == expected, "\(pattern)")
    }

    @Test func caseCanBeIgnored() throws {
        #expect(try match("[a-c]X", "BxAX", ignoringCase: true) == ["Bx"])
        #expect(try match("[a-c]X", "BxAX") == nil)
    }

    @Test(arguments: [
        "", "(", ")", "a)", "[", "[]", "[a", "*a", "a|*", "a{", "a{x}", "a{2,1}", "a{,2}", "a{101}", "{2}", #"a\"#,
        #"(a)\1"#, #"\d"#, "[z-a]", "[[:word:]]", "[[.a.]]", "[[:alpha", "((a{100}){100}){100}", "(a{50}){50}",
        String(repeating: "a", count: 257),
    ]) func mistakesAreErrors(_ pattern: String) {
        #expect(throws: LinkSyntaxError.self) { try LinkExpression(Array(pattern.utf8), ignoringCase: false) }
    }

    /// Repeating nothing very often takes no time.
    @Test func nothingCanBeRepeated() throws {
        #expect(try match("xa{0}{100}{100}{100}{100}{100}{100}y", "xy") == ["xy"])
    }

    /// Some of these take the C library seconds, and hundreds of megabytes.
    @Test(arguments: [
        "(a*)*b", "(a|a)*b", "(a|b)*a(a|b){99}c", ".*a.{99}c", "(.*a.{40})(.*b.{2})c", "(.*)(.*)(.*)(.*)(.*)x",
        "((a{1,4}){1,5}){1,5}b", String(repeating: "(a|", count: 50) + "b" + String(repeating: ")*", count: 50) + "c",
    ]) func noSearchTakesMoreThanItsSteps(_ pattern: String) throws {
        var random = SeededGenerator(seed: 3)
        for bytes in ["a", "ab"].map({ Array($0.utf8) }) {
            let text = (0..<LinkChange.maximumLength).map { _ in bytes[Int.random(in: bytes.indices, using: &random)] }
            let expression = try LinkExpression(Array(pattern.utf8), ignoringCase: false)
            var budget = LinkChange.maximumSteps
            do throws(LinkExpression.Exhausted) {
                _ = try expression.firstMatch(in: text, from: 0, budget: &budget)
            } catch {
                #expect(budget <= 0)
            }
            // No step is taken twice at the same place.
            #expect(LinkChange.maximumSteps - budget <= LinkExpression.maximumSize * (text.count + 1))
        }
    }

    /// Whatever a rule contains, it is read or refused, and a search ends.
    @Test(arguments: 1...4) func anyTextIsReadOrRefused(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts = Array("aab()()[]{}{,0123,}*+?|^$.\\-:[:alpha:][.]".utf8)
        let text = Array("aabba-0ab)".utf8)
        var read = 0
        for _ in 0..<5000 {
            let pattern = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                parts[Int.random(in: parts.indices, using: &random)]
            }
            do throws(LinkSyntaxError) {
                let expression = try LinkExpression(pattern, ignoringCase: pattern.count % 2 == 0)
                read += 1
                var budget = 20_000
                do throws(LinkExpression.Exhausted) {
                    let match = try expression.firstMatch(in: text, from: pattern.count % 3, budget: &budget)
                    #expect(match?.groups.count ?? expression.groups == expression.groups)
                } catch {
                    #expect(budget <= 0)
                }
            } catch {
                #expect(error.description.hasPrefix("the regular expression "))
            }
        }
        #expect(read > 500)
    }

    /// The C library finds the same matches.
    @Test(arguments: 1...10) func matchesAreThoseOfTheCLibrary(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let atoms = ["a", "b", ".", "[ab]", "[^a]", "(a)", "(a|b)", "(ab|c)", "(a*)", "(b|)", "^", "$", "|"]
        let counts = ["", "", "", "*", "+", "?", "{2}", "{0,2}"]
        var compared = 0
        for _ in 0..<2000 {
            var pattern = ""
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let atom = atoms.randomElement(using: &random) ?? ""
                pattern += atom + ("^$|".contains(atom) ? "" : counts.randomElement(using: &random) ?? "")
            }
            if pattern.hasPrefix("|") || pattern.hasSuffix("|") || pattern.contains("||") { continue }
            let text = String(
                (0..<Int.random(in: 0...8, using: &random)).map { _ in "abc".randomElement(using: &random) ?? "a" }
            )
            #expect(try match(pattern, text)?.first == (try cMatch(pattern, text)), "\(pattern) \(text)")
            compared += 1
        }
        #expect(compared > 1000)
    }

    /// Returns the whole match of `regexec(3)`.
    private func cMatch(_ pattern: String, _ text: String) throws -> String?? {
        var compiled = regex_t()
        try #require(regcomp(&compiled, pattern, REG_EXTENDED) == 0, "\(pattern)")
        defer { regfree(&compiled) }
        var matches = [regmatch_t()]
        guard regexec(&compiled, text, 1, &matches, 0) == 0 else { return nil }
        return String(decoding: Array(text.utf8)[Int(matches[0].rm_so)..<Int(matches[0].rm_eo)], as: UTF8.self)
    }
}
