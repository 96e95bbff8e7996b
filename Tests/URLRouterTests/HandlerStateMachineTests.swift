import DBus
import OpenURLBus
import Reactor
import Testing

@testable import URLRouter

/// The new state and the effects for every pair of a state and an event.
@Suite struct HandlerStateMachineTests {
    private typealias Machine = HandlerStateMachine

    private static let first: BusName = ":1.1"
    private static let second: BusName = ":1.2"
    private static let exit = ProcessExit.exited(status: 3)
    private static let failure = OpenURLError(.launchFailed, "it cannot be started")

    /// A situation in a handler's life: the state, and whether the router holds a process.
    struct Place: Hashable, CustomTestStringConvertible {
        let state: HandlerStateMachine.State
        var hasProcess = false
        var exitsOnSuspend = false
        /// Whether the handler was woken, and gets URLs before it owns its name.
        var isWoken = false

        var testDescription: String {
            "\(state)\(hasProcess ? " with a process" : "")\(isWoken ? " without its name" : "")"
        }
    }

    /// The events of the table: each with the first or the second owner, where it names one.
    enum TableEvent: String, CaseIterable {
        case requested, foundNobody, foundFirst, foundSecond, nameIsFree, nameIsTheFirsts, nameIsTheSeconds
        case foundStranger, launchFailed, exited, launchTimedOut, firstHangs, secondHangs, lookupFailed, refusesMore,
            endTimedOut
        case delivers, deliversInBackground, firstSaysBackground, secondSaysBackground, firstSaysActive,
            firstSaysInactive
        case interrupted, resumed, losesForeground, firstReachesBackground, secondReachesBackground, released
        case backgroundTimeIsOver, firstIsReady, firstIsBusy, secondIsReady, firstCannotBeStopped, timeOver,
            nameTimeOver, terminated, purged, replaced

        var event: HandlerStateMachine.Event {
            switch self {
            case .requested: .requested
            case .foundNobody: .found(owner: nil)
            case .foundFirst: .found(owner: first)
            case .foundSecond: .found(owner: second)
            case .nameIsFree: .ownerChanged(nil)
            case .nameIsTheFirsts: .ownerChanged(first)
            case .nameIsTheSeconds: .ownerChanged(second)
            case .foundStranger: .foundStranger(failure)
            case .launchFailed: .launchFailed(failure)
            case .exited: .exited(exit)
            case .launchTimedOut: .launchTimedOut
            case .firstHangs: .hangs(owner: first, "it hangs")
            case .secondHangs: .hangs(owner: second, "it hangs")
            case .lookupFailed: .lookupFailed
            case .refusesMore: .refusesMore
            case .endTimedOut: .endTimedOut
            case .delivers: .delivers(inBackground: false)
            case .deliversInBackground: .delivers(inBackground: true)
            case .firstSaysBackground: .tellsState(owner: first, .background)
            case .secondSaysBackground: .tellsState(owner: second, .background)
            case .firstSaysActive: .tellsState(owner: first, .active)
            case .firstSaysInactive: .tellsState(owner: first, .inactive)
            case .interrupted: .interrupted
            case .resumed: .resumed
            case .losesForeground: .losesForeground
            case .firstReachesBackground: .reachedBackground(owner: first)
            case .secondReachesBackground: .reachedBackground(owner: second)
            case .released: .released
            case .backgroundTimeIsOver: .backgroundTimeIsOver
            case .firstIsReady: .suspendAnswered(owner: first, isReady: true)
            case .firstCannotBeStopped: .cannotBeStopped(owner: first)
            case .firstIsBusy: .suspendAnswered(owner: first, isReady: false)
            case .secondIsReady: .suspendAnswered(owner: second, isReady: true)
            case .timeOver: .timeOver
            case .nameTimeOver: .nameTimeOver
            case .terminated: .terminated
            case .purged: .purged
            case .replaced: .replaced
            }
        }
    }

