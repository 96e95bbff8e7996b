import DBus
import OpenURLBus

/// The methods and properties in `Documentation/Reference.md`, by their interfaces.
enum MethodReference {
    /// A method or a property.
    struct Member {
        let name: String
        let meaning: String
        private let title: String
        private let input: String
        private let output: String

        init<Input, Output>(_ method: Method<Input, Output>, _ meaning: String) {
            name = method.name.rawValue
            self.meaning = meaning
            title = "`\(name)`"
            input = Self.values(Input.signature, method.inputs)
            output = Self.values(Output.signature, method.outputs)
        }

        init<Content>(property: Property<Content>, _ meaning: String) {
            name = property.name.rawValue
            self.meaning = meaning
            title = "`\(name)` (property)"
            input = "–"
            output = "`\(Content.signature.rawValue)`"
        }

        private static func values(_ signature: Signature, _ names: [String]) -> String {
            signature == .empty ? "–" : "`\(signature.rawValue)` \(names.joined(separator: ", "))"
        }

        var row: String { "| \(title) | \(input) | \(output) | \(meaning) |" }
    }

    struct Interface {
        let name: InterfaceName
        /// The object that has the interface.
        let place: String
        /// A link to the page that explains the interface.
        let page: String
        let members: [Member]

        init(_ name: InterfaceName, _ place: String, _ page: String, _ members: [Member]) {
            self.name = name
            self.place = place
            self.page = page
            self.members = members
        }

        var text: String {
            "### `\(name.rawValue)`\n\nAt \(place); see \(page).\n\n"
                + "| member | arguments | result | meaning |\n|---|---|---|---|\n"
                + members.map(\.row).joined(separator: "\n") + "\n"
        }
    }

    static var text: String { interfaces.map(\.text).joined(separator: "\n") }

    static let interfaces = [
        router, request, callbacks, callback, handler, registry, lifecycle, tasks, queue, notifications, push, policy,
        proofs,
        monitor, hosts, bridge, relay,
    ]

    private static let router = Interface(
        RouterInterface.name,
        "the router's object",
        "[Opening URLs](Opening.md)",
        [
            Member(RouterInterface.openURL, "Opens a URL, and returns when the handler has taken it."),
            Member(RouterInterface.call, "Opens a URL, and returns its handler's answer (x-callback-url)."),
            Member(RouterInterface.open, "Opens a URL without options, for callers that cannot pass dictionaries."),
            Member(RouterInterface.openURLs, "Opens URLs in order; if one fails, the others are still opened."),
            Member(RouterInterface.openFiles, "Copies files into a handler's inbox, and opens the copies."),
            Member(RouterInterface.canOpenURL, "Returns whether a URL has a handler that the caller may reach."),
            Member(RouterInterface.explain, "Returns what would happen to a URL, and why; opens nothing."),
            Member(RouterInterface.subscribe, "Sends the router's signals to the caller from now on."),
            Member(RouterInterface.unsubscribe, "Ends the subscription of the caller."),
            Member(property: RouterInterface.version, "The router's version."),
        ]
    )

    private static let request = Interface(
        RequestInterface.name,
        "the handle of a request",
        "[Opening URLs](Opening.md#cancel-and-follow-progress)",
        [
            Member(
                RequestInterface.cancel,
                "Withdraws the request, which then ends with the error `Cancelled`, or with the handler's answer within two seconds."
            )
        ]
    )

    private static let callbacks = Interface(
        CallbackInterface.name,
        "the router's object",
        "[Callbacks](Callbacks.md)",
        [
            Member(
                CallbackInterface.request,
                "Opens a URL, and waits for its callback; returns the wait's handle, even if nothing can open the URL. An empty pattern means the URL's `redirect_uri`."
            )
        ]
    )

    private static let callback = Interface(
        CallbackHandleInterface.name,
        "the handle of a callback",
        "[Callbacks](Callbacks.md)",
        [
            Member(CallbackHandleInterface.close, "Ends the wait for a callback.")
        ]
    )

