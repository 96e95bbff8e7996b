import DBus
import OpenURLBus
import Reactor
import Testing

@testable import URLRouter

/// The new state and the actions for every pair of a state and an event.
@Suite struct HandlerMachineTests {
    private typealias Machine = HandlerMachine

    private static let first: BusName = ":1.1"
    private static let second: BusName = ":1.2"
    private static let exit = ProcessExit.exited(status: 3)
    private static let failure = OpenURLError(.launchFailed, "it cannot be started")

    /// A situation in a handler's life: the state, and whether the router holds a process.
    struct Place: Hashable, CustomTestStringConvertible {
        let state: HandlerMachine.State
        var hasProcess = false
        var exitsOnSuspend = false

        var testDescription: String { "\(state)\(hasProcess ? " with a process" : "")" }
    }

    enum Happening: String, CaseIterable {
        case requested, foundNobody, foundFirst, foundSecond, nameIsFree, nameIsTheFirsts, nameIsTheSeconds
        case launchFailed, exited, launchTimedOut, firstHangs, secondHangs, lookupFailed, refusesMore, endTimedOut
        case handsOver, handsOverInBackground, firstSaysBackground, secondSaysBackground, firstSaysActive
        case losesForeground, firstReachesBackground, secondReachesBackground, firstHangsLeaving, secondHangsLeaving
        case backgroundTimeIsOver, firstIsReady, firstIsBusy, secondIsReady, timeOver, terminated, purged

        var event: HandlerMachine.Event {
            switch self {
            case .requested: .requested
            case .foundNobody: .found(owner: nil)
            case .foundFirst: .found(owner: first)
            case .foundSecond: .found(owner: second)
            case .nameIsFree: .ownerChanged(nil)
            case .nameIsTheFirsts: .ownerChanged(first)
            case .nameIsTheSeconds: .ownerChanged(second)
            case .launchFailed: .launchFailed(failure)
            case .exited: .exited(exit)
            case .launchTimedOut: .launchTimedOut
            case .firstHangs: .launchHangs(owner: first, phase: "willFinishLaunching")
            case .secondHangs: .launchHangs(owner: second, phase: "willFinishLaunching")
            case .lookupFailed: .lookupFailed
            case .refusesMore: .refusesMore
            case .endTimedOut: .endTimedOut
            case .handsOver: .handsOver(inBackground: false)
            case .handsOverInBackground: .handsOver(inBackground: true)
            case .firstSaysBackground: .tellsState(owner: first, .background)
            case .secondSaysBackground: .tellsState(owner: second, .background)
            case .firstSaysActive: .tellsState(owner: first, .active)
            case .losesForeground: .losesForeground
            case .firstReachesBackground: .reachedBackground(owner: first)
            case .secondReachesBackground: .reachedBackground(owner: second)
            case .firstHangsLeaving: .backgroundHangs(owner: first, phase: "didEnterBackground")
            case .secondHangsLeaving: .backgroundHangs(owner: second, phase: "didEnterBackground")
            case .backgroundTimeIsOver: .backgroundTimeIsOver
            case .firstIsReady: .suspendAnswered(owner: first, isReady: true)
            case .firstIsBusy: .suspendAnswered(owner: first, isReady: false)
            case .secondIsReady: .suspendAnswered(owner: second, isReady: true)
            case .timeOver: .timeOver
            case .terminated: .terminated
            case .purged: .purged
            }
        }
    }

    private static func background(_ owner: BusName) -> [HandlerMachine.Event] {
        [.ownerChanged(owner), .losesForeground, .reachedBackground(owner: owner)]
    }

    private static func suspended(_ owner: BusName) -> [HandlerMachine.Event] {
        background(owner) + [.timeOver, .suspendAnswered(owner: owner, isReady: true), .ownerChanged(nil)]
    }

