internal import Reactor

/// The time limits of one handler, each of which ends in an event for the machine.
///
/// The object belongs to the router's actor.
final class HandlerTimers {
    /// The watchdog of a launch.
    let launch: RestartableTimer
    /// The watchdog of the process's end.
    let end: RestartableTimer
    /// Ends the machine's state, if the state has a time limit.
    let state: RestartableTimer
    /// The watchdog of a handler that was woken, until it has its name.
    let name: RestartableTimer
    /// Ends the time in the background while a task is open.
    let background: RestartableTimer
    private unowned let session: any SessionView

    init(on loop: EventLoop, _ session: any SessionView) {
        launch = RestartableTimer(on: loop)
        end = RestartableTimer(on: loop)
        state = RestartableTimer(on: loop)
        name = RestartableTimer(on: loop)
        background = RestartableTimer(on: loop)
        self.session = session
    }

    /// Starts the timer of a time limit. A process that a debugger or a person holds gets the time again, unless the user wants
    /// it to end.
    func start(_ timer: RestartableTimer, in time: Duration, _ event: HandlerStateMachine.Event) {
        timer.start(in: time) { [self, session] in
            if session.process.isHeld, !session.process.isUnwanted { return start(timer, in: time, event) }
            session.handle(event)
        }
    }

    /// Ends the watchdogs of the launch and of the end: one of the two has succeeded, or there is no process.
    func cancelProcessTimers() {
        launch.cancel()
        end.cancel()
    }
}