    private static let handler = Interface(
        HandlerInterface.name,
        "the handler's object",
        "[Handlers in other languages](Languages.md#what-to-implement)",
        [
            Member(HandlerInterface.open, "Delivers a URL."),
            Member(
                HandlerInterface.cancel,
                "Asks the handler to stop its work on a URL, and to answer `Open` within two seconds with the error `Cancelled`."
            ),
            Member(HandlerInterface.wake, "Delivers something other than a URL, such as a push or a task."),
            Member(HandlerInterface.resignActive, "Begins an interruption."),
            Member(HandlerInterface.becomeActive, "Ends an interruption."),
            Member(
                HandlerInterface.enterBackground,
                "Moves the handler to the background. If it answers with an error, it is in the background all the same."
            ),
            Member(HandlerInterface.suspend, "Prepares it for [its suspension](#the-suspension-of-a-handler)."),
            Member(HandlerInterface.receiveMemoryWarning, "Says that memory is short."),
            Member(
                HandlerInterface.expireBackgroundTasks,
                "Says that the time of the background tasks is over in a second; the process is then killed if one is still open."
            ),
            Member(HandlerInterface.notify, "Notifies the handler of changes."),
            Member(property: HandlerInterface.state, "The handler's state."),
            Member(HandlerInterface.progress, "Returns the delegate method that is running, and for how long."),
            Member(HandlerInterface.check, "Returns as soon as the main actor can run."),
            Member(
                HandlerInterface.terminate,
                "Asks the handler to exit, if the router may not send `SIGTERM` to its process, as in a sandbox."
            ),
        ]
    )

    private static let registry = Interface(
        RegistryInterface.name,
        "the router's object",
        "[Handlers](Handlers.md#register)",
        [
            Member(RegistryInterface.register, "Registers a bundle or a manifest."),
            Member(RegistryInterface.replace, "Registers in place of another handler with this identifier."),
            Member(RegistryInterface.registerTemporarily, "Registers until the router exits; no file is written."),
            Member(RegistryInterface.claim, "Sends URLs of schemes to the caller until it disconnects."),
            Member(RegistryInterface.check, "Returns what is wrong with a handler; registers nothing."),
            Member(RegistryInterface.unregister, "Removes a handler."),
            Member(RegistryInterface.listHandlers, "Returns the handlers, and the applications that open URLs."),
            Member(RegistryInterface.listSchemes, "Returns each scheme with its handlers, the winner first."),
            Member(
                RegistryInterface.setDefault,
                "Chooses the handler of a scheme or of a MIME type; without an identifier, removes the choice."
            ),
            Member(
                RegistryInterface.reload,
                "Reads all manifests and desktop entries again, and returns the problems by file."
            ),
        ]
    )

    private static let lifecycle = Interface(
        LifecycleInterface.name,
        "the router's object",
        "[The lifecycle of a handler](Lifecycle.md)",
        [
            Member(LifecycleInterface.list, "Returns the states and the processes of the handlers."),
            Member(LifecycleInterface.activate, "Brings a handler to the foreground, and starts it if necessary."),
            Member(LifecycleInterface.wake, "Starts or wakes a handler in the background."),
            Member(
                LifecycleInterface.background,
                "Moves a handler to the background; if it answers with an error, so does this."
            ),
            Member(LifecycleInterface.suspend, "Moves a handler to the background, and stops its process."),
            Member(LifecycleInterface.interrupt, "Makes an active handler inactive."),
            Member(LifecycleInterface.resume, "Ends an interruption."),
            Member(LifecycleInterface.focusChanged, "Reports which handler has the user's focus."),
            Member(LifecycleInterface.terminate, "Ends a handler, and removes its saved state."),
            Member(LifecycleInterface.reset, "Forgets a handler's crashes, so that it may be started at once."),
            Member(LifecycleInterface.output, "Returns where a handler's output goes."),
            Member(
                LifecycleInterface.beginBackgroundTask,
                "Prevents the suspension of the calling handler until the task ends. The remaining time is that of `BackgroundTimeRemaining`."
            ),
            Member(LifecycleInterface.endBackgroundTask, "Ends a background task of the calling handler."),
            Member(
                LifecycleInterface.backgroundTimeRemaining,
                "Returns how long the background tasks may still take, in milliseconds; 4294967295 if there is no limit, as in the foreground."
            ),
            Member(
                LifecycleInterface.finishBackgroundMode,
                "Says that the calling handler no longer needs its background mode."
            ),
            Member(LifecycleInterface.reportProgress, "Reports how much of a request's work is done."),
            Member(LifecycleInterface.returnToSource, "Brings the handler that sent a URL to the foreground again."),
            Member(LifecycleInterface.notify, "Notifies a running handler of a change."),
            Member(LifecycleInterface.notifyWithOptions, "Notifies a handler, and wakes it if the options say so."),
            Member(LifecycleInterface.relieveMemory, "Warns of a shortage of memory, and ends a suspended handler."),
        ]
    )