    /// Returns a machine that went from the start to the given place.
    private static func machine(at place: Place) -> HandlerMachine {
        var machine = HandlerMachine(
            id: "com.example.machine",
            launchTimeout: .seconds(5),
            phaseTimeout: .seconds(4)
        )
        machine.exitsOnSuspend = place.exitsOnSuspend
        var history: [HandlerMachine.Event] = []
        switch place.state {
        case .notRunning: break
        case .lookingForOwner: history = [.requested]
        case .starting: history = [.requested, .found(owner: nil)]
        case .lostProcess(let exit): history = [.requested, .found(owner: nil), .exited(exit)]
        case .running(let owner, .inactive): history = [.ownerChanged(owner)]
        case .running(let owner, .foreground): history = [.ownerChanged(owner), .handsOver(inBackground: false)]
        case .running(let owner, .leaving): history = [.ownerChanged(owner), .losesForeground]
        case .running(let owner, .background): history = background(owner)
        case .suspending(let owner): history = background(owner) + [.timeOver]
        case .suspended(let owner): history = suspended(owner)
        case .waking(let owner): history = suspended(owner) + [.requested]
        case .ending(nil): history = [.ownerChanged(first)]
        case .ending(let owner?): history = [.ownerChanged(owner), .refusesMore]
        }
        for event in history { _ = machine.on(event) }
        if place.hasProcess { machine.holdsProcess() }
        if place.state == .ending(owner: nil) { _ = machine.on(.ownerChanged(nil)) }
        return machine
    }

    static let places = [
        Place(state: .notRunning),
        Place(state: .lookingForOwner),
        Place(state: .starting),
        Place(state: .starting, hasProcess: true),
        Place(state: .lostProcess(exit)),
        Place(state: .running(owner: first, .inactive)),
        Place(state: .running(owner: first, .inactive), hasProcess: true),
        Place(state: .running(owner: first, .foreground)),
        Place(state: .running(owner: first, .foreground), hasProcess: true),
        Place(state: .running(owner: first, .foreground), hasProcess: true, exitsOnSuspend: true),
        Place(state: .running(owner: first, .leaving), hasProcess: true),
        Place(state: .running(owner: first, .background), hasProcess: true),
        Place(state: .suspending(owner: first), hasProcess: true),
        Place(state: .suspended(owner: first), hasProcess: true),
        Place(state: .waking(owner: first), hasProcess: true),
        Place(state: .ending(owner: first)),
        Place(state: .ending(owner: first), hasProcess: true),
        Place(state: .ending(owner: nil), hasProcess: true),
    ]

    private struct Outcome {
        let state: HandlerMachine.State
        var hasProcess: Bool
        var effects: [HandlerMachine.Effect] = []
    }

