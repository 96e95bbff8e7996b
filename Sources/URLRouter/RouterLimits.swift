/// Limits of a router: amounts, sizes and times.
public struct RouterLimits: Sendable, Hashable {
    /// Number of requests without an answer. One application gets at most half of what is left. This also applies to
    /// ``requestBytes``, ``requestDescriptors``, ``queries``, ``waitingPerHandler`` and ``commands``.
    public var requests = 8192
    /// Size of the arguments of all requests without an answer, in bytes.
    public var requestBytes = 64 << 20
    /// Number of descriptors in the annotations of all requests without an answer.
    public var requestDescriptors = 256
    /// Number of unanswered requests for lists and explanations.
    public var queries = 64
    /// Number of files whose types are being looked up at the same time. One application gets at most half of what is
    /// left.
    public var fileLooks = 64
    /// Number of calls whose files are being copied at the same time. One application gets at most half of what is
    /// left.
    public var inboxCopies = 32
    /// Time limit for the copies of one call.
    public var inboxTime = Duration.seconds(300)
    /// How long a file system may take to report a file's type.
    public var fileTime = Duration.seconds(2)
    /// Number of URLs in unanswered calls of `OpenURLs`. Each fallback counts as a URL.
    public var batchedURLs = 16_384
    /// Number of requests that one handler is working on, or that wait for it.
    public var waitingPerHandler = 4096
    /// If one application has more requests than this for one handler, other applications' requests overtake them.
    public var manyRequests = 100
    /// Number of requests that one handler may be working on from all applications with more than ``manyRequests``.
    public var manyInHand = 32
    /// How long the user has to reply to a question.
    public var questionTime = Duration.seconds(60)
    /// Number of questions about one application's URLs that may wait for a reply.
    public var questionsPerAccount = 2
    /// Number of questions that may wait for a reply.
    public var questions = 32
    /// Number of notifications on the screen whose click opens a URL. One application gets at most half of what is left,
    /// and its oldest ones make way for newer ones.
    public var shownReminders = 256
    /// Number of calls that wait for replies to queued URLs. One application gets at most half of what is left.
    public var replyWaiters = 256
    /// Number of connections that get the router's signals. One application gets at most half of what is left.
    public var subscribers = 256
    /// Number of connections that watch the requests. One application gets at most half of what is left.
    public var monitors = 32
    /// Number of claims on callbacks. One application gets at most half of what is left.
    public var callbacks = 256
    /// Number of claims on callbacks that one application may have.
    public var callbacksPerAccount = 16
    /// Number of interruptions that programs have begun. One application gets at most half of what is left.
    public var interruptions = 64
    /// How long the machine's sleep or shutdown waits for the handlers to save their states.
    public var sleepDelay = Duration.seconds(2)
    /// Number of calls that wait for their handlers' answers. One application gets at most half of what is left.
    public var calls = 1024
    /// Number of handlers that the router keeps only in memory. One application gets at most half of what is left.
    public var temporaryHandlers = 64
    /// Number of handlers and commands that may open each other in a row.
    public var hops: UInt32 = 8
    /// URLs that a command opens within this time are taken to follow from its own URL.
    public var commandPeriod = Duration.seconds(10)
    /// How long a URL waits for its handler to finish the URL that it follows from.
    public var circleTimeout = Duration.seconds(1)
    /// Time limit for opening a URL, unless the caller or the manifest sets one. It is below the 25 s after which D-Bus
    /// callers stop waiting.
    public var openTimeout = Duration.seconds(20)
    /// How long a call may be on its way, while the bus starts the router: the 25 s after which D-Bus callers stop waiting.
    /// A URL whose time has passed by less than this is accepted.
    public var callTime = Duration.seconds(25)
    /// How long a handler has for a launch into the background, notifications, a push, a local notification or a task
    /// (`HandlerInterface.wake`).
    public var wakeTime = Duration.seconds(30)
    /// How long a handler has to answer a URL that its caller has cancelled.
    public var cancelTime = Duration.seconds(2)
    /// Time limit for a launch ("What to Do at Launch Time": five seconds).
    public var launchTimeout = Duration.seconds(5)
    /// How long the bus may take to report which names a process took instead of its handler's.
    public var otherNamesTime = Duration.seconds(1)
    /// Time limit for each method on the way to the foreground or to the background, for preparing to be stopped, and
    /// for taking the name back afterwards (five seconds, as for the launch).
    public var transitionTimeout = Duration.seconds(5)
    /// How long a handler has, after the sender's time limit, to report which method keeps the sender waiting.
    public var phaseTime = Duration.milliseconds(200)
    /// Time limit for a call that waits behind a handler's other events. If a handler hangs, a watchdog ends its
    /// process long before; only a process that the router may not end can use up this time.
    public var eventTimeout = Duration.seconds(600)
    /// Time in the background after which a handler is suspended, unless its manifest sets another time.
    public var suspendDelay = Duration.seconds(10)
    /// Time limit for all of a handler's background tasks together.
    public var backgroundTime = Duration.seconds(180)
    /// Time between calling the expiration handlers and the end of ``backgroundTime``.
    public var expirationNotice = Duration.seconds(1)
    /// Number of background tasks that a handler may have open at the same time.
    public var tasksPerHandler = 1024
    /// Size of a background task's name in bytes.
    public var taskNameBytes = 256
    /// Number of kinds of notifications that are kept for a suspended handler.
    public var notificationKinds = 64
    /// Size of a notification's kind in bytes.
    public var kindBytes = 128
    /// Size of a notification's value in bytes.
    public var notificationBytes = 64 << 10
    /// Size of all notifications that are kept for a suspended handler, in bytes.
    public var keptNotificationBytes = 1 << 20
    /// Size of a handler's error message in bytes; the rest is cut off.
    public var errorBytes = 4096
    /// Number of steps that a handler may report for one URL; the rest is left out.
    public var handlerPhases = 64
    /// Minimum time between two releases of memory that callers ask for.
    public var reliefPeriod = Duration.seconds(2)
    /// Time limit for a look at the file of a handler's program.
    public var programLookTime = Duration.seconds(1)
    /// How long an examination of the program file is valid while the handler stays in use.
    public var programLookPeriod = Duration.seconds(1)
    /// If a handler crashes this often within ``crashPeriod``, it is not started for the duration of ``quarantine``.
    public var crashes = 3
    /// The period over which crashes are counted.
    public var crashPeriod = Duration.seconds(10)
    /// How long a handler that crashes too often is not started.
    public var quarantine = Duration.seconds(30)
    /// If an application's command exits within this time, its exit is taken as its answer.
    public var settleTime = Duration.seconds(1)
    /// Number of one application's commands that may be within their ``settleTime`` at the same time. One caller gets
    /// at most half of what is left.
    public var commandsPerApplication = 64
    /// Number of commands that may run at the same time.
    public var commands = 1024
    /// How long the bus has to free the name of a process that has exited.
    public var nameTimeout = Duration.seconds(1)
    /// How long a handler has to exit after it has released its name ("App Termination": five seconds).
    public var endTimeout = Duration.seconds(5)

    /// Creates the documented limits.
    public init() {}
}
