public import DBus

/// The router's name and object on the session bus.
public enum RouterService {
    /// The well-known name.
    public static let name: BusName = "org.openurl.Router1"
    /// The object that all of the router's interfaces are on.
    public static let path: ObjectPath = "/org/openurl/Router1"
    /// The object as callers name it.
    public static let object = RemoteObject(name, path)
}

/// `org.openurl.Router1`: opening URLs.
public enum RouterInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Router1"

    /// Opens a URL; returns when the handler has said yes, and is an ``OpenURLError`` otherwise.
    public static let openURL = Method<Arguments<String, OpenOptions>, OpenResult>(
        name,
        "OpenURL",
        inputs: ["url", "options"],
        outputs: ["result"]
    )
    /// Opens URLs in order; one that fails does not stop the rest.
    public static let openURLs = Method<Arguments<[String], OpenOptions>, [OpenOutcome]>(
        name,
        "OpenURLs",
        inputs: ["urls", "options"],
        outputs: ["results"]
    )
    /// Whether there is a handler that this caller may reach; launches nothing.
    public static let canOpenURL = Method<String, Bool>(
        name,
        "CanOpenURL",
        inputs: ["url"],
        outputs: ["can_open"]
    )
    /// What ``openURL`` would do for this caller, and why; launches nothing.
    public static let explain = Method<Arguments<String, OpenOptions>, Explanation>(
        name,
        "Explain",
        inputs: ["url", "options"],
        outputs: ["explanation"]
    )
    /// The router's version.
    public static let version = Property<String>(name, "Version")
}

/// `org.openurl.Registry1`: which handlers there are.
public enum RegistryInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Registry1"

    /// Registers the bundle or manifest at an absolute path; returns its entry.
    public static let register = Method<String, HandlerEntry>(
        name,
        "Register",
        inputs: ["path"],
        outputs: ["handler"]
    )
    /// Takes back what ``register`` did.
    public static let unregister = Method<String, Empty>(name, "Unregister", inputs: ["id"])
    /// Every handler, by bundle identifier.
    public static let listHandlers = Method<Empty, [HandlerEntry]>(
        name,
        "ListHandlers",
        outputs: ["handlers"]
    )
    /// Every scheme with the handlers that claim it, the one that gets its URLs first.
    public static let listSchemes = Method<Empty, [String: [String]]>(
        name,
        "ListSchemes",
        outputs: ["schemes"]
    )
    /// Makes a handler or an application the user's default for a scheme; an empty id takes the user's choice back.
    public static let setDefault = Method<Arguments<String, String>, Empty>(
        name,
        "SetDefault",
        inputs: ["scheme", "id"]
    )
    /// Reads the manifests and the desktop's files again, tells the desktop of all handlers, and returns what is wrong with
    /// each file that has a problem.
    public static let reload = Method<Empty, [String: String]>(name, "Reload", outputs: ["problems"])
    /// The handlers of these schemes are others than before.
    public static let changed = Signal<[String]>(name, "Changed", arguments: ["schemes"])
}