    /// Returns the outcome from the table. A pair without a row changes nothing and causes no action.
    private static func expected(_ place: Place, _ happening: Happening) -> Outcome {
        let (state, held) = (place.state, place.hasProcess)
        func running(_ owner: BusName) -> Outcome {
            Outcome(
                state: .running(owner: owner, .inactive),
                hasProcess: held,
                effects: [.identify(owner: owner), .deliver]
            )
        }
        func running(_ activity: HandlerMachine.Activity, _ effects: [HandlerMachine.Effect]) -> Outcome {
            Outcome(state: .running(owner: first, activity), hasProcess: held, effects: effects)
        }
        func killed(_ owner: BusName?, _ reason: String) -> Outcome {
            let error = OpenURLError(.timedOut, "\(reason); its process was killed")
            return Outcome(state: .ending(owner: owner), hasProcess: held, effects: [.blame(error), .kill])
        }
        let purged = Outcome(state: .ending(owner: nil), hasProcess: held, effects: [.kill, .startEndWatchdog])
        let nothing = Outcome(state: state, hasProcess: held)
        let gone = Outcome(state: .notRunning, hasProcess: false, effects: [.restartIfWaiting])
        switch (state, happening) {
        case (.running(first, _), .nameIsTheFirsts): return nothing
        case (.suspending, .nameIsTheFirsts): return nothing
        case (.suspended, .nameIsTheFirsts), (.waking, .nameIsTheFirsts):
            return running(.background, [.scheduleSuspension, .deliver])
        case (.suspended, .nameIsTheSeconds):
            var outcome = running(second)
            outcome.effects = [.resume] + outcome.effects
            return outcome
        case (_, .nameIsTheFirsts): return running(first)
        case (_, .nameIsTheSeconds): return running(second)
        case (.lookingForOwner, .foundFirst), (.lostProcess, .foundFirst): return running(first)
        case (.lookingForOwner, .foundSecond), (.lostProcess, .foundSecond): return running(second)

        case (.notRunning, .requested):
            return Outcome(state: .lookingForOwner, hasProcess: false, effects: [.lookForOwner])
        case (.running, .requested): return Outcome(state: state, hasProcess: held, effects: [.deliver])

        case (.lookingForOwner, .foundNobody): return Outcome(state: .starting, hasProcess: false, effects: [.launch])
        case (.starting, .launchFailed):
            return Outcome(state: .notRunning, hasProcess: held, effects: [.failWaiting(failure)])
        case (.starting, .exited):
            return Outcome(state: .lostProcess(exit), hasProcess: false, effects: [.lookForOwner])
        case (.lostProcess, .foundNobody):
            let message = "com.example.machine exited with status 3 before it was ready"
            let error = OpenURLError(.launchFailed, message)
            return Outcome(state: .notRunning, hasProcess: false, effects: [.failWaiting(error)])
        case (.lookingForOwner, .lookupFailed), (.lostProcess, .lookupFailed):
            let message = "the bus does not say whether com.example.machine is running; try again"
            let error = OpenURLError(.launchFailed, message)
            return Outcome(state: .notRunning, hasProcess: false, effects: [.failWaiting(error)])
        case (.starting, .launchTimedOut):
            let error = OpenURLError(
                .timedOut,
                "com.example.machine did not take its name on the bus within 5.0 seconds of its start; "
                    + "its process was killed"
            )
            return Outcome(state: .ending(owner: nil), hasProcess: held, effects: [.kill, .failWaiting(error)])

        case (.running, .launchTimedOut):
            return Outcome(state: state, hasProcess: held, effects: [.checkLaunch(owner: first)])
        case (.running, .firstHangs):
            let error = OpenURLError(
                .timedOut,
                "willFinishLaunching of com.example.machine did not return within 5.0 seconds of the launch; "
                    + "its process was killed"
            )
            return Outcome(state: .ending(owner: first), hasProcess: held, effects: [.blame(error), .kill])
        case (.running, .nameIsFree) where held:
            return Outcome(state: .ending(owner: nil), hasProcess: true, effects: [.startEndWatchdog])
        case (.running, .nameIsFree): return gone
        case (.running, .refusesMore):
            return Outcome(state: .ending(owner: first), hasProcess: held, effects: [.startEndWatchdog])

        case (.ending, .nameIsFree) where held: return Outcome(state: .ending(owner: nil), hasProcess: true)
        case (.ending, .nameIsFree): return gone
        case (.ending, .endTimedOut) where held:
            return Outcome(state: state, hasProcess: true, effects: [.kill, .startEndWatchdog])
        case (.ending, .endTimedOut): return gone
        case (.suspending, .exited), (.suspended, .exited), (.waking, .exited): return gone
        // The bus has not reported yet that the name has no owner.
        case (.ending(nil), .exited): return gone
        case (_, .exited): return Outcome(state: state, hasProcess: false)
        default: return expectedOfActivity(place, happening) ?? nothing
        }

        /// The rows of the states foreground, background and suspended.
        func expectedOfActivity(_ place: Place, _ happening: Happening) -> Outcome? {
            switch (state, happening) {
            case (.running(_, .foreground), .handsOver), (.running(_, .foreground), .handsOverInBackground): nil
            case (.running, .handsOver): running(.foreground, [.takeForeground])
            case (.running(_, .inactive), .handsOverInBackground), (.running(_, .inactive), .firstSaysBackground):
                running(.background, [.scheduleSuspension])
            case (.running(_, .inactive), .firstSaysActive): running(.foreground, [.takeForeground])

            case (.running(_, .inactive), .losesForeground), (.running(_, .foreground), .losesForeground):
                place.exitsOnSuspend
                    ? Outcome(state: .ending(owner: first), hasProcess: held, effects: [.terminate, .startEndWatchdog])
                    : running(.leaving, [.enterBackground(owner: first), .startTimer])
            case (.running(_, .leaving), .firstReachesBackground): running(.background, [.scheduleSuspension])
            case (.running(_, .leaving), .timeOver): running(.leaving, [.checkBackground(owner: first)])
            case (.running(_, .leaving), .firstHangsLeaving):
                killed(first, "didEnterBackground of com.example.machine did not return within 4.0 seconds")
            case (.running(_, .leaving), .backgroundTimeIsOver), (.running(_, .background), .backgroundTimeIsOver):
                killed(first, "a background task of com.example.machine was still open when its time was over")

            case (.running(_, .background), .timeOver):
                Outcome(
                    state: .suspending(owner: first),
                    hasProcess: held,
                    effects: [.askToSuspend(owner: first), .startTimer]
                )
            case (.suspending, .firstIsReady):
                Outcome(state: .suspended(owner: first), hasProcess: held, effects: [.stop, .wakeIfWaiting])
            case (.suspending, .firstIsBusy): running(.background, [.scheduleSuspension, .deliver])
            case (.suspending, .timeOver):
                killed(nil, "com.example.machine did not get ready to be suspended within 4.0 seconds")
            case (.suspended, .requested):
                Outcome(state: .waking(owner: first), hasProcess: held, effects: [.resume, .startTimer])
            case (.waking, .timeOver):
                Outcome(
                    state: .ending(owner: nil),
                    hasProcess: held,
                    effects: [
                        .kill,
                        .failWaiting(
                            OpenURLError(
                                .timedOut,
                                "com.example.machine did not take its name on the bus within 4.0 seconds of being woken; "
                                    + "its process was killed"
                            )
                        ),
                    ]
                )

            case (.running, .terminated):
                Outcome(state: .ending(owner: first), hasProcess: held, effects: [.terminate, .startEndWatchdog])
            case (.starting, .terminated):
                Outcome(
                    state: .ending(owner: nil),
                    hasProcess: held,
                    effects: [
                        .kill,
                        .failWaiting(
                            OpenURLError(.launchFailed, "com.example.machine was ended before it was ready")
                        ),
                    ]
                )
            case (.suspending, .terminated), (.suspended, .terminated), (.waking, .terminated), (.suspended, .purged):
                purged
            default: nil
            }
        }
    }

    @Test(arguments: places, Happening.allCases)
    func everyPairOfAStateAndAnEventHasAnOutcome(place: Place, happening: Happening) {
        var machine = Self.machine(at: place)
        #expect(machine.state == place.state)
        #expect(machine.hasProcess == place.hasProcess)
        let effects = machine.on(happening.event)
        let expected = Self.expected(place, happening)
        #expect(machine.state == expected.state)
        #expect(machine.hasProcess == expected.hasProcess)
        #expect(effects == expected.effects)
    }

    @Test func processStartsOnlyWithoutAnOwnerAndWithoutAHeldProcess() {
        for place in Self.places {
            for happening in Happening.allCases {
                var machine = Self.machine(at: place)
                guard machine.on(happening.event).contains(.launch) else { continue }
                #expect(place.state == .lookingForOwner && happening == .foundNobody && !place.hasProcess)
            }
        }
    }
}
