import ByteCoding
import TestSupport
import Testing

@Suite struct CombiningMarksTests {
    @Test(arguments: [("\u{301}", true), ("\u{1D165}", true), ("a", false), ("中", false), ("🇩", false)])
    func runIsCounted(scalar: String, isMark: Bool) {
        let limit = String.maximumMarks
        let run = String(repeating: scalar, count: limit)
        let most = "a\(run)\(isMark ? "b" : "")\(run)"
        #expect(!most.hasTooManyMarks)
        #expect("a\(run)\(scalar)".hasTooManyMarks == isMark)
        #expect((most + scalar).hasTooManyMarks == isMark)
    }

    /// Scalars that are no marks and whose canonical form has marks, or which belong to the character before them, end a run.
    @Test(arguments: ["\u{F73}", "\u{F75}", "\u{F81}", "\u{34F}", "\u{200D}", "\u{FE0F}", "\u{11A8}", "\u{212B}"])
    func otherScalarEndsARun(scalar: String) {
        let text = "a" + String(repeating: "\u{301}\u{316}\(scalar)", count: 1 << 17)
        #expect(!text.hasTooManyMarks)
        // As one run, the marks take several seconds.
        let time = threadTime { #expect(Set([text]).contains(text + "")) }
        #expect(time < .seconds(5))
    }
}