    private static func background(_ owner: BusName) -> [HandlerStateMachine.Event] {
        [.ownerChanged(owner), .losesForeground, .reachedBackground(owner: owner)]
    }

    private static func suspended(_ owner: BusName) -> [HandlerStateMachine.Event] {
        background(owner) + [.timeOver, .suspendAnswered(owner: owner, isReady: true), .ownerChanged(nil)]
    }

    /// Returns a machine that went from the start to the given place.
    private static func machine(at place: Place) -> HandlerStateMachine {
        var machine = HandlerStateMachine(
            id: "com.example.machine",
            launchTimeout: .seconds(5),
            transitionTimeout: .seconds(4)
        )
        machine.exitsOnSuspend = place.exitsOnSuspend
        machine.getsURLsBeforeName = place.isWoken
        var history: [HandlerStateMachine.Event] = []
        switch place.state {
        case .notRunning: break
        case .lookingForOwner: history = [.requested]
        case .starting: history = [.requested, .found(owner: nil)]
        case .lostProcess(let exit): history = [.requested, .found(owner: nil), .exited(exit)]
        case .running(let owner, .background) where place.isWoken: history = suspended(owner) + [.requested]
        case .running(let owner, .foreground) where place.isWoken:
            history = suspended(owner) + [.requested, .delivers(inBackground: false)]
        case .running(let owner, .inactive): history = [.ownerChanged(owner)]
        case .running(let owner, .foreground): history = [.ownerChanged(owner), .delivers(inBackground: false)]
        case .running(let owner, .interrupted):
            history = [.ownerChanged(owner), .delivers(inBackground: false), .interrupted]
        case .running(let owner, .leaving): history = [.ownerChanged(owner), .losesForeground]
        case .running(let owner, .background) where place.exitsOnSuspend:
            history = [.ownerChanged(owner), .delivers(inBackground: true)]
        case .running(let owner, .background): history = background(owner)
        case .suspending(let owner): history = background(owner) + [.timeOver]
        case .suspended(let owner): history = suspended(owner)
        case .waking(let owner): history = suspended(owner) + [.requested]
        case .ending(nil): history = [.ownerChanged(first)]
        case .ending(let owner?): history = [.ownerChanged(owner), .refusesMore]
        }
        for event in history { _ = machine.on(event, hasProcess: false) }
        if place.state == .ending(owner: nil) { _ = machine.on(.ownerChanged(nil), hasProcess: true) }
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
        Place(state: .running(owner: first, .interrupted)),
        Place(state: .running(owner: first, .interrupted), hasProcess: true),
        Place(state: .running(owner: first, .interrupted), hasProcess: true, exitsOnSuspend: true),
        Place(state: .running(owner: first, .leaving), hasProcess: true),
        Place(state: .running(owner: first, .background), hasProcess: true),
        Place(state: .running(owner: first, .background), hasProcess: true, exitsOnSuspend: true),
        Place(state: .running(owner: first, .background), hasProcess: true, isWoken: true),
        Place(state: .running(owner: first, .foreground), hasProcess: true, isWoken: true),
        Place(state: .suspending(owner: first), hasProcess: true),
        Place(state: .suspended(owner: first), hasProcess: true),
        Place(state: .waking(owner: first), hasProcess: true),
        Place(state: .ending(owner: first)),
        Place(state: .ending(owner: first), hasProcess: true),
        Place(state: .ending(owner: nil), hasProcess: true),
    ]

    private struct Outcome {
        let state: HandlerStateMachine.State
        var effects: [HandlerStateMachine.Effect] = []
    }

    private static let id = "com.example.machine"

