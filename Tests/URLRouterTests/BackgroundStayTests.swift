import DBus
import Testing

@testable import URLRouter

/// The time of a stay in the background, in every state of a handler.
@Suite struct BackgroundStayTests {
    private typealias State = HandlerStateMachine.State

    private static let owner: BusName = ":1.1"
    private static let active = State.running(owner: owner, .foreground)
    private static let leaving = State.running(owner: owner, .leaving)
    private static let background = State.running(owner: owner, .background)
    private static let suspended = State.suspended(owner: owner)
    private let start = SuspendingClock.now
    private let limit = Duration.seconds(180)

    private func left(_ stay: BackgroundStay, in state: HandlerStateMachine.State, after seconds: Int = 0) -> Duration?
    {
        stay.timeLeft(of: limit, in: state, at: start + .seconds(seconds))
    }

    /// A stay in which a task has been open for some seconds.
    private func stay(_ seconds: Int) -> BackgroundStay {
        var stay = BackgroundStay()
        stay.update(in: Self.background, hasTasks: true, at: start)
        stay.isExpiring = true
        stay.suspensionTime = start
        stay.update(in: Self.background, hasTasks: false, at: start + .seconds(seconds))
        return stay
    }

    @Test func timeIsToldInEveryState() {
        let stay = BackgroundStay()
        #expect(left(stay, in: Self.active) == nil)
        #expect(left(stay, in: .running(owner: Self.owner, .interrupted)) == nil)
        for state in [
            Self.leaving, Self.background, .running(owner: Self.owner, .inactive), .suspending(owner: Self.owner),
        ] {
            #expect(left(stay, in: state) == limit, "\(state)")
        }
        #expect(left(stay, in: .ending(owner: Self.owner)) == .zero)
    }

    @Test func handlerWithoutALimitHasNone() {
        for state in [Self.leaving, Self.background] {
            #expect(BackgroundStay().timeLeft(of: nil, in: state, at: start) == nil)
        }
    }

    @Test func timeRunsWhileATaskIsOpenInTheBackground() {
        var stay = BackgroundStay()
        stay.update(in: Self.leaving, hasTasks: true, at: start)
        #expect(!stay.isCounting)
        stay.update(in: Self.background, hasTasks: true, at: start + .seconds(4))
        #expect(stay.isCounting)
        #expect(left(stay, in: Self.background, after: 14) == .seconds(170))
        stay.update(in: .suspending(owner: Self.owner), hasTasks: true, at: start + .seconds(14))
        #expect(left(stay, in: Self.background, after: 24) == .seconds(160))
    }

    @Test(arguments: [active, suspended, leaving])
    func stayEndsOutsideTheBackground(state: HandlerStateMachine.State) {
        var stay = stay(100)
        stay.update(in: state, hasTasks: true, at: start + .seconds(100))
        #expect(!stay.isExpiring && !stay.isCounting && stay.suspensionTime == nil)
        stay.update(in: Self.background, hasTasks: true, at: start + .seconds(200))
        #expect(left(stay, in: Self.background, after: 200) == limit)
    }

    @Test func handlerThatBringsItselfToTheForegroundGetsNoTime() {
        var stay = stay(100)
        stay.foregroundFollows(isOwn: true, from: Self.background)
        for (second, state) in [(100, Self.active), (150, Self.leaving), (151, Self.background)] {
            stay.update(in: state, hasTasks: true, at: start + .seconds(second))
        }
        #expect(stay.isExpiring)
        #expect(left(stay, in: Self.background, after: 161) == .seconds(70))
        // The suspension ends the stay all the same.
        stay.update(in: Self.suspended, hasTasks: false, at: start + .seconds(161))
        #expect(left(stay, in: Self.background, after: 161) == limit)
    }

    @Test func anotherProgramThatBringsTheHandlerToTheForegroundEndsTheStay() {
        var stay = stay(100)
        stay.foregroundFollows(isOwn: true, from: Self.background)
        stay.update(in: Self.active, hasTasks: false, at: start + .seconds(100))
        stay.foregroundFollows(isOwn: false, from: Self.active)
        // The handler was brought to the foreground by another program, and may send itself URLs there.
        stay.foregroundFollows(isOwn: true, from: Self.active)
        stay.update(in: Self.leaving, hasTasks: false, at: start + .seconds(101))
        #expect(left(stay, in: Self.leaving) == limit)
    }
}
