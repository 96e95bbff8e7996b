import OpenURLBus
import Testing

@testable import URLRouter

/// The times of the attempts to deliver a queued URL.
@Suite struct RetryDelayTests {
    @Test func delaysDoubleUpToTheEighthAttempt() {
        let delays = (1...9).map { RetryDelay.after($0, .handlerCrashed) }
        #expect(delays == [1, 2, 4, 8, 16, 32, 60, nil, nil].map { $0.map(Duration.seconds) })
    }

    @Test(arguments: OpenURLError.Code.allCases)
    func refusedURLIsNotRetried(_ code: OpenURLError.Code) {
        let again: Set<OpenURLError.Code> = [.noHandler, .launchFailed, .handlerCrashed, .timedOut, .limitsExceeded]
        #expect((RetryDelay.after(1, code) != nil) == again.contains(code))
        #expect(RetryDelay.isTriedAgain(code) == again.contains(code))
    }
}
