public import DBus

/// The router's name and object on the session bus.
public enum RouterService {
    /// The router's well-known name.
    public static let name: BusName = "org.openurl.Router1"
    /// The path of the object that has all of the router's interfaces.
    public static let path: ObjectPath = "/org/openurl/Router1"
    /// This object, for a caller.
    public static let object = RemoteObject(name, path)
}

/// `org.openurl.Router1`: the methods that open URLs.
public enum RouterInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Router1"

    /// Opens a URL. Returns when the handler has accepted it; otherwise the answer is an ``OpenURLError``.
    public static let openURL = Method<SentURL, OpenResult>(
        name,
        "OpenURL",
        inputs: ["url", "options"],
        outputs: ["result"]
    )
    /// Opens a URL, and waits for its handler to answer (x-callback-url).
    ///
    /// Parameters of the URL whose names begin with `x-` are left out. Instead, the handler gets the router's own
    /// `x-success`, `x-error` and `x-cancel`, which only the handler may open: one of them, and only once. It also gets
    /// `x-source`, the identifier of the caller or the name of its program, if the router knows either. If it opens
    /// `x-success`, the parameters become the result's `reply`, and the result's path is `callback`; if a parameter has
    /// several values, it becomes an array. `x-error` becomes the error ``OpenURLError/Code/declined``, and `x-cancel`
    /// ``OpenURLError/Code/cancelled``.
    ///
    /// If the handler replies to the URL itself, this ends the call as well; an empty reply does so only if the
    /// manifest has `OUAnswersCallbacks`. The time limit is ``callTimeout`` unless the caller sets one. When the
    /// caller's connection ends, so does the wait. A call's URL cannot be queued.
    public static let call = Method<SentURL, OpenResult>(
        name,
        "Call",
        inputs: ["url", "options"],
        outputs: ["result"]
    )
    /// Time limit for a ``call`` whose caller sets none.
    public static let callTimeout = Duration.seconds(120)
    /// Opens a URL without options. Returns the identifier of the handler or application that took it.
    ///
    /// This is for callers that cannot pass dictionaries, such as `dbus-send` and `qdbus`.
    public static let open = Method<String, String>(name, "Open", inputs: ["url"], outputs: ["handler"])
    /// Opens URLs in order. If one fails, the others are still opened.
    public static let openURLs = Method<Arguments<[String], OpenOptions>, [OpenOutcome]>(
        name,
        "OpenURLs",
        inputs: ["urls", "options"],
        outputs: ["results"]
    )
    /// Copies files into the inbox of the handler given in the options, and opens each copy as a `file` URL.
    ///
    /// The caller opens the files, because the router never opens a path for a caller. In the options, `handler` must
    /// be a handler that claims each file's type. This handler owns the copies, and deletes them. If a file was not
    /// opened, the router removes it from the inbox, unless the handler may have acted on it. An inbox may have at most
    /// 10,000 files and 1 GiB. If one file fails, the others are still opened.
    public static let openFiles = Method<Arguments<[SentFile], OpenOptions>, [OpenOutcome]>(
        name,
        "OpenFiles",
        inputs: ["files", "options"],
        outputs: ["results"]
    )
    /// Maximum number of files in one call of ``openFiles``, limited by the number of descriptors in one message.
    public static let filesPerCall = 16
    /// Returns whether the caller may reach a handler for a URL. Launches nothing.
    public static let canOpenURL = Method<String, Bool>(
        name,
        "CanOpenURL",
        inputs: ["url"],
        outputs: ["can_open"]
    )
    /// Returns what ``openURL`` would do for the caller, or for another class of senders
    /// (``OpenOptions/senderClass``), and why. Launches nothing.
    public static let explain = Method<Arguments<String, OpenOptions>, Explanation>(
        name,
        "Explain",
        inputs: ["url", "options"],
        outputs: ["explanation"]
    )
    /// Sends the router's signals to the caller from now on: ``RegistryInterface/changed``,
    /// ``LifecycleInterface/stateChanged``, ``LifecycleInterface/launchBegan``, ``LifecycleInterface/launchEnded`` and
    /// ``QueueInterface/stateChanged``.
    ///
    /// They go only to subscribers, because a broadcast would show each sandbox which handlers there are. A
    /// subscription ends with the caller's connection, and with the router. If the router's name gets a new owner,
    /// subscribe again.
    public static let subscribe = Method<Empty, Empty>(name, "Subscribe")
    /// Ends the caller's subscription, if there is one.
    public static let unsubscribe = Method<Empty, Empty>(name, "Unsubscribe")
    /// The router's version.
    public static let version = Property<String>(name, "Version")
}

