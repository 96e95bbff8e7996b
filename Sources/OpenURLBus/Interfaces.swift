public import DBus

/// The router's name and object on the session bus.
public enum RouterService {
    /// The well-known name.
    public static let name: BusName = "org.openurl.Router1"
    /// The path of the object that has all interfaces of the router.
    public static let path: ObjectPath = "/org/openurl/Router1"
    /// The object, for a caller.
    public static let object = RemoteObject(name, path)
}

/// `org.openurl.Router1`: the methods that open URLs.
public enum RouterInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Router1"

    /// Opens a URL. Returns when the handler has accepted the URL; answers with an ``OpenURLError`` otherwise.
    public static let openURL = Method<Arguments<String, OpenOptions>, OpenResult>(
        name,
        "OpenURL",
        inputs: ["url", "options"],
        outputs: ["result"]
    )
    /// Opens a URL, and waits for the answer of its handler (x-callback-url).
    ///
    /// The parameters of the URL whose names begin with `x-` are left out. The handler gets `x-success`, `x-error` and `x-cancel`
    /// of the router's own, which only the handler may open, and only one of them, once; and `x-source`, the identifier of the
    /// caller or the name of its program, if the router knows either. The parameters of `x-success` become the `reply` of the
    /// result, whose path is then `callback`; a parameter with several values becomes an array. `x-error` becomes the error
    /// ``OpenURLError/Code/declined``, and `x-cancel` ``OpenURLError/Code/cancelled``.
    ///
    /// A reply of the handler to the URL itself ends the call as well, also an empty one if the manifest has `OUAnswersCallbacks`.
    /// The time limit is ``callTimeout`` unless the caller gives one. The wait ends with the caller's connection. The URL of a call
    /// cannot be queued.
    public static let call = Method<Arguments<String, OpenOptions>, OpenResult>(
        name,
        "Call",
        inputs: ["url", "options"],
        outputs: ["result"]
    )
    /// The time limit of a ``call`` whose caller gives none.
    public static let callTimeout = Duration.seconds(120)
    /// Opens a URL without options. Returns the identifier of the handler or application that took the URL.
    ///
    /// The method is for callers that cannot pass dictionaries, such as `dbus-send` and `qdbus`.
    public static let open = Method<String, String>(name, "Open", inputs: ["url"], outputs: ["handler"])
    /// Opens URLs in order. A failure does not stop the URLs that follow.
    public static let openURLs = Method<Arguments<[String], OpenOptions>, [OpenOutcome]>(
        name,
        "OpenURLs",
        inputs: ["urls", "options"],
        outputs: ["results"]
    )
    /// Copies files into the inbox of the handler that the options name, and opens each copy as a `file` URL.
    ///
    /// The caller opens the files; the router never opens a path for the caller. The options have to name a `handler` that
    /// claims the type of each file. The handler owns the copies, and deletes them. A file that was not opened is removed from
    /// the inbox, unless the handler may have acted on it. An inbox has at most 10,000 files and 1 GiB. A failure does not stop
    /// the files that follow.
    public static let openFiles = Method<Arguments<[SentFile], OpenOptions>, [OpenOutcome]>(
        name,
        "OpenFiles",
        inputs: ["files", "options"],
        outputs: ["results"]
    )
    /// The largest number of files in one call of ``openFiles``, which is that of descriptors in one message.
    public static let filesPerCall = 16
    /// Returns whether the caller may reach a handler for a URL. Launches nothing.
    public static let canOpenURL = Method<String, Bool>(
        name,
        "CanOpenURL",
        inputs: ["url"],
        outputs: ["can_open"]
    )
    /// Returns the decision that ``openURL`` would take for the caller, and the reasons. Launches nothing.
    public static let explain = Method<Arguments<String, OpenOptions>, Explanation>(
        name,
        "Explain",
        inputs: ["url", "options"],
        outputs: ["explanation"]
    )
    /// Sends the router's signals to the caller from now on: ``RegistryInterface/changed``, ``LifecycleInterface/stateChanged``
    /// and ``QueueInterface/stateChanged``.
    ///
    /// The signals go to subscribers alone, because a broadcast would tell each sandbox which handlers there are. A subscription
    /// ends with the caller's connection, and with the router: a subscriber that sees a new owner of the router's name subscribes
    /// again.
    public static let subscribe = Method<Empty, Empty>(name, "Subscribe")
    /// Ends the caller's subscription. Does nothing without one.
    public static let unsubscribe = Method<Empty, Empty>(name, "Unsubscribe")
    /// The router's version.
    public static let version = Property<String>(name, "Version")
}

