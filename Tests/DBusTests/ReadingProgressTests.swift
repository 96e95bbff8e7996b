import Testing

@testable import DBus

/// The judgement whether the other end reads.
@Suite struct ReadingProgressTests {
    private typealias Position = ReadingProgress.Position

    @Test func programThatReadsNothingHasStopped() {
        let position = Position(taken: 100, held: 50)
        var reading = ReadingProgress(at: position)
        let hasStopped = reading.hasStopped(at: position)
        #expect(hasStopped)
    }

    @Test func firstLookAfterALittleWasWaitingJudgesNothing() {
        let position = Position(taken: 100, held: 50)
        var reading = ReadingProgress(at: nil)
        let looks = [position, position, nil, position, position].map { reading.hasStopped(at: $0) }
        #expect(looks == [false, true, false, false, true])
    }

    @Test func programThatReadsSlowlyGoesOnForTwelveLooks() {
        var reading = ReadingProgress(at: Position(taken: 0, held: 50))
        // Either the socket has taken more, or it holds less.
        let looks = (1...12).map { reading.hasStopped(at: Position(taken: $0 / 2, held: 50 - CInt($0 % 2))) }
        #expect(looks == Array(repeating: false, count: 11) + [true])
    }
}
