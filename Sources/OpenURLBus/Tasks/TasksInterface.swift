public import DBus

/// `org.openurl.Tasks1`, at the router's object: work that handlers do in the background, at a time that suits the
/// machine.
///
/// A handler names a task, and says when it may run at the earliest, how often, and under which conditions. When the time
/// has come, the router launches or wakes the handler with ``HandlerInterface/wake`` (``LaunchReason/task``). The handler
/// then has 30 s, and is not suspended meanwhile. Its answer (``WakeAnswer``) says how the task went.
///
/// Tasks survive the end of the handler, of the router and of the session. So that few wake-ups serve many tasks, a task
/// may be run late, by a tenth of its wait or five minutes at most, and all tasks whose times have come by then are run
/// together. Handlers have one task at a time, and at most four handlers have one at the same time.
///
/// A task has failed if the handler says so, answers with an error, crashes, takes too long, or cannot be started. It is
/// tried again after 1, 2, 4 … 60 minutes. After eight attempts, a task that is not repeated is given up, and a repeated one
/// waits for its next turn. If the handler or the router ends before the answer, the task is run again, so a task may run
/// twice.
///
/// A handler may act only on its own tasks; the user's programs may act on those of any handler.
public enum TasksInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Tasks1"

    /// Schedules a task of a handler, in place of an earlier one with this name. When this returns, the task is on disk.
    ///
    /// If a repeated task is scheduled again with the same interval and the same conditions, it stays as it is, so a
    /// handler may schedule its tasks at each launch. A task that is scheduled while the handler has one waits for at least
    /// a minute. A handler may have 16 tasks, and all handlers together 1000. A
    /// handler's tasks end when it is unregistered.
    ///
    /// The error is ``OpenURLError/Code/noHandler`` if there is no such handler, and ``OpenURLError/Code/notAllowed`` if
    /// it is registered only temporarily, if it is a command, or if the name is ``fetch`` without that mode in the
    /// manifest.
    public static let schedule = Method<Arguments<String, String, TaskOptions>, Empty>(
        name,
        "Schedule",
        inputs: ["id", "name", "options"]
    )
    /// Removes a task of a handler, or all of its tasks if the name is empty. If a task is running, it is not interrupted,
    /// but it is not run again. If there is no such task, nothing happens.
    public static let cancel = Method<Arguments<String, String>, Empty>(name, "Cancel", inputs: ["id", "name"])
    /// Returns the tasks, in the order of their handlers and names. A handler sees only its own.
    public static let list = Method<Empty, [ScheduledTask]>(name, "List", outputs: ["tasks"])
    /// Runs a task now, without regard to its time and its conditions, and returns the handler's answer. The answer counts
    /// like that of any other run. Only the user's programs may call this.
    ///
    /// The handler has 30 s, and the launch comes on top, so give the call a longer time limit. The error is that of the
    /// run, ``OpenURLError/Code/notAllowed`` if the task is running already, or `org.freedesktop.DBus.Error.InvalidArgs` if
    /// there is no such task. If the handler's result is not a ``TaskResult``, it is ``OpenURLError/Code/invalidReply``.
    public static let run = Method<Arguments<String, String>, Reported<TaskResult>>(
        name,
        "Run",
        inputs: ["id", "name"],
        outputs: ["result"]
    )

    /// The name of the task that brings in new content (`fetch` in `UIBackgroundModes`, "Fetching Small Amounts of Content
    /// Regularly").
    ///
    /// Only a handler whose manifest has the mode `fetch` may schedule it. Each time that it brings no new data, its
    /// interval becomes half as long again, up to four times as long; new data restores it.
    public static let fetch = "fetch"
    /// Number of tasks that a handler may have.
    public static let tasksPerHandler = 16
    /// Number of tasks that all handlers together may have.
    public static let tasks = 1000
    /// Size of a task's name in bytes.
    public static let nameBytes = 128
    /// The shortest interval of a repeated task.
    public static let shortestInterval = Duration.seconds(60)
    /// The longest interval, and the longest time from the call to the task.
    public static let longestWait = Duration.seconds(366 * 86_400)
}
