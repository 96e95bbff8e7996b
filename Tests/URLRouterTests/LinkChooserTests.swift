import Testing

@testable import URLRouter

/// The answer of the program in which the person chooses.
@Suite struct LinkChooserTests {
    private func candidate(_ number: String, among count: Int) -> Int? {
        LinkChooser.Choice(Array("[Choice]\nCandidate=\(number)\n".utf8), among: count)?.candidate
    }

    @Test func candidatesAreCountedFromOne() {
        #expect(candidate("1", among: 2) == 0 && candidate("2", among: 2) == 1)
    }

    @Test(arguments: ["0", "3", "-1", "one", "9223372036854775808"])
    func otherNumberIsNoChoice(_ number: String) {
        #expect(candidate(number, among: 2) == nil)
    }

    @Test func nothingCanBeChosenFromNothing() {
        #expect(candidate("1", among: 0) == nil)
    }
}
