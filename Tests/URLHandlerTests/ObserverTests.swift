import DBus
import RFC1808
import Testing

@testable import URLHandler

/// Observers besides the delegate, and the times of their calls.
@MainActor @Suite(.timeLimit(.minutes(10))) struct ObserverTests {
    private let delegate = RecordingDelegate()
    private var application: Application { delegate.application }

    @Test func observersSeeEveryStepAfterTheDelegatesMethod() async {
        var seen: [LifecycleNotification] = []
        var delegateWasFirst = true
        for notification in LifecycleNotification.allCases {
            application.addObserver(for: notification) {
                seen.append(notification)
                if delegate.names.last != "\(notification)" { delegateWasFirst = false }
            }
        }
        for event: LifecycleEvent in [.activate, .enterBackground, .activate, .receiveMemoryWarning, .terminate] {
            await application.handle(event)
        }
        #expect(
            seen == [
                .didFinishLaunching, .didBecomeActive, .willResignActive, .didEnterBackground, .willEnterForeground,
                .didBecomeActive, .didReceiveMemoryWarning, .willTerminate,
            ]
        )
        #expect(delegateWasFirst)
    }

    @Test func observersGetTheKindAndTheValue() async {
        var values: [Value] = []
        application.addObserver(forKind: "clock") { values.append($0) }
        await application.handle(.activate)
        await application.handle(.notify, notifications: ["clock": "12:00", "locale": "fi"])
        #expect(values == ["12:00"])
        #expect(delegate.notifications == ["clock 12:00", "locale fi"])
    }

    @Test func observersAreCalledInOrderUntilTheirCancellation() async {
        var log: [String] = []
        let first = application.addObserver(for: .didReceiveMemoryWarning) { log.append("first") }
        application.addObserver(for: .didReceiveMemoryWarning) {
            log.append("second")
            first.cancel()
        }
        await application.handle(.activate)
        await application.handle(.receiveMemoryWarning)
        await application.handle(.receiveMemoryWarning)
        #expect(log == ["first", "second", "second"])
    }

    @Test func observerCancelledByAnotherIsNotCalled() async {
        var log: [String] = []
        var second: Observation?
        application.addObserver(for: .didReceiveMemoryWarning) { second?.cancel() }
        second = application.addObserver(for: .didReceiveMemoryWarning) { log.append("second") }
        await application.handle(.activate)
        await application.handle(.receiveMemoryWarning)
        #expect(log == [])
        second?.cancel()
    }
}