    private static let tasks = Interface(
        TasksInterface.name,
        "the router's object",
        "[Background and reminders](Background.md#tasks)",
        [
            Member(TasksInterface.schedule, "Schedules a task."),
            Member(TasksInterface.cancel, "Removes a task, or all tasks of a handler."),
            Member(TasksInterface.list, "Returns the tasks."),
            Member(TasksInterface.run, "Runs a task now, and returns how it went."),
        ]
    )

    private static let queue = Interface(
        QueueInterface.name,
        "the router's object",
        "[The queue](Queue.md)",
        [
            Member(QueueInterface.list, "Returns the URLs in the queue that follow a number, or the first ones."),
            Member(QueueInterface.retry, "Tries a URL again now."),
            Member(QueueInterface.drop, "Removes a URL."),
            Member(QueueInterface.wait, "Returns the outcome of a URL, and waits for it if necessary."),
        ]
    )

    private static let notifications = Interface(
        NotificationsInterface.name,
        "the router's object",
        "[Local notifications](Notifications.md)",
        [
            Member(NotificationsInterface.schedule, "Schedules a notification, and returns its identifier."),
            Member(NotificationsInterface.cancel, "Removes a notification."),
            Member(NotificationsInterface.cancelAll, "Removes all notifications of a handler."),
            Member(NotificationsInterface.list, "Returns the notifications of a handler, or of all handlers."),
        ]
    )

    private static let push = Interface(
        PushInterface.name,
        "the router's object",
        "[Pushes](Push.md)",
        [
            Member(PushInterface.register, "Registers a handler for pushes, and returns its endpoint."),
            Member(PushInterface.unregister, "Ends a registration."),
            Member(PushInterface.list, "Returns the registrations."),
        ]
    )

    private static let policy = Interface(
        PolicyInterface.name,
        "the router's object",
        "[Policy](Policy.md#the-interface)",
        [
            Member(PolicyInterface.rules, "Returns the rules, and the problems in their files."),
            Member(PolicyInterface.set, "Writes a rule into the user's file."),
            Member(PolicyInterface.remove, "Removes a rule from the user's file."),
            Member(PolicyInterface.reset, "Removes all rules from the user's file."),
            Member(PolicyInterface.answers, "Returns the remembered answers."),
            Member(PolicyInterface.forget, "Forgets remembered answers, and returns how many."),
            Member(PolicyInterface.question, "Returns the question that a URL would raise, and a permission."),
            Member(PolicyInterface.remember, "Remembers the answer to a question."),
        ]
    )

    private static let proofs = Interface(
        ProofsInterface.name,
        "the router's object",
        "[Links that open in an app](Proofs.md)",
        [
            Member(ProofsInterface.list, "Returns the links that handlers claim, with their proofs."),
            Member(ProofsInterface.decide, "Records whether a handler may open the links to a host."),
            Member(ProofsInterface.fetch, "Asks the sites of a handler's links, or all sites, now."),
        ]
    )

    private static let monitor = Interface(
        MonitorInterface.name,
        "the router's object",
        "[The lifecycle of a handler](Lifecycle.md#watch-requests)",
        [
            Member(MonitorInterface.subscribe, "Sends `Entries` to the caller from now on."),
            Member(MonitorInterface.unsubscribe, "Ends the subscription of the caller."),
            Member(MonitorInterface.log, "Returns requests from the log."),
        ]
    )

    private static let hosts = Interface(
        HostsInterface.name,
        "the router's object",
        "[Other hosts](Hosts.md)",
        [
            Member(HostsInterface.list, "Returns the other hosts."),
            Member(HostsInterface.problems, "Returns what is wrong in the file with the other hosts."),
            Member(HostsInterface.add, "Adds another host, or changes its address."),
            Member(HostsInterface.remove, "Removes another host."),
            Member(HostsInterface.receive, "Opens a URL of another host."),
            Member(
                HostsInterface.appeared,
                "Says that another host can be reached, or that requests are worth another attempt."
            ),
        ]
    )

    private static let bridge = Interface(
        BridgeInterface.name,
        "the bridge's object",
        "[Other hosts](Hosts.md)",
        [
            Member(BridgeInterface.send, "Sends a request to another host, and returns the outcome.")
        ]
    )

    private static let relay = Interface(
        RelayInterface.name,
        "the router's object",
        "[Other machines and containers](Borders.md)",
        [
            Member(RelayInterface.openURL, "Opens a URL for a program on another machine or in a container."),
            Member(RelayInterface.canOpenURL, "Returns whether such a program might open a URL."),
            Member(RelayInterface.requestCallback, "Opens a URL for such a program, and waits for its callback."),
        ]
    )
}