/// `org.openurl.Registry1`: the registered handlers and their schemes.
public enum RegistryInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Registry1"

    /// Registers the bundle or manifest at an absolute path. Returns the entry of the handler.
    ///
    /// An identifier that has another handler already is an error; ``replace`` replaces that handler. A scheme that has a
    /// handler or an application already stays with it, and ``setDefault`` gives the scheme to the new handler. A path that leads
    /// nowhere is the error `org.freedesktop.DBus.Error.FileNotFound`, and a manifest that cannot be used
    /// `org.freedesktop.DBus.Error.InvalidFileContent`.
    public static let register = Method<String, HandlerEntry>(
        name,
        "Register",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Registers as ``register`` does, and replaces another handler of the same identifier. The router's log names both.
    public static let replace = Method<String, HandlerEntry>(
        name,
        "Replace",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Registers the bundle or manifest at an absolute path until the router ends, or until ``unregister``. Writes no file.
    ///
    /// The handler gets the URLs that nothing else claims, and those of callers that ask for it. The handler opens no files, is not
    /// published to the desktop, and cannot be the user's default. The router does not notice changes of the manifest.
    public static let registerTemporarily = Method<String, HandlerEntry>(
        name,
        "RegisterTemporarily",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Claims schemes for a program that the caller runs. All URLs of the schemes go to the program, before the user's default, until
    /// the caller's connection ends. Writes no file.
    ///
    /// The second argument is the bundle identifier of the program, or the absolute path of the bundle or manifest that says it; the
    /// third is the program itself. The program takes the identifier as its name on the bus, and descends from the caller's process.
    /// A URL waits for the name for the time limit of a launch. The router ends a program that outlives the claim.
    ///
    /// The claim ends with the router as well: a caller that sees a new owner of the router's name claims the schemes again. The error
    /// is ``OpenURLError/Code/alreadyClaimed`` if another program has claimed a scheme, or has the name; and
    /// ``OpenURLError/Code/notAllowed`` for a fixed scheme, a scheme of browsers, a scheme that the user's policy denies or asks
    /// about, and a scheme that another handler or application has. A rule that allows the scheme to the programs of the user lifts
    /// the last refusal, as for the callbacks of ``CallbackInterface/request``.
    public static let claim = Method<Arguments<[String], String, String>, HandlerEntry>(
        name,
        "Claim",
        inputs: ["schemes", "handler", "program"],
        outputs: ["handler"]
    )
    /// The largest number of schemes in one ``claim``.
    public static let schemesPerClaim = 64
    /// Returns what ``register`` and a launch would find about a handler: keys that are ignored, values that are invalid, a program
    /// that is missing. Registers nothing. A handler without an error among its findings can be registered. A path that leads nowhere
    /// is the error `org.freedesktop.DBus.Error.FileNotFound`.
    public static let check = Method<String, [ManifestFinding]>(
        name,
        "Check",
        inputs: ["path_or_id"],
        outputs: ["findings"]
    )
    /// Removes a handler that ``register`` added.
    public static let unregister = Method<String, Empty>(name, "Unregister", inputs: ["id"])
    /// Returns the handlers, in the order of their bundle identifiers, and the applications that open URLs.
    ///
    /// If all entries together are too large for a message, those that take more than an equal share of it have
    /// ``HandlerEntry/isCut``.
    public static let listHandlers = Method<Empty, [HandlerEntry]>(
        name,
        "ListHandlers",
        outputs: ["handlers"]
    )
    /// Returns each scheme with the handlers that claim the scheme. The handler that gets the URLs comes first.
    public static let listSchemes = Method<Empty, [String: [String]]>(
        name,
        "ListSchemes",
        outputs: ["schemes"]
    )
    /// Makes a handler or an application the user's default for a scheme, or for a MIME type, which has a slash. An empty
    /// identifier removes the user's choice.
    public static let setDefault = Method<Arguments<String, String>, Empty>(
        name,
        "SetDefault",
        inputs: ["scheme", "id"]
    )
    /// Reads the manifests and the desktop's files again, and publishes all handlers to the desktop. Returns the
    /// problems, by the path of the file.
    public static let reload = Method<Empty, [String: String]>(name, "Reload", outputs: ["problems"])
    /// The handlers of these schemes have changed. The signal goes to the connections that have called ``RouterInterface/subscribe``.
    public static let changed = Signal<[String]>(name, "Changed", arguments: ["schemes"])
}

/// `org.openurl.Lifecycle1`: the states of the handlers.
///
/// A method that takes a handler's identifier answers with the error `NoHandler` if the handler is not registered. The
/// method answers with `NotAllowed` if the handler's state or manifest does not permit the request; the message gives
/// the reason.
public enum LifecycleInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Lifecycle1"

    /// Returns each registered handler that has a program, with its state, and each handler that is no longer registered and still runs.
    ///
    /// A command (`OUCommand`) is active while its program runs for a URL; the process is the one that has started last.
    ///
    /// The router notices a process that another program started at three moments: when the router starts, when a request
    /// is for the handler, and at this call. From then on the router follows the process.
    public static let list = Method<Empty, [HandlerStatus]>(name, "List", outputs: ["handlers"])
    /// Brings a handler to the foreground, and starts the handler without a URL if necessary. Returns when the handler
    /// is ready.
    public static let activate = Method<String, Empty>(name, "Activate", inputs: ["id"])
    /// Starts or wakes a handler and leaves the foreground as it is. Returns when the handler has launched into the
    /// background.
    public static let wake = Method<String, Empty>(name, "Wake", inputs: ["id"])
    /// Takes a handler to the background. Returns when the delegate has saved the state, or when the handler has ended
    /// because its manifest asks for that (`UIApplicationExitsOnSuspend`).
    public static let background = Method<String, Empty>(name, "Background", inputs: ["id"])
    /// Takes a handler to the background and suspends the handler at once. Returns when the process is stopped.
    public static let suspend = Method<String, Empty>(name, "Suspend", inputs: ["id"])
    /// Ends a handler and removes its saved state. A handler that is no longer registered and still runs ends too. Returns when the
    /// process has ended. If the handler was in the foreground, the
    /// handler that sent its latest URL then comes to the foreground again.
    public static let terminate = Method<String, Empty>(name, "Terminate", inputs: ["id"])
    /// Forgets the crashes of a handler. A handler that crashes too often is temporarily not started
    /// (``HandlerStatus/quarantinedUntil``); after this call it may be started at once, and its
    /// queued URLs are tried.
    public static let reset = Method<String, Empty>(name, "Reset", inputs: ["id"])
    /// Prevents the suspension of the calling handler until the task ends ("Executing a Finite-Length Task in the
    /// Background"). Returns the number of the task and the remaining time in milliseconds. A name has at most 256 bytes.
    ///
    /// All tasks together have the time of ``backgroundTimeRemaining``, whichever methods of ``HandlerInterface`` the handler
    /// implements. A handler whose task is open at the end of the time is killed; ``HandlerInterface/expireBackgroundTasks`` comes
    /// a second before.
    public static let beginBackgroundTask = Method<String, Arguments<UInt32, UInt32>>(
        name,
        "BeginBackgroundTask",
        inputs: ["name"],
        outputs: ["task", "remaining"]
    )
    /// Ends a task of the calling handler. A task that has already ended is ignored.
    public static let endBackgroundTask = Method<UInt32, Empty>(name, "EndBackgroundTask", inputs: ["task"])
    /// Returns the time, in milliseconds, that the tasks of the calling handler have left, whether a task is open or not. On the
    /// way to the background it is the time of the whole stay. The time is ``unlimited`` in the foreground, for a handler whose
    /// background mode prevents the suspension, and for a process that no router has started.
    ///
    /// The time runs while a task is open in the background. A URL of another program that arrives in the background gives the
    /// whole time again; a URL that the handler sends itself gives nothing.
    public static let backgroundTimeRemaining = Method<Empty, UInt32>(
        name,
        "BackgroundTimeRemaining",
        outputs: ["remaining"]
    )
    /// Tells the caller of a request how much of its work is done. The arguments are ``OpenContext/requestID``, a fraction from 0
    /// to 1, and a text for a person.
    ///
    /// The caller of the method must be the handler that has the request; otherwise the error is
    /// ``OpenURLError/Code/notAllowed``. A fraction outside is taken for the nearest one, and a text is cut off after 256 bytes. A
    /// caller without a handle (``RequestInterface``) learns nothing.
    public static let reportProgress = Method<Arguments<String, Double, String>, Empty>(
        name,
        "ReportProgress",
        inputs: ["request_id", "fraction", "message"]
    )
    /// Brings the handler that has sent a URL to the foreground again, because the calling handler has finished with the URL ("App
    /// Termination", the return to the sender).
    ///
    /// The arguments are ``OpenContext/requestID``, or an empty text for the latest URL, and the `platform_data` of
    /// ``FreedesktopApplication`` with the token that lets a window of the sender take the focus. The method returns when the router
    /// has begun: the sender may itself be waiting for the answer to the URL.
    ///
    /// The error is ``OpenURLError/Code/notAllowed`` if the caller is not the handler in the foreground, or if no handler has sent the
    /// URL. Each URL leads back once, among the newest 16 that have reached the process in the foreground.
    public static let returnToSource = Method<Arguments<String, [String: Value]>, Empty>(
        name,
        "ReturnToSource",
        inputs: ["request_id", "platform_data"]
    )
    /// Notifies a running handler of a change. No handler is started for a notification.
    ///
    /// For a suspended handler the router keeps the latest value of each kind. The handler gets the values when the
    /// handler wakes, before the URL ("Queued notifications", Table 4-1). A kind has at most 128 bytes, a value 64 KiB, and
    /// all values that wait for one handler 1 MiB. A value cannot hold descriptors.
    public static let notify = Method<Arguments<String, String, Value>, Empty>(
        name,
        "Notify",
        inputs: ["id", "kind", "value"]
    )
    /// Acts as the router does when the kernel reports that memory is short: warns the running handlers and ends one
    /// suspended handler.
    ///
    /// The handler that ends is the largest one. Among handlers with at least half of its memory it is the one that has been
    /// suspended for the longest time. The kernel repeats its report while the shortage lasts, at most once in 2 s, and
    /// each report ends one more handler. A call within 2 s of another does nothing.
    public static let relieveMemory = Method<Empty, Empty>(name, "RelieveMemory")
    /// The state of a handler that the router follows has changed. The second argument is a raw value of ``HandlerState``.
    ///
    /// The signal goes to the connections that have called ``RouterInterface/subscribe``.
    ///
    /// The router tells ``HandlerState/active`` when it hands the handler the event that leads to the foreground. The handler may still
    /// be on its way then.
    public static let stateChanged = Signal<Arguments<String, String>>(
        name,
        "StateChanged",
        arguments: ["id", "state"]
    )

    /// The remaining time of a handler without a time limit.
    public static let unlimited = UInt32.max
}

/// `org.openurl.Handler1`: the interface that a handler exports, at the object path of its bundle identifier.
///
/// A handler in another language can implement ``open`` alone. The router then neither tells the handler of the
/// background nor suspends the handler. Each method stands for a whole sequence, so a sequence takes one message in
/// each direction.
public enum HandlerInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Handler1"

    /// Delivers a URL. The handler runs the whole sequence for its state and answers once.
    ///
    /// The error for a refused launch is ``OpenURLError/Code/launchVetoed``. The error for a refusal with a reason is
    /// ``OpenURLError/Code/declined``. The router treats an error with a name of the handler's own as
    /// ``OpenURLError/Code/declined``.
    public static let open = Method<Arguments<String, OpenContext>, OpenAnswer>(
        name,
        "Open",
        inputs: ["url", "context"],
        outputs: ["handled", "answer", "trace"]
    )
    /// Asks the handler to stop its work on a URL, because the caller has cancelled the request or because the caller's time limit
    /// is over. The argument is ``OpenContext/requestID``.
    ///
    /// The method returns at once. The call of ``open`` for the URL then returns soon, with the error
    /// ``OpenURLError/Code/cancelled`` or with any other outcome. A handler that does not have the request ignores the call.
    public static let cancel = Method<String, Empty>(name, "Cancel", inputs: ["request_id"])
    /// Takes the handler to the background: calls `willResignActive` and `didEnterBackground`, and saves the state.
    /// Returns after that.
    public static let enterBackground = Method<Empty, Empty>(name, "EnterBackground")
    /// Prepares the handler for the stop of its process. Returns whether the handler is idle.
    ///
    /// A handler that is idle releases its bus name, so that no message to the name reaches a stopped process, and answers yes
    /// when the bus has answered. The router then stops the process with `SIGSTOP`. A handler that is not idle answers no, and has
    /// its name.
    ///
    /// The argument is the reading end of a pipe; only the router has the writing end. The handler keeps the descriptor open, and
    /// leaves its flags alone: the router has asked the kernel for a `SIGCONT` to the handler when the writing end is closed
    /// (`F_SETSIG` in fcntl(2)). The router closes the writing end when it continues the process with `SIGCONT`, and the kernel
    /// closes it when the router dies. At the end of the pipe, or at `SIGCONT`, the handler takes its name back within
    /// `OUTransitionTimeout`, and closes the descriptor. A handler that closes the descriptor before is not stopped.
    public static let suspend = Method<UnixFD, Bool>(name, "Suspend", inputs: ["lifeline"], outputs: ["ready"])
    /// Calls `didReceiveMemoryWarning`.
    public static let receiveMemoryWarning = Method<Empty, Empty>(name, "ReceiveMemoryWarning")
    /// Calls the expiration handlers of the background tasks. The router ends the process a second later if a task has
    /// still not ended.
    public static let expireBackgroundTasks = Method<Empty, Empty>(name, "ExpireBackgroundTasks")
    /// Notifies the handler of changes, with one value of each kind.
    public static let notify = Method<[String: Value], Empty>(name, "Notify", inputs: ["notifications"])
    /// The state of the handler, as a raw value of ``HandlerState``.
    public static let state = Property<String>(name, "State")
    /// Returns the name of the delegate method that is running, and the time for which the method has been running, in
    /// microseconds. The name is empty between methods.
    ///
    /// The handler answers at once, even while the method blocks the main actor. The router's watchdog asks.
    public static let progress = Method<Empty, Arguments<String, UInt64>>(
        name,
        "Progress",
        outputs: ["phase", "microseconds"]
    )
    /// Returns as soon as the main actor can run, without waiting for the events in the queue.
    ///
    /// A method that waits for something leaves the main actor free; a method that hangs does not. The router ends the
    /// process of a handler whose `open` has used up its time limit and whose main actor does not answer.
    public static let check = Method<Empty, Empty>(name, "Check")

    /// Asks the handler to end, as `SIGTERM` does; returns before the handler has ended.
    ///
    /// The router sends `SIGTERM` to its own processes, and to processes that run the handler's program. It calls this method
    /// where the process that has the name is another one, such as the proxy of a sandbox.
    public static let terminate = Method<Empty, Empty>(name, "Terminate")

    /// The error of a handler that is ending and has not handled the URL. The router delivers the URL to the handler's
    /// next process.
    public static let ending: ErrorName = "org.openurl.Handler1.Error.Ending"

    /// The phases of a launch.
    public static let launchPhases: Set<String> = [
        "willFinishLaunching", "shouldRestoreApplicationState", "didDecodeRestorableState", "didFinishLaunching",
    ]

    /// The phase in which the handler opens a URL.
    public static let openPhase = "open"

    /// The phase that follows ``openPhase`` when the URL brings the handler to the foreground.
    public static let activationPhase = "didBecomeActive"

    /// The phases that have five seconds each: the ways to the foreground and to the background, and short notices.
    public static let transitionPhases: Set<String> = [
        "willResignActive", "didEnterBackground", "shouldSaveApplicationState", "willEncodeRestorableState",
        "willEnterForeground", "didBecomeActive", "didReceiveMemoryWarning", "didReceiveNotification",
    ]

    /// Returns the path of a handler's object.
    public static func object(of id: BusName) -> ObjectPath { ObjectPath(for: id) }

    /// The environment variable of a process that the router started. Such a process waits for its first message
    /// instead of launching without a URL.
    ///
    /// The value is the unique name of the router's connection. The handler thus knows its router, even if the router gives
    /// up its own name while the handler starts.
    public static let launchVariable = "OPENURL_LAUNCH"
    /// The environment variable that tells a process which the router started its ``HandlerReach``.
    ///
    /// With another value than ``HandlerReach/everyone``, a URL has to come from the router. The router knows the sender.
    public static let reachVariable = "OPENURL_REACH"
}