    /// The expected outcome of each pair. The table has no default, so a new state or event does not compile until its pairs
    /// are decided here too.
    private static func expected(_ place: Place, _ event: TableEvent) -> Outcome {
        let (state, held) = (place.state, place.hasProcess)
        let nothing = Outcome(state: state)
        let gone = Outcome(state: .notRunning, effects: [.restartIfWaiting])
        let killedStopped = Outcome(state: .ending(owner: nil), effects: [.kill, .startEndWatchdog])
        func running(_ owner: BusName) -> Outcome {
            Outcome(state: .running(owner: owner, .inactive), effects: [.identify(owner: owner), .deliver])
        }
        func running(_ activity: HandlerStateMachine.Activity, _ effects: [HandlerStateMachine.Effect]) -> Outcome {
            Outcome(state: .running(owner: first, activity), effects: effects)
        }
        func ending(_ owner: BusName?, _ effects: [HandlerStateMachine.Effect]) -> Outcome {
            // The bus does not tell the end of a name that the process has not taken.
            Outcome(state: .ending(owner: place.isWoken ? nil : owner), effects: effects)
        }
        func blamed(_ owner: BusName?, _ reason: String) -> Outcome {
            let error = OpenURLError(.timedOut, "\(reason); its process was killed")
            return ending(owner, [.blame(error), .kill, .startEndWatchdog])
        }
        func failed(_ error: OpenURLError) -> Outcome { Outcome(state: .notRunning, effects: [.failWaiting(error)]) }
        func killed(_ error: OpenURLError) -> Outcome { ending(nil, [.kill, .failWaiting(error), .startEndWatchdog]) }
        let nameTimeout = OpenURLError(
            .timedOut,
            "\(id) did not take its name on the bus within 4 seconds of being woken; its process was killed"
        )

        switch event {
        case .requested:
            switch state {
            case .notRunning: return Outcome(state: .lookingForOwner, effects: [.lookForOwner])
            case .running: return Outcome(state: state, effects: [.deliver])
            case .suspended: return Outcome(state: .waking(owner: first), effects: [.resume, .startTimer])
            case .lookingForOwner, .starting, .lostProcess, .suspending, .waking, .ending: return nothing
            }
        case .foundNobody:
            switch state {
            case .lookingForOwner: return Outcome(state: .starting, effects: [.launch])
            case .lostProcess:
                return Outcome(state: .notRunning, effects: [.failLaunch(.processEnded(exit))])
            case .notRunning, .starting, .running, .suspending, .suspended, .waking, .ending: return nothing
            }
        case .foundFirst, .foundSecond:
            switch state {
            case .lookingForOwner, .lostProcess: return running(event == .foundFirst ? first : second)
            case .notRunning, .starting, .running, .suspending, .suspended, .waking, .ending: return nothing
            }
        case .nameIsFree:
            switch state {
            case .running where place.isWoken: return nothing
            case .running: return held ? ending(nil, [.startEndWatchdog]) : gone
            case .ending: return held ? ending(nil, []) : gone
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking:
                return nothing
            }
        case .nameIsTheFirsts:
            switch state {
            case .running(_, .background) where place.isWoken: return running(.background, [.scheduleSuspension])
            case .running, .suspending: return nothing
            case .suspended: return running(.background, [.resume, .scheduleSuspension, .deliver])
            case .waking: return running(.background, [.scheduleSuspension, .deliver])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .ending: return running(first)
            }
        case .nameIsTheSeconds:
            switch state {
            case .suspended:
                var outcome = running(second)
                outcome.effects.insert(.resume, at: 0)
                return outcome
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
                return running(second)
            }
        case .foundStranger:
            switch state {
            case .lookingForOwner, .lostProcess: return failed(failure)
            case .starting: return ending(nil, [.kill, .failWaiting(failure), .startEndWatchdog])
            case .running: return ending(nil, [.terminate, .startEndWatchdog])
            case .notRunning, .suspending, .suspended, .waking, .ending: return nothing
            }
        case .launchFailed:
            switch state {
            case .starting: return failed(failure)
            case .notRunning, .lookingForOwner, .lostProcess, .running, .suspending, .suspended, .waking, .ending:
                return nothing
            }
        case .exited:
            switch state {
            case .starting: return Outcome(state: .lostProcess(exit), effects: [.lookForOwner])
            case .suspending, .suspended, .waking, .ending(nil): return gone
            case .running where place.isWoken: return gone
            // The bus still has to say that the name has no owner.
            case .running, .ending: return ending(first, [.startEndWatchdog])
            case .notRunning, .lookingForOwner, .lostProcess: return nothing
            }
        case .launchTimedOut:
            switch state {
            case .starting: return ending(nil, [.kill, .failLaunch(.nameNotTaken), .startEndWatchdog])
            case .running: return Outcome(state: state, effects: [.checkProgress])
            case .notRunning, .lookingForOwner, .lostProcess, .suspending, .suspended, .waking, .ending: return nothing
            }
        case .firstHangs:
            switch state {
            case .running: return blamed(first, "it hangs")
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
                return nothing
            }
        case .lookupFailed:
            switch state {
            case .lookingForOwner, .lostProcess:
                let message = "the bus did not say whether \(id) is running; try again"
                return failed(OpenURLError(.launchFailed, message))
            case .notRunning, .starting, .running, .suspending, .suspended, .waking, .ending: return nothing
            }
        case .refusesMore:
            switch state {
            case .running: return ending(first, [.startEndWatchdog])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
                return nothing
            }
        case .endTimedOut:
            switch state {
            case .ending where held: return Outcome(state: state, effects: [.killLate, .startEndWatchdog])
            case .ending(nil): return gone
            case .ending: return Outcome(state: state, effects: [.endDescendants, .startEndWatchdog])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking:
                return nothing
            }
        case .delivers:
            switch state {
            case .running(_, .interrupted): return nothing
            case .running: return running(.foreground, [.takeForeground])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending:
                return nothing
            }
        case .deliversInBackground, .firstSaysBackground:
            switch state {
            case .running(_, .inactive): return running(.background, [.scheduleSuspension])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .firstSaysActive:
            switch state {
            case .running(_, .inactive): return running(.foreground, [.takeForeground])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .firstSaysInactive:
            switch state {
            case .running(_, .inactive): return running(.foreground, [.takeForeground, .becomeActive(owner: first)])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .interrupted:
            switch state {
            case .running(_, .foreground): return running(.interrupted, [.resignActive(owner: first)])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .resumed:
            switch state {
            case .running(_, .interrupted): return running(.foreground, [.becomeActive(owner: first)])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .losesForeground:
            switch state {
            case .running(_, .inactive), .running(_, .foreground), .running(_, .interrupted):
                return place.exitsOnSuspend
                    ? ending(first, [.terminate, .startEndWatchdog])
                    : running(.leaving, [.enterBackground(owner: first)])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .firstReachesBackground:
            switch state {
            case .running(_, .leaving): return running(.background, [.scheduleSuspension])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking,
                .ending:
                return nothing
            }
        case .released:
            switch state {
            case .ending(nil): return gone
            case .ending:
                let message =
                    "another process keeps the name \(id) but takes no URLs; the router does not kill a process that is not the "
                    + "handler's own"
                return failed(OpenURLError(.launchFailed, message))
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking:
                return nothing
            }
        case .backgroundTimeIsOver:
            switch state {
            case .running(_, .background), .suspending:
                return blamed(first, "a background task of \(id) was still open when its time ran out")
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .waking,
                .ending:
                return nothing
            }
        case .firstIsReady:
            switch state {
            case .suspending: return Outcome(state: .suspended(owner: first), effects: [.stop, .wakeIfWaiting])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .waking, .ending:
                return nothing
            }
        case .firstCannotBeStopped:
            switch state {
            case .suspending: return Outcome(state: .waking(owner: first), effects: [.resume, .startTimer])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .waking, .ending:
                return nothing
            }
        case .firstIsBusy:
            switch state {
            case .suspending: return running(.background, [.scheduleSuspension, .deliver])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .waking, .ending:
                return nothing
            }
        case .timeOver:
            switch state {
            case .running where place.isWoken: return nothing
            case .running(_, .background) where place.exitsOnSuspend:
                return ending(first, [.terminate, .startEndWatchdog])
            case .running(_, .background):
                return Outcome(state: .suspending(owner: first), effects: [.askToSuspend(owner: first), .startTimer])
            case .suspending: return blamed(nil, "\(id) did not get ready to be suspended within 4 seconds")
            case .waking:
                return ending(nil, [.blame(nameTimeout), .kill, .failWaiting(nameTimeout), .startEndWatchdog])
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .ending: return nothing
            }
        case .nameTimeOver:
            guard place.isWoken else { return nothing }
            return ending(nil, [.blame(nameTimeout), .kill, .failWaiting(nameTimeout), .startEndWatchdog])
        case .terminated:
            switch state {
            case .running where place.isWoken: return killedStopped
            case .running: return ending(first, [.terminate, .startEndWatchdog])
            case .starting:
                let error = OpenURLError(.launchFailed, "\(id) was ended before it was ready")
                return killed(error)
            case .suspending, .suspended, .waking: return killedStopped
            case .lookingForOwner, .lostProcess:
                return failed(OpenURLError(.launchFailed, "\(id) was ended before it was ready"))
            case .notRunning, .ending: return nothing
            }
        case .purged:
            switch state {
            case .suspended: return killedStopped
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
                return nothing
            }
        case .replaced:
            switch state {
            case .running where place.isWoken: return nothing
            case .running(_, .background): return ending(first, [.terminate, .startEndWatchdog])
            case .suspended: return killedStopped
            case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
                return nothing
            }
        // The word of a connection that does not own the name changes nothing.
        case .secondHangs, .secondSaysBackground, .secondReachesBackground, .secondIsReady:
            return nothing
        }
    }

    @Test(arguments: places, TableEvent.allCases)
    func everyPairOfAStateAndAnEventHasAnOutcome(place: Place, event: TableEvent) {
        var machine = Self.machine(at: place)
        #expect(machine.state == place.state)
        let expected = Self.expected(place, event)
        // A process that has ended is held no longer.
        let effects = machine.on(event.event, hasProcess: place.hasProcess && event != .exited)
        #expect(machine.state == expected.state)
        #expect(effects == expected.effects)
    }

    @Test func handlerThatGetsURLsWithoutItsNameRunsWhenItIsWoken() {
        var machine = Self.machine(at: Place(state: .suspended(owner: Self.first), hasProcess: true))
        machine.getsURLsBeforeName = true
        let effects = machine.on(.requested, hasProcess: true)
        #expect(machine.state == .running(owner: Self.first, .background))
        #expect(machine.woken == Self.first)
        #expect(effects == [.resume, .startNameTimer, .deliver])
    }

    @Test(arguments: places.filter(\.isWoken), TableEvent.allCases)
    func handlerIsWithoutItsNameOnlyWhileItRuns(place: Place, event: TableEvent) {
        var machine = Self.machine(at: place)
        #expect(machine.woken == Self.first)
        _ = machine.on(event.event, hasProcess: place.hasProcess && event != .exited)
        #expect(machine.woken == nil || machine.woken == machine.owner)
        if event == .nameIsTheFirsts || event == .nameIsTheSeconds { #expect(machine.woken == nil) }
    }

    @Test func processStartsOnlyWithoutAnOwnerAndWithoutAHeldProcess() {
        for place in Self.places {
            for event in TableEvent.allCases {
                var machine = Self.machine(at: place)
                guard machine.on(event.event, hasProcess: place.hasProcess).contains(.launch) else { continue }
                #expect(place.state == .lookingForOwner && event == .foundNobody && !place.hasProcess)
            }
        }
    }
}
