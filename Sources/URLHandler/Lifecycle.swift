internal import OpenURLBus

/// An event in a handler's life. The handler takes one at a time.
package enum LifecycleEvent: CaseIterable {
    /// The handler comes to the foreground, without a URL.
    case activate
    /// A URL arrives and brings the handler to the foreground.
    case open
    /// A URL arrives and leaves the handler in its current state.
    case openInBackground
    /// An interruption begins. The handler stays in the foreground.
    case resignActive
    /// The interruption has ended, and the handler is active again. It may have gone to the background meanwhile.
    case becomeActive
    /// The handler goes to the background, because another handler comes to the foreground or this one is no longer
    /// needed.
    case enterBackground
    case receiveMemoryWarning
    case notify
    /// The handler is given something other than a URL, and is launched for it if necessary. Its place in the
    /// foreground or in the background stays the same.
    case wake
    /// The handler is asked to end, and still owns its name. ``terminate`` follows.
    case prepareToTerminate
    case terminate
}

/// One step in a sequence: a change of state, or one of the delegate's methods, by its name in a trace.
enum LifecycleStep: String, CaseIterable {
    case becomeNotRunning
    case becomeInactive
    case becomeActive
    case becomeBackground

    case willFinishLaunching
    /// Skipped if there is no saved state, or if nothing stores states. In that case, ``didDecodeRestorableState`` is
    /// skipped too.
    case shouldRestoreApplicationState
    case didDecodeRestorableState
    case didFinishLaunching
    case didBecomeActive
    case willResignActive
    case didEnterBackground
    case shouldSaveApplicationState
    case willEncodeRestorableState
    case willEnterForeground
    case willTerminate
    case didReceiveMemoryWarning
    /// Runs once for each kind that has changed, and not at all if nothing has changed.
    case didReceiveNotification
    /// Skipped if there is no push.
    case didReceiveRemoteNotification
    /// Skipped if there is no notification of the handler's own.
    case didReceiveLocalNotification
    /// Skipped if there is no task.
    case performTask
    /// Skipped if a launch method refused the URL.
    case open
}

/// The event sequences in the app programming guide ("App States and Multitasking", figures 3-2 to 3-6, 6-1 and 6-2).
///
/// A sequence depends only on the event and on the handler's state when it begins. Events run one after another, so no
/// event begins in the middle of a sequence. Afterwards, the handler has the state that the last change in the sequence
/// set, or its old state if there was no change.
enum Lifecycle {
    /// Returns the steps for an event in the given state.
    static func steps(for event: LifecycleEvent, in state: HandlerState) -> [LifecycleStep] {
        switch (state, event) {
        // Figure 3-2, without a URL.
        case (.notRunning, .activate):
            [
                .becomeInactive, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .didReceiveLocalNotification, .becomeActive, .didBecomeActive,
            ]
        // Figure 6-1.
        case (.notRunning, .open):
            [
                .becomeInactive, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .didReceiveNotification, .open, .becomeActive, .didBecomeActive,
            ]
        // Figure 3-3. The launch methods can see from the state that they run in the background.
        case (.notRunning, .openInBackground):
            [
                .becomeBackground, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .didReceiveNotification, .open, .didEnterBackground, .shouldSaveApplicationState,
                .willEncodeRestorableState,
            ]
        case (.notRunning, .enterBackground):
            [
                .becomeBackground, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .didEnterBackground, .shouldSaveApplicationState, .willEncodeRestorableState,
            ]
        // Figure 3-3, with something to do. As soon as `didEnterBackground` has returned, the handler may be suspended.
        case (.notRunning, .wake):
            [
                .becomeBackground, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .didReceiveNotification, .didReceiveRemoteNotification,
                .didReceiveLocalNotification, .performTask, .didEnterBackground, .shouldSaveApplicationState,
                .willEncodeRestorableState,
            ]
        // These events start no process, because a handler reads the current values itself at its next launch.
        case (.notRunning, .receiveMemoryWarning), (.notRunning, .notify), (.notRunning, .prepareToTerminate),
            (.notRunning, .terminate), (.notRunning, .resignActive), (.notRunning, .becomeActive):
            []

        case (.active, .activate), (.inactive, .activate):
            [.didReceiveLocalNotification]
        // An interruption withholds only the user's input, so a URL is opened, and the handler stays inactive.
        case (.active, .open), (.inactive, .open), (.active, .openInBackground), (.inactive, .openInBackground):
            [.didReceiveNotification, .open]
        // Figure 3-4.
        case (.active, .resignActive):
            [.willResignActive, .becomeInactive]
        case (.inactive, .becomeActive):
            [.becomeActive, .didBecomeActive]
        case (.inactive, .resignActive), (.active, .becomeActive):
            []
        // Figure 3-5.
        case (.active, .enterBackground):
            [
                .willResignActive, .becomeBackground, .didEnterBackground, .shouldSaveApplicationState,
                .willEncodeRestorableState,
            ]
        // Figure 3-4, "or on to the background": the delegate has been told already that the handler is not active.
        case (.inactive, .enterBackground):
            [.becomeBackground, .didEnterBackground, .shouldSaveApplicationState, .willEncodeRestorableState]

        // Figure 3-6. A suspended handler executes no code, so it still sees the state `background`.
        case (.background, .becomeActive), (.suspended, .becomeActive):
            [.willEnterForeground, .becomeActive, .didBecomeActive]
        // As for a URL, the click on a notification comes before the handler is active.
        case (.background, .activate), (.suspended, .activate):
            [
                .willEnterForeground, .becomeInactive, .didReceiveLocalNotification, .becomeActive, .didBecomeActive,
            ]
        // Figure 6-2.
        case (.background, .open), (.suspended, .open):
            [
                .willEnterForeground, .becomeInactive, .didReceiveNotification, .open, .becomeActive, .didBecomeActive,
            ]
        // The handler is in the background again without being told by an event, and may be ended without notice.
        case (.background, .openInBackground), (.suspended, .openInBackground):
            [.didReceiveNotification, .open, .shouldSaveApplicationState, .willEncodeRestorableState]
        case (.background, .enterBackground), (.suspended, .enterBackground), (.background, .resignActive),
            (.suspended, .resignActive):
            []

        case (.active, .wake), (.inactive, .wake):
            [.didReceiveNotification, .didReceiveRemoteNotification, .didReceiveLocalNotification, .performTask]
        case (.background, .wake), (.suspended, .wake):
            [
                .didReceiveNotification, .didReceiveRemoteNotification, .didReceiveLocalNotification, .performTask,
                .shouldSaveApplicationState,
                .willEncodeRestorableState,
            ]
        case (_, .receiveMemoryWarning):
            [.didReceiveMemoryWarning]
        case (_, .notify):
            [.didReceiveNotification]
        // If a handler ends with the session, it continues in the next one ("App Termination").
        case (_, .prepareToTerminate):
            [.shouldSaveApplicationState, .willEncodeRestorableState]
        case (_, .terminate):
            [.willTerminate, .becomeNotRunning]
        }
    }
}