/// `org.openurl.Registry1`: the registered handlers and their schemes.
public enum RegistryInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Registry1"

    /// Registers the bundle or manifest at an absolute path. Returns the handler's entry.
    ///
    /// It is an error if another handler already has the identifier; use ``replace`` then. If a scheme already has a
    /// handler or an application, it stays with that one until ``setDefault`` gives it to the new handler. Other errors
    /// are `org.freedesktop.DBus.Error.FileNotFound` if the path leads nowhere, and
    /// `org.freedesktop.DBus.Error.InvalidFileContent` if the manifest cannot be used.
    public static let register = Method<String, HandlerEntry>(
        name,
        "Register",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Registers like ``register``, but replaces another handler with the same identifier. The router's log mentions
    /// both.
    public static let replace = Method<String, HandlerEntry>(
        name,
        "Replace",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Registers the bundle or manifest at an absolute path until the router exits, or until ``unregister``. Writes no
    /// file.
    ///
    /// This handler gets URLs that nothing else claims, and URLs from callers that ask for it. It opens no files, is
    /// not published to the desktop, and cannot be the user's default. If its manifest changes, the router does not
    /// notice.
    public static let registerTemporarily = Method<String, HandlerEntry>(
        name,
        "RegisterTemporarily",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Claims schemes for a program that the caller runs. All URLs with these schemes go to the program, ahead of the
    /// user's default, until the caller's connection ends. Writes no file.
    ///
    /// The second argument is the program's bundle identifier, or the absolute path of a bundle or manifest that has
    /// it; the third is the program itself. The program takes the identifier as its name on the bus, and descends from
    /// the caller's process. Until it has the name, a URL waits for as long as a launch may take. If the program
    /// outlives the claim, the router ends it.
    ///
    /// When the router exits, the claim ends too, so if the router's name gets a new owner, claim the schemes again.
    /// The error is ``OpenURLError/Code/alreadyClaimed`` if another program has claimed a scheme, or has the name. It
    /// is ``OpenURLError/Code/notAllowed`` for a fixed scheme, one of browsers' schemes, a scheme that the user's
    /// policy denies or asks about, and a scheme that another handler or application has. If a rule allows the user's
    /// programs that scheme, the last refusal does not apply; the same is true of callbacks for
    /// ``CallbackInterface/request``.
    public static let claim = Method<Arguments<[String], String, String>, HandlerEntry>(
        name,
        "Claim",
        inputs: ["schemes", "handler", "program"],
        outputs: ["handler"]
    )
    /// Maximum number of schemes in one ``claim``.
    public static let schemesPerClaim = 64
    /// Returns what ``register`` and a launch would find about a handler, such as keys that are ignored, values that
    /// are invalid, or a program that is missing. Registers nothing. If no finding is an error, the handler can be
    /// registered. If the path leads nowhere, the error is `org.freedesktop.DBus.Error.FileNotFound`.
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
    /// If the entries are too large for one message, each gets an equal share of it. An entry that needs more is cut,
    /// and its ``HandlerEntry/isCut`` is true. If there are more than about 20,000 entries, the last ones may be left
    /// out.
    public static let listHandlers = Method<Empty, [HandlerEntry]>(
        name,
        "ListHandlers",
        outputs: ["handlers"]
    )
    /// Returns each scheme with the handlers that claim it. The first one gets the URLs.
    public static let listSchemes = Method<Empty, [String: [String]]>(
        name,
        "ListSchemes",
        outputs: ["schemes"]
    )
    /// Makes a handler or an application the user's default for a scheme, or for a MIME type, which has a slash. If the
    /// identifier is empty, this removes the user's choice.
    public static let setDefault = Method<Arguments<String, String>, Empty>(
        name,
        "SetDefault",
        inputs: ["scheme", "id"]
    )
    /// Reads the manifests and the desktop's files again, and publishes all handlers to the desktop. Returns the
    /// problems, by the path of the file.
    public static let reload = Method<Empty, [String: String]>(name, "Reload", outputs: ["problems"])
    /// Reports that the handlers for these schemes have changed. The signal goes to the connections that have called
    /// ``RouterInterface/subscribe``.
    public static let changed = Signal<[String]>(name, "Changed", arguments: ["schemes"])
}

/// `org.openurl.Lifecycle1`: the states of the handlers.
///
/// If a method takes a handler's identifier and no such handler is registered, the error is `NoHandler`. If the
/// handler's state or manifest does not permit the request, it is `NotAllowed`, and the message gives the reason.
public enum LifecycleInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Lifecycle1"

    /// Returns each registered handler that has a program, with its state, and each handler that is no longer
    /// registered but is still running.
    ///
    /// A command (`OUCommand`) is active while its program runs for a URL. If several processes are running, the list
    /// has the one that started last.
    ///
    /// If another program started a process, the router notices it at one of three moments: when the router starts,
    /// when a request for the handler arrives, and at this call. From then on it follows the process.
    public static let list = Method<Empty, [HandlerStatus]>(name, "List", outputs: ["handlers"])
    /// Brings a handler to the foreground, and starts it without a URL if necessary. Returns when it is ready.
    public static let activate = Method<String, Empty>(name, "Activate", inputs: ["id"])
    /// Starts or wakes a handler and leaves the foreground as it is. Returns when the handler has launched into the
    /// background.
    public static let wake = Method<String, Empty>(name, "Wake", inputs: ["id"])
    /// Moves a handler to the background. Returns when its delegate has saved the state, or when the handler has exited
    /// because its manifest asks for that (`UIApplicationExitsOnSuspend`).
    ///
    /// If the handler answers with an error, it is in the background all the same, and the error is
    /// ``OpenURLError/Code/declined`` with the handler's words. The same is true of ``suspend``.
    public static let background = Method<String, Empty>(name, "Background", inputs: ["id"])
    /// Moves a handler to the background and suspends it at once. Returns when its process is stopped.
    public static let suspend = Method<String, Empty>(name, "Suspend", inputs: ["id"])
    /// Begins an interruption: takes an active handler to the inactive state ("Responding to Interruptions", Figure
    /// 3-4). Returns when its delegate has been told.
    ///
    /// The handler stays in the foreground and still gets URLs, but none of them makes it active. The interruption ends
    /// with ``resume``, with the caller's connection, or when the handler leaves the foreground. If several programs
    /// interrupt a handler, it becomes active again when the last of their interruptions ends. A handler that lacks
    /// ``HandlerInterface/resignActive`` is not told.
    public static let interrupt = Method<String, Empty>(name, "Interrupt", inputs: ["id"])
    /// Ends the caller's interruption of a handler. A caller that has not interrupted the handler ends all its
    /// interruptions instead, even that of a locked session. Returns when the handler's delegate has been told, or at
    /// once if the handler stays inactive or is not inactive.
    public static let resume = Method<String, Empty>(name, "Resume", inputs: ["id"])
    /// Reports which handler has the user's focus; an empty `id` means none. For programs that know this, such as the
    /// desktop's shell.
    ///
    /// The handler comes to the foreground, but is not asked to show itself. It is not suspended while it has the focus,
    /// even if a URL brings another handler to the foreground. Only the program that reported last counts, and its report
    /// ends with its connection. Returns when the handler is in the foreground.
    public static let focusChanged = Method<String, Empty>(name, "FocusChanged", inputs: ["id"])
    /// Ends a handler and removes its saved state, even if the handler is still running but no longer registered.
    /// Returns when its process has exited. If it was in the foreground, the handler that sent its latest URL comes to
    /// the foreground again.
    public static let terminate = Method<String, Empty>(name, "Terminate", inputs: ["id"])
    /// Forgets a handler's crashes. If a handler crashes too often, it is temporarily not started
    /// (``HandlerStatus/quarantinedUntil``). After this call it may be started at once, and its queued URLs are tried.
    public static let reset = Method<String, Empty>(name, "Reset", inputs: ["id"])
    /// Returns the place where a handler's standard output and standard error go. Only the user's programs may call
    /// this: the output is not searched for secrets, and a confined program cannot read it there anyway.
    public static let output = Method<String, OutputPlace>(name, "Output", inputs: ["id"], outputs: ["place"])
    /// Prevents the suspension of the calling handler until the task ends ("Executing a Finite-Length Task in the
    /// Background"). Returns the task's number and the remaining time in milliseconds. The name may have at most 256
    /// bytes. In the foreground, the remaining time is ``unlimited``.
    ///
    /// All tasks together have the time in ``backgroundTimeRemaining``, no matter which methods of ``HandlerInterface``
    /// the handler implements. If a task is still open when the time is up, the handler is killed;
    /// ``HandlerInterface/expireBackgroundTasks`` is called a second earlier.
    public static let beginBackgroundTask = Method<String, Arguments<UInt32, UInt32>>(
        name,
        "BeginBackgroundTask",
        inputs: ["name"],
        outputs: ["task", "remaining"]
    )
    /// Ends one of the calling handler's tasks. If the task has already ended, nothing happens.
    ///
    /// Passing ``earlierTasks`` instead of a number ends all tasks that the handler began under an earlier router. This
    /// router knows them from a record, in which the end of a task may be missing if the earlier router exited at that
    /// moment. So when the router's name gets a new owner, begin each open task again, and then end the earlier ones.
    public static let endBackgroundTask = Method<UInt32, Empty>(name, "EndBackgroundTask", inputs: ["task"])
    /// In place of a task's number: all tasks from an earlier router. No task has this number.
    public static let earlierTasks: UInt32 = 0
    /// Returns how much time the calling handler's tasks have left, in milliseconds, no matter whether a task is open.
    /// On the way to the background, this is the time for the whole stay there. It is ``unlimited`` in the foreground,
    /// for a handler whose background mode prevents the suspension, and for a process that no router started.
    ///
    /// The time runs only while a task is open in the background. When a URL from another program arrives there, the
    /// handler gets the whole time again; it gets no new time for a URL that it sends itself.
    public static let backgroundTimeRemaining = Method<Empty, UInt32>(
        name,
        "BackgroundTimeRemaining",
        outputs: ["remaining"]
    )
    /// Says that the calling handler is done with what its background mode is for, such as playing sound. For the rest
    /// of its stay in the background, it is suspended like any other handler, and its tasks have a time limit.
    ///
    /// In the next stay, the mode counts again. In the foreground, and for a handler without such a mode, nothing
    /// happens.
    public static let finishBackgroundMode = Method<Empty, Empty>(name, "FinishBackgroundMode")
    /// Reports to the caller of a request how much of the work is done. The arguments are ``OpenContext/requestID``, a
    /// fraction from 0 to 1, and some text for people to read.
    ///
    /// Only the handler that has the request may call this; otherwise the error is ``OpenURLError/Code/notAllowed``. If
    /// the fraction is outside this range, the nearest value in the range is used, and text is cut off after 256 bytes.
    /// Nothing is reported to a caller without a handle (``RequestInterface``).
    public static let reportProgress = Method<Arguments<String, Double, String>, Empty>(
        name,
        "ReportProgress",
        inputs: ["request_id", "fraction", "message"]
    )
    /// Brings the handler that sent a URL to the foreground again, because the calling handler has finished with the
    /// URL ("App Termination", the return to the sender).
    ///
    /// The arguments are ``OpenContext/requestID``, or an empty string for the latest URL, and
    /// ``FreedesktopApplication``'s `platform_data` with the token that lets one of the sender's windows take the
    /// focus. This returns as soon as the router has begun, because the sender may itself be waiting for the answer to
    /// the URL.
    ///
    /// The error is ``OpenURLError/Code/notAllowed`` if the caller is not the handler in the foreground, or if no
    /// handler sent the URL. You can return from each URL only once, and only from the latest 16 URLs that have reached
    /// the process in the foreground.
    public static let returnToSource = Method<Arguments<String, [String: Value]>, Empty>(
        name,
        "ReturnToSource",
        inputs: ["request_id", "platform_data"]
    )
    /// Notifies a running handler of a change. It never starts a handler; ``notifyWithOptions`` can.
    ///
    /// The error is ``OpenURLError/Code/notAllowed`` if the handler's manifest does not accept the caller as a sender
    /// (`OUReach`, `OUAllowedSources`), unless the caller is the handler itself.
    ///
    /// While the handler is suspended, the router keeps the latest value of each kind. The handler gets these values
    /// when it wakes, before the URL ("Queued notifications", Table 4-1). A kind may have at most 128 bytes, a value 64
    /// KiB, and all values waiting for one handler 1 MiB. A value cannot hold descriptors.
    public static let notify = Method<Arguments<String, String, Value>, Empty>(
        name,
        "Notify",
        inputs: ["id", "kind", "value"]
    )
    /// Notifies a handler of a change, as ``notify`` does, with options.
    ///
    /// With ``NotificationOptions/wakes``, it launches a handler that is not running into the background
    /// (``LaunchReason/message``), or wakes it, and returns when the handler is done with the notification. The handler
    /// has 30 s, and the launch comes on top, so give the call a longer time limit. The notification waits behind
    /// earlier URLs for the handler. Until the answer, it counts as one of the caller's requests, with its size. If the
    /// caller leaves, it is delivered all the same.
    public static let notifyWithOptions = Method<Arguments<String, String, Value, NotificationOptions>, Empty>(
        name,
        "NotifyWithOptions",
        inputs: ["id", "kind", "value", "options"]
    )
    /// Acts as the router does when the kernel reports that memory is short: warns the running handlers and ends one
    /// suspended handler.
    ///
    /// It ends the handler that has been suspended the longest, but considers only handlers that use at least half as
    /// much memory as the largest one. While the shortage lasts, the kernel repeats its report, at most once every 2 s,
    /// and each report ends one more handler. A call within 2 s of another does nothing.
    public static let relieveMemory = Method<Empty, Empty>(name, "RelieveMemory")
    /// Reports a new state for a handler that the router follows. The second argument is a raw value of
    /// ``HandlerState``.
    ///
    /// The signal goes to the connections that have called ``RouterInterface/subscribe``.
    ///
    /// The router reports ``HandlerState/active`` when it hands over the event that brings the handler to the
    /// foreground. At that time, the handler may still be on its way there.
    public static let stateChanged = Signal<Arguments<String, String>>(
        name,
        "StateChanged",
        arguments: ["id", "state"]
    )

    /// Reports that a handler's process has been started, so that a desktop can show the handler's launch image. The
    /// arguments are the handler's identifier, the scheme of the URL that it is launched for, or an empty string, and
    /// the path of the image ("Providing Launch Images for Custom URL Schemes").
    ///
    /// The signal goes to the connections that have called ``RouterInterface/subscribe``. It is left out if there is no
    /// image, or if the launch is over before the image is found.
    public static let launchBegan = Signal<Arguments<String, String, String>>(
        name,
        "LaunchBegan",
        arguments: ["id", "scheme", "image"]
    )
    /// Reports that the launch that ``launchBegan`` has reported is over, because the handler is ready, or because the
    /// launch has failed. This goes to the same connections.
    public static let launchEnded = Signal<String>(name, "LaunchEnded", arguments: ["id"])

    /// The remaining time for a handler without a time limit.
    public static let unlimited = UInt32.max
}

/// `org.openurl.Handler1`: the interface that a handler exports, at the object path of its bundle identifier.
///
/// A handler in another language can implement only ``open``. The router then neither sends it to the background nor
/// suspends it. Each method stands for a whole sequence, so a sequence takes one message in each direction.
public enum HandlerInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Handler1"

    /// Delivers a URL. The handler runs the whole sequence for its state and answers once.
    ///
    /// The handler's error is ``OpenURLError/Code/launchVetoed`` if it refuses the launch, and
    /// ``OpenURLError/Code/declined`` if it refuses the URL and gives a reason. If the handler uses an error name of
    /// its own, the router treats it as ``OpenURLError/Code/declined``.
    public static let open = Method<DeliveredURL, OpenAnswer>(
        name,
        "Open",
        inputs: ["url", "context"],
        outputs: ["handled", "answer", "trace"]
    )
    /// Asks the handler to stop its work on a URL, because the caller cancelled the request or its time limit has
    /// expired. The argument is ``OpenContext/requestID``.
    ///
    /// This returns at once. The URL's ``open`` call then returns within two seconds, with the error
    /// ``OpenURLError/Code/cancelled`` or with any other outcome. A handler that does not have the request ignores the call.
    public static let cancel = Method<String, Empty>(name, "Cancel", inputs: ["request_id"])
    /// Gives the handler something other than a URL, and launches it into the background if it has not launched yet
    /// (figure 3-3). In any other state, the handler stays where it is. Returns when the handler is done with what the
    /// context holds.
    ///
    /// The handler has 30 s. Meanwhile the router does not suspend it, and if a method of the delegate runs for longer,
    /// the router ends the process. An answer without any value is taken for an empty dictionary. If a handler lacks this
    /// method, the router calls ``enterBackground`` for the launch, and ``notify`` for the notifications.
    public static let wake = Method<WakeContext, WakeAnswer>(
        name,
        "Wake",
        inputs: ["context"],
        outputs: ["answer"]
    )
    /// Begins an interruption: calls `willResignActive`, and the handler is then inactive. Returns after that.
    ///
    /// An inactive handler stays in the foreground and continues to get URLs. Next comes either ``becomeActive`` or
    /// ``enterBackground``. If a handler has no such method, it makes no distinction between the two states.
    public static let resignActive = Method<Empty, Empty>(name, "ResignActive")
    /// Ends an interruption: calls `didBecomeActive`, and the handler is then active. Returns after that.
    ///
    /// If the handler went to the background because the machine slept, it comes back to the foreground:
    /// `willEnterForeground` is called first. It is not asked to show its windows, as `Activate` does.
    public static let becomeActive = Method<Empty, Empty>(name, "BecomeActive")
    /// Moves the handler to the background: calls `willResignActive`, unless the handler is inactive already, and
    /// `didEnterBackground`, and saves the state. Returns after that.
    public static let enterBackground = Method<Empty, Empty>(name, "EnterBackground")
    /// Prepares the handler for having its process stopped. Returns whether it is idle.
    ///
    /// If the handler is idle, it releases its bus name, so that no message to the name reaches a stopped process, and
    /// answers yes as soon as the bus has confirmed this. The router then stops the process with `SIGSTOP`. If it is
    /// not idle, it keeps its name and answers no.
    ///
    /// The argument is the read end of a pipe; only the router has the write end. The handler keeps the descriptor open
    /// and must not change its flags, because the router has asked the kernel to send the handler a `SIGCONT` when the
    /// write end is closed (`F_SETSIG` in fcntl(2)). The router closes it when it continues the process with `SIGCONT`;
    /// if the router dies, the kernel closes it. At the end of the pipe, or at `SIGCONT`, the handler takes its name
    /// back within `OUTransitionTimeout`, and closes the descriptor. If it closes the descriptor earlier, it is not
    /// stopped.
    public static let suspend = Method<UnixFD, Bool>(name, "Suspend", inputs: ["lifeline"], outputs: ["ready"])
    /// Calls `didReceiveMemoryWarning`.
    public static let receiveMemoryWarning = Method<Empty, Empty>(name, "ReceiveMemoryWarning")
    /// Calls the expiration handlers of the background tasks, a second before their time is over. If a task is still open
    /// then, the router kills the process.
    public static let expireBackgroundTasks = Method<Empty, Empty>(name, "ExpireBackgroundTasks")
    /// Notifies the handler of changes, with one value of each kind.
    public static let notify = Method<[String: Value], Empty>(name, "Notify", inputs: ["notifications"])
    /// The handler's state, as a raw value of ``HandlerState``.
    public static let state = Property<String>(name, "State")
    /// Returns the name of the delegate method that is running, and how long it has been running, in microseconds.
    /// Between methods, the name is empty.
    ///
    /// The handler answers at once, even while the method blocks the main actor. The router's watchdog makes this call.
    public static let progress = Method<Empty, Arguments<String, UInt64>>(
        name,
        "Progress",
        outputs: ["phase", "microseconds"]
    )
    /// Returns as soon as the main actor can run, without waiting for the events in the queue.
    ///
    /// While a method waits for something, the main actor is free; while it hangs, it is not. When the time limit of
    /// `open` has run out and the main actor is not responding, the router ends the process.
    public static let check = Method<Empty, Empty>(name, "Check")

    /// Asks the handler to exit, as `SIGTERM` does. Returns before it has exited.
    ///
    /// The router sends `SIGTERM` to its own processes, and to processes that run the handler's program. It calls this
    /// method only if another process has the name, such as a sandbox's proxy.
    public static let terminate = Method<Empty, Empty>(name, "Terminate")

    /// The error from a handler that is about to exit and has not handled the URL. The router delivers the URL to its
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

    /// The phases that may take five seconds each: the ways to the foreground and to the background, and short notices.
    public static let transitionPhases: Set<String> = [
        "willResignActive", "didEnterBackground", "shouldSaveApplicationState", "willEncodeRestorableState",
        "willEnterForeground", "didBecomeActive", "didReceiveMemoryWarning", "didReceiveNotification",
        "didReceiveRemoteNotification", "didReceiveLocalNotification", "performTask",
    ]

    /// The phases that may take all the time of ``wake`` while the handler answers it.
    public static let wakePhases: Set<String> = [
        "didReceiveNotification", "didReceiveRemoteNotification", "didReceiveLocalNotification", "performTask",
    ]

    /// Returns the path of a handler's object.
    public static func object(of id: BusName) -> ObjectPath { ObjectPath(for: id) }

    /// The environment variable that makes a process started by the router wait for its first message instead of
    /// launching without a URL.
    ///
    /// Its value is the unique name of the router's connection. It tells the handler which router is its own, even if
    /// the router gives up its name while the handler starts.
    public static let launchVariable = "OPENURL_LAUNCH"
    /// The environment variable that holds the ``HandlerReach`` of a process that the router started.
    ///
    /// Unless the value is ``HandlerReach/everyone``, a URL has to come from the router, because only the router knows
    /// the sender.
    public static let reachVariable = "OPENURL_REACH"
    /// The environment variable with the path of the bundle that declares the handler. It is not set for a bare
    /// manifest.
    public static let bundleVariable = "OPENURL_BUNDLE"
    /// The environment variable with the directory for the handler's data: `$XDG_DATA_HOME/ID`. The handler creates it.
    public static let dataVariable = "OPENURL_DATA"
    /// The environment variable with the directory for files that the handler can make again: `$XDG_CACHE_HOME/ID`. The
    /// handler creates it.
    public static let cacheVariable = "OPENURL_CACHE"
    /// The environment variable with the directory to which ``RouterInterface/openFiles`` copies files for the handler.
    /// It exists once there has been a file.
    public static let inboxVariable = "OPENURL_INBOX"
    /// The variables that only a process started by the router gets, and that its child processes should not inherit.
    package static let variables = [
        launchVariable, reachVariable, bundleVariable, dataVariable, cacheVariable, inboxVariable,
    ]
}
