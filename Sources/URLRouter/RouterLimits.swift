/// The limits of a router: amounts and time limits.
public struct RouterLimits: Sendable, Hashable {
    /// The number of requests without an answer. One application gets at most half of what is left, also of the limits
    /// ``requestBytes``, ``requestDescriptors``, ``queries``, ``waitingPerHandler`` and ``commands``.
    public var requests = 8192
    /// The size of the arguments of all requests without an answer, in bytes.
    public var requestBytes = 64 << 20
    /// The number of descriptors in the annotations of all requests without an answer.
    public var requestDescriptors = 256
    /// The number of requests for lists and for explanations without an answer.
    public var queries = 64
    /// The number of files that are looked at for their types at once. One application gets at most half of what is left.
    public var fileLooks = 64
    /// The number of calls whose files are being copied at once. One application gets at most half of what is left.
    public var inboxCopies = 32
    /// The time limit of the copies of one call.
    public var inboxTime = Duration.seconds(300)
    /// The time within which a file system has to tell the type of a file.
    public var fileTime = Duration.seconds(2)
    /// The number of URLs in calls of `OpenURLs` without an answer. Each fallback counts as a URL.
    public var batchedURLs = 16_384
    /// The number of requests that one handler has in hand, or that wait for it.
    public var waitingPerHandler = 4096
    /// The number of requests of one application at one handler above which the requests of others go past.
    public var manyRequests = 100
    /// The number of requests that one handler has in hand from applications with more than ``manyRequests``, together.
    public var manyInHand = 32
    /// The time for which the router waits for the person's reply to a question.
    public var questionTime = Duration.seconds(60)
    /// The number of questions about the URLs of one application that may wait for a reply.
    public var questionsPerAccount = 2
    /// The number of questions that may wait for a reply.
    public var questions = 32
    /// The number of calls that wait for replies to queued URLs. One application gets at most half of what is left.
    public var replyWaiters = 256
    /// The number of connections that get the router's signals. One application gets at most half of what is left.
    public var subscribers = 256
    /// The number of connections that watch the requests. One application gets at most half of what is left.
    public var monitors = 32
    /// The number of claims on callbacks. One application gets at most half of what is left.
    public var callbacks = 256
    /// The number of claims on callbacks of one application.
    public var callbacksPerAccount = 16
    /// The number of calls that wait for the answers of their handlers. One application gets at most half of what is left.
    public var calls = 1024
    /// The number of handlers that the router has in memory only. One application gets at most half of what is left.
    public var temporaryHandlers = 64
    /// The number of handlers and commands that may open each other in a row.
    public var hops: UInt32 = 8
    /// The time in which the openings of a command follow from its own URL.
    public var commandPeriod = Duration.seconds(10)
    /// The time for which a URL waits for its handler to finish the URL that it follows from.
    public var circleTimeout = Duration.seconds(1)
    /// The time limit of a whole open, if neither the caller nor the manifest gives one. The limit is below the 25 s after
    /// which D-Bus callers give up.
    public var openTimeout = Duration.seconds(20)
    /// The time that a handler gets for its answer to a URL that its caller has cancelled.
    public var cancelTime = Duration.seconds(2)
    /// The time limit of a launch ("What to Do at Launch Time": five seconds).
    public var launchTimeout = Duration.seconds(5)
    /// The time in which the bus is asked for the names that a process took instead of its handler's.
    public var otherNamesTime = Duration.seconds(1)
    /// The time limit of each method on the way to the foreground or to the background, of the preparation for a stop, and of
    /// taking the name back after it (five seconds, as for the launch).
    public var transitionTimeout = Duration.seconds(5)
    /// The time in which a handler tells the method that keeps a sender waiting, after the sender's time limit.
    public var phaseTime = Duration.milliseconds(200)
    /// The time limit of a call that waits behind the other events of a handler. Watchdogs end the process of a handler that
    /// hangs long before; only a process that is not the router's to end can use up this time.
    public var eventTimeout = Duration.seconds(600)
    /// The time in the background before a handler is suspended, if its manifest gives none.
    public var suspendDelay = Duration.seconds(10)
    /// The time limit of all background tasks of a handler together.
    public var backgroundTime = Duration.seconds(180)
    /// The time between the call of the expiration handlers and the end of ``backgroundTime``.
    public var expirationNotice = Duration.seconds(1)
    /// The number of background tasks that a handler may have open at once.
    public var tasksPerHandler = 1024
    /// The bytes of a background task's name.
    public var taskNameBytes = 256
    /// The number of kinds of notifications that are kept for a suspended handler.
    public var notificationKinds = 64
    /// The bytes of a notification's kind.
    public var kindBytes = 128
    /// The bytes of a notification's value.
    public var notificationBytes = 64 << 10
    /// The bytes of all notifications that are kept for a suspended handler.
    public var keptNotificationBytes = 1 << 20
    /// The bytes of a handler's error message; the rest is cut off.
    public var errorBytes = 4096
    /// The number of steps that a handler may tell of one URL; the rest is left out.
    public var handlerPhases = 64
    /// The shortest time between two reliefs of memory that callers ask for.
    public var reliefPeriod = Duration.seconds(2)
    /// The number of crashes within ``crashPeriod`` after which a handler is not started for ``quarantine``.
    public var crashes = 3
    /// The time in which crashes count together.
    public var crashPeriod = Duration.seconds(10)
    /// The time for which a handler that crashes too often is not started.
    public var quarantine = Duration.seconds(30)
    /// The time in which the end of an application's command counts as its answer.
    public var settleTime = Duration.seconds(1)
    /// The number of commands of one application that may be within ``settleTime`` at once. One caller gets at most half of what is
    /// left.
    public var commandsPerApplication = 64
    /// The number of commands that run.
    public var commands = 1024
    /// The time in which the bus frees the name of a process that has ended.
    public var nameTimeout = Duration.seconds(1)
    /// The time limit of a handler's end after it released its name ("App Termination": five seconds).
    public var endTimeout = Duration.seconds(5)

    /// The limits of the documents.
    public init() {}
}
