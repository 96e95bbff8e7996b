import Testing

@testable import DBus

/// The rules that a connection has on the bus, without a connection.
@Suite struct MatchRulesTests {
    @Test func ruleIsAskedForOnceAndRemovedWithItsLastUser() {
        var rules = MatchRules()
        var requests = 0
        for text in ["a", "a", "b"] {
            _ = rules.add(text) {
                requests += 1
                return Task { .success(()) }
            }
        }
        #expect(requests == 2)
        let removals = ["a", "a", "a", "b"].map { rules.remove($0) }
        #expect(removals == [false, true, false, true])
    }

    /// The bus compares bytes.
    @Test func rulesWithCanonicallyEquivalentTextsAreTwo() {
        var rules = MatchRules()
        for text in ["\u{E9}", "e\u{301}"] { _ = rules.add(text) { Task { .success(()) } } }
        let removals = ["\u{E9}", "e\u{301}"].map { rules.remove($0) }
        #expect(removals == [true, true])
    }
}