/// `org.openurl.Lifecycle1`: what runs, and in which state.
///
/// Methods that name a handler are the error `NoHandler` where it is not registered, and `NotAllowed` where its state or
/// its manifest does not permit what is asked; the message says why.
public enum LifecycleInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Lifecycle1"

    /// Every registered handler with its state.
    public static let list = Method<Empty, [HandlerStatus]>(name, "List", outputs: ["handlers"])
    /// Starts a handler without a URL if it does not run, and brings it to the foreground; returns when it is ready.
    public static let activate = Method<String, Empty>(name, "Activate", inputs: ["id"])
    /// Starts or wakes a handler and leaves the foreground as it is; returns when the handler owns its name.
    public static let wake = Method<String, Empty>(name, "Wake", inputs: ["id"])
    /// Takes a handler to the background; returns when its delegate has saved its state, or the handler has ended because
    /// its manifest says so (`UIApplicationExitsOnSuspend`).
    public static let background = Method<String, Empty>(name, "Background", inputs: ["id"])
    /// Takes a handler to the background and suspends it at once; returns when it executes nothing any more.
    public static let suspend = Method<String, Empty>(name, "Suspend", inputs: ["id"])
    /// Ends a handler and forgets the state that it has saved; returns when its process is gone.
    public static let terminate = Method<String, Empty>(name, "Terminate", inputs: ["id"])
    /// Keeps the calling handler from being suspended until the task ends ("Executing a Finite-Length Task in the
    /// Background"); returns the task's number and how many milliseconds it may take.
    public static let beginBackgroundTask = Method<String, Arguments<UInt32, UInt32>>(
        name,
        "BeginBackgroundTask",
        inputs: ["name"],
        outputs: ["task", "remaining"]
    )
    /// Ends a task of the calling handler; one that has ended already is ignored.
    public static let endBackgroundTask = Method<UInt32, Empty>(name, "EndBackgroundTask", inputs: ["task"])
    /// How many milliseconds the calling handler may still run in the background; ``unlimited`` in the foreground.
    public static let backgroundTimeRemaining = Method<Empty, UInt32>(
        name,
        "BackgroundTimeRemaining",
        outputs: ["remaining"]
    )
    /// Tells a running handler that something has changed. For one that is suspended the latest value of each kind is kept
    /// and handed over when it wakes, before the URL ("Queued notifications", Table 4-1); nobody is started for it.
    public static let notify = Method<Arguments<String, String, Value>, Empty>(
        name,
        "Notify",
        inputs: ["id", "kind", "value"]
    )
    /// Does what happens when the system is short of memory: running handlers are warned, suspended ones end.
    public static let relieveMemory = Method<Empty, Empty>(name, "RelieveMemory")
    /// A handler's state has changed to a raw value of ``HandlerState``.
    public static let stateChanged = Signal<Arguments<String, String>>(
        name,
        "StateChanged",
        arguments: ["id", "state"]
    )

    /// The time of a handler in the foreground, which has no limit.
    public static let unlimited = UInt32.max
}

/// `org.openurl.Handler1`: what a handler exports, at the object that its bundle identifier names.
///
/// A handler in another language implements ``open`` alone; the router then lets it run, and neither takes it to the
/// background nor suspends it. Each method carries a whole sequence, so that it is one message each way.
public enum HandlerInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Handler1"

    /// Hands a URL over. The handler runs the whole sequence that its state asks for and answers once.
    ///
    /// A launch that was refused is ``OpenURLError/Code/launchVetoed``, a no with a reason is
    /// ``OpenURLError/Code/declined``, and so is any other error.
    public static let open = Method<Arguments<String, OpenContext>, OpenAnswer>(
        name,
        "Open",
        inputs: ["url", "context"],
        outputs: ["handled", "reply", "trace"]
    )
    /// Goes to the background: `willResignActive`, `didEnterBackground`, and the state is saved; returns after that.
    public static let enterBackground = Method<Empty, Empty>(name, "EnterBackground")
    /// Gets ready to be stopped: the handler gives its name back, so that no message can reach a stopped process, and
    /// answers whether it is idle. If not, it has its name again. `SIGCONT` is the sign to take the name back.
    public static let suspend = Method<Empty, Bool>(name, "Suspend", outputs: ["ready"])
    /// Calls `didReceiveMemoryWarning`.
    public static let receiveMemoryWarning = Method<Empty, Empty>(name, "ReceiveMemoryWarning")
    /// Calls the expiration handlers of the background tasks that are open; the process is ended a second later if one
    /// still is.
    public static let expireBackgroundTasks = Method<Empty, Empty>(name, "ExpireBackgroundTasks")
    /// Tells the handler what has changed: one value of each kind.
    public static let notify = Method<[String: Value], Empty>(name, "Notify", inputs: ["notifications"])
    /// The handler's state, a raw value of ``HandlerState``.
    public static let state = Property<String>(name, "State")
    /// The delegate method that is running now, or an empty string: what a watchdog's message names.
    public static let phase = Property<String>(name, "Phase")

    /// The error of a handler that is ending and has not looked at the URL: it goes to the handler's next process.
    public static let ending: ErrorName = "org.openurl.Handler1.Error.Ending"

    /// The phases that are part of a launch.
    public static let launchPhases: Set<String> = [
        "willFinishLaunching", "shouldRestoreApplicationState", "didDecodeRestorableState", "didFinishLaunching",
    ]

    /// The phases that are part of the way to the background.
    public static let backgroundPhases: Set<String> = [
        "willResignActive", "didEnterBackground", "shouldSaveApplicationState", "willEncodeRestorableState",
    ]

    /// Where a handler's object is.
    public static func object(of id: BusName) -> ObjectPath { ObjectPath(for: id) }

    /// The environment variable that tells a process that the router started it: it waits for its first message instead
    /// of launching without a URL.
    public static let launchVariable = "OPENURL_LAUNCH"
}
