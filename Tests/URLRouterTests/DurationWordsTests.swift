import OpenURLBus
import Testing

@testable import URLRouter

@Suite struct DurationWordsTests {
    @Test(
        arguments: [
            (.zero, "0 seconds"), (.seconds(1), "1 second"), (.seconds(20), "20 seconds"),
            (.milliseconds(300), "0.3 seconds"),
            (.milliseconds(50), "0.05 seconds"), (.milliseconds(2250), "2.25 seconds"),
            (.milliseconds(1001), "1.001 seconds"),
            (.nanoseconds(29_999_998_377), "30 seconds"), (.nanoseconds(999_999_999), "1 second"),
            (.milliseconds(25_030), "25 seconds"), (.milliseconds(25_060), "25.1 seconds"),
            (.microseconds(9_999_900), "10 seconds"),
        ] as [(Duration, String)]
    )
    func timeIsRounded(time: Duration, words: String) {
        #expect(time.inWords.description == words)
    }
}
