import OpenURLBus
import Testing

@testable import URLHandler

/// The table of sequences, row by row, for 5 states and 11 events.
struct LifecycleSequenceTests {
    private static let launch: [LifecycleStep] = [
        .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState, .didFinishLaunching,
    ]
    private static let intoForeground = [.becomeInactive] + launch
    private static let intoBackground = [.becomeBackground] + launch
    private static let openURL: [LifecycleStep] = [.didReceiveNotification, .open]
    private static let activation: [LifecycleStep] = [.becomeActive, .didBecomeActive]
    private static let waking: [LifecycleStep] = [
        .didReceiveNotification, .didReceiveRemoteNotification, .didReceiveLocalNotification, .performTask,
    ]

    private static let saving: [LifecycleStep] = [.shouldSaveApplicationState, .willEncodeRestorableState]
    private static let atRest = [.didEnterBackground] + saving

    private static let active: [LifecycleEvent: [LifecycleStep]] = [
        .activate: [.didReceiveLocalNotification],
        .open: openURL,
        .openInBackground: openURL,
        .resignActive: [.willResignActive, .becomeInactive],
        .becomeActive: [],
        .enterBackground: [.willResignActive, .becomeBackground] + atRest,
        .receiveMemoryWarning: [.didReceiveMemoryWarning],
        .notify: [.didReceiveNotification],
        .wake: waking,
        .prepareToTerminate: saving,
        .terminate: [.willTerminate, .becomeNotRunning],
    ]
    /// An interrupted handler has been told already that it is not active.
    private static let inactive = active.merging([
        .resignActive: [],
        .becomeActive: activation,
        .enterBackground: [.becomeBackground] + atRest,
    ]) { $1 }
    private static let background: [LifecycleEvent: [LifecycleStep]] = [
        .activate: [.willEnterForeground, .becomeInactive, .didReceiveLocalNotification] + activation,
        .open: [.willEnterForeground, .becomeInactive] + openURL + activation,
        .openInBackground: openURL + saving,
        .resignActive: [],
        .becomeActive: [.willEnterForeground] + activation,
        .enterBackground: [],
        .receiveMemoryWarning: [.didReceiveMemoryWarning],
        .notify: [.didReceiveNotification],
        .wake: waking + saving,
        .prepareToTerminate: saving,
        .terminate: [.willTerminate, .becomeNotRunning],
    ]
    static let table: [HandlerState: [LifecycleEvent: [LifecycleStep]]] = [
        .notRunning: [
            .activate: intoForeground + [.didReceiveLocalNotification] + activation,
            .open: intoForeground + openURL + activation,
            .openInBackground: intoBackground + openURL + atRest,
            .resignActive: [],
            .becomeActive: [],
            .enterBackground: intoBackground + atRest,
            .receiveMemoryWarning: [],
            .notify: [],
            .wake: intoBackground + waking + atRest,
            .prepareToTerminate: [],
            .terminate: [],
        ],
        .inactive: inactive,
        .active: active,
        .background: background,
        .suspended: background,
    ]

    /// The logs show known names without a search for secrets in them.
    @Test func namesOfTheMethodsAreKnownInTraces() {
        let changes: Set<LifecycleStep> = [.becomeNotRunning, .becomeInactive, .becomeActive, .becomeBackground]
        let names = Set(LifecycleStep.allCases).subtracting(changes).map(\.rawValue)
        #expect(TracePhase.knownNames.isSuperset(of: names))
    }

    @Test(arguments: table.keys) func eachEventHasItsSequence(state: HandlerState) throws {
        let row = try #require(Self.table[state])
        for event in LifecycleEvent.allCases {
            #expect(Lifecycle.steps(for: event, in: state) == row[event], "\(state) \(event)")
        }
    }

    @Test(arguments: table.keys, LifecycleEvent.allCases)
    func onlyAnInterruptionLeavesTheHandlerInactive(state: HandlerState, event: LifecycleEvent) {
        let changes: [LifecycleStep] = [.becomeNotRunning, .becomeInactive, .becomeActive, .becomeBackground]
        let last = Lifecycle.steps(for: event, in: state).last { changes.contains($0) }
        #expect((last == .becomeInactive) == (state == .active && event == .resignActive))
        // Only the terminate event ends the handler, and no other event may do so.
        let ends = event == .terminate && state != .notRunning
        #expect((last == .becomeNotRunning) == ends)
    }

    @Test func stepsHaveTheNamesThatTheRouterExpects() {
        func names(_ event: LifecycleEvent, in state: HandlerState) -> Set<String> {
            let steps = Lifecycle.steps(for: event, in: state)
            return Set(steps.map(\.rawValue).filter { !$0.hasPrefix("become") })
        }
        let launch = names(.activate, in: .notRunning).subtracting(["didReceiveLocalNotification", "didBecomeActive"])
        #expect(HandlerInterface.launchPhases == launch)
        let all = Set(LifecycleStep.allCases.map(\.rawValue).filter { !$0.hasPrefix("become") })
        // The end has a watchdog of its own.
        let rest = all.subtracting(launch).subtracting(["willTerminate", HandlerInterface.openPhase])
        #expect(HandlerInterface.transitionPhases == rest)
    }
}
