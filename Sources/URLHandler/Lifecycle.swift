internal import OpenURLBus

/// What happens to a handler, one at a time.
package enum LifecycleEvent: CaseIterable {
    /// It is wanted in the foreground, without a URL.
    case activate
    /// A URL, which brings it to the foreground.
    case open
    /// A URL that leaves it where it is.
    case openInBackground
    /// Another handler comes to the foreground, or nobody needs this one.
    case enterBackground
    case receiveMemoryWarning
    case notify
    case terminate
}

/// One step of a sequence: a change of state, or one of the delegate's methods by the name that a trace gives it.
enum LifecycleStep: String, CaseIterable {
    case becomeNotRunning
    case becomeInactive
    case becomeActive
    case becomeBackground

    case willFinishLaunching
    /// Left out, with what follows from it, where no state is saved.
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
    /// Once for each kind that has changed, and for none at all where nothing has.
    case didReceiveNotification
    /// Left out where a launch method refused the URL.
    case open
}

/// The sequences of the app programming guide ("App States and Multitasking", figures 3-2 to 3-6, 6-1 and 6-2): which steps
/// an event leads to, by the state in which it finds the handler.
///
/// A value without memory. Events come one after the other, so none finds a sequence in its middle; the state after it is the
/// one that its last change names, or the one before.
enum Lifecycle {
    static func steps(for event: LifecycleEvent, in state: HandlerState) -> [LifecycleStep] {
        switch (state, event) {
        // Figure 3-2, without a URL.
        case (.notRunning, .activate):
            [
                .becomeInactive, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .becomeActive, .didBecomeActive,
            ]
        // Figure 6-1.
        case (.notRunning, .open):
            [
                .becomeInactive, .willFinishLaunching, .shouldRestoreApplicationState, .didDecodeRestorableState,
                .didFinishLaunching, .didReceiveNotification, .open, .becomeActive, .didBecomeActive,
            ]
        // Figure 3-3; the launch methods tell by the state that they are in the background.
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
        // A launch reads for itself how things are.
        case (.notRunning, .receiveMemoryWarning), (.notRunning, .notify), (.notRunning, .terminate):
            []

        case (.active, .activate), (.inactive, .activate):
            []
        case (.active, .open), (.inactive, .open), (.active, .openInBackground), (.inactive, .openInBackground):
            [.didReceiveNotification, .open]
        // Figure 3-5.
        case (.active, .enterBackground), (.inactive, .enterBackground):
            [
                .willResignActive, .becomeBackground, .didEnterBackground, .shouldSaveApplicationState,
                .willEncodeRestorableState,
            ]

        // Figure 3-6. A handler that was suspended executed nothing, so it sees itself in the background.
        case (.background, .activate), (.suspended, .activate):
            [.willEnterForeground, .becomeActive, .didBecomeActive]
        // Figure 6-2.
        case (.background, .open), (.suspended, .open):
            [
                .willEnterForeground, .becomeInactive, .didReceiveNotification, .open, .becomeActive, .didBecomeActive,
            ]
        case (.background, .openInBackground), (.suspended, .openInBackground):
            [.didReceiveNotification, .open]
        case (.background, .enterBackground), (.suspended, .enterBackground):
            []

        case (_, .receiveMemoryWarning):
            [.didReceiveMemoryWarning]
        case (_, .notify):
            [.didReceiveNotification]
        case (_, .terminate):
            [.willTerminate, .becomeNotRunning]
        }
    }
}
