import Spelling
import Testing

@Suite(.timeLimit(.minutes(1))) struct NearestWordTests {
    private let commands = ["open", "list", "status", "register", "unregister", "explain"]

    @Test(arguments: [
        ("opne", "open"), ("lst", "list"), ("Status", "status"), ("regsiter", "register"), ("regiter", "register"),
        ("explian", "explain"), ("explaiin", "explain"), ("ststus", "status"),
    ])
    func misspeltWordHasItsWord(text: String, word: String) {
        #expect(text.nearest(in: commands) == word)
    }

    @Test(arguments: ["", "o", "op", "close", "oqen-it", "lima", "rgstr", String(repeating: "open", count: 17)])
    func otherTextIsNearToNothing(text: String) {
        #expect(text.nearest(in: commands) == nil)
    }

    @Test func nearestWordIsChosen() {
        #expect("OUReech".nearest(in: ["OUTeach", "OUReach"]) == "OUReach")
        #expect("CFBundleURLType".nearest(in: ["CFBundleURLName", "CFBundleURLTypes"]) == "CFBundleURLTypes")
        // A word that is right is not a mistake for itself.
        #expect("open".nearest(in: ["open"]) == nil)
    }

    @Test func questionComesBeforeTheAdvice() {
        let asked = "nothing claims b:; did you mean 'a:'? If not: do x; y"
        #expect(asking(whether: "a:", "nothing claims b:; do x; y") == asked)
        #expect(asking(whether: "a:", "nothing claims b:") == "nothing claims b:; did you mean 'a:'?")
        #expect(asking(whether: nil, "nothing claims b:; do x") == "nothing claims b:; do x")
    }
}
