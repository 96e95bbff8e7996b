public import DBus
public import OpenURLBus
public import RFC1808

/// The methods that a handler implements to follow its life cycle and to open URLs.
///
/// They have the names from the app programming guide, in Swift spelling. Each has a default implementation. None of
/// the default implementations refuses a launch. If you implement neither
/// ``application(_:open:sourceApplication:annotation:)`` nor ``application(_:handleOpen:)``, the handler declines every
/// URL.
///
/// All methods run on the main actor. The handler receives one event at a time, in the order of arrival: while a method
/// is suspended at an `await`, it handles no other event. Your implementation may omit `async` and `throws`.
@MainActor
public protocol ApplicationDelegate: AnyObject {
    /// Tells the delegate that the process has started, and that its state is not restored yet.
    ///
    /// No other code in the delegate runs before this.
    ///
    /// - Parameter options: the reason for the launch, and the URL and its sender if the launch is for a URL.
    /// - Returns: false to refuse the URL in the options; the launch still continues.
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool

    /// Tells the delegate that the launch is nearly done, before the first URL is opened.
    ///
    /// - Parameter options: the reason for the launch, and the URL and its sender if the launch is for a URL.
    /// - Returns: false to refuse the URL in the options; the launch still continues.
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool

    /// Opens a URL, no matter whether the URL launched the handler or the handler was already running.
    ///
    /// If the method throws, it declines the URL, and the sender receives the error's description as the reason.
    ///
    /// The method runs in a separate task, which is cancelled if the sender withdraws the URL, or when its time limit
    /// expires. Even then, the method's answer still counts. Throw `CancellationError` to report that the URL was
    /// cancelled. During long work, call ``Application/reportProgress(_:_:)``.
    ///
    /// - Parameters:
    ///   - url: the URL that arrived. Its parts are percent-encoded until you ask for the decoded form.
    ///   - sourceApplication: the sender's bundle identifier, or nil if the sender is not a handler. The router
    ///     determines it, so a sender cannot choose it. For more about the sender, see ``Application/source``.
    ///   - annotation: additional data from the sender. Descriptors in it belong to this process, and each is closed
    ///     when its last reference is gone.
    /// - Returns: `true` or ``OpenResponse/handled(reply:)`` if the URL was opened, otherwise `false` or
    ///   ``OpenResponse/declined(reason:)``.
    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse

    /// Opens a URL without information about its sender.
    ///
    /// This is called only if the delegate does not implement ``application(_:open:sourceApplication:annotation:)``.
    func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse

    /// Tells the delegate that the handler is in the foreground and receives events from now on, after it has come to
    /// the foreground or after an interruption.
    func applicationDidBecomeActive(_ application: Application) async

    /// Tells the delegate that the handler will be inactive: either it is interrupted, for example because the screen is
    /// locked, or it will go to the background next.
    ///
    /// Pause what needs the user's attention, and stop timers and other repeated work ("What to Do When an Interruption
    /// Occurs"). During an interruption, the handler stays in the foreground, and URLs are still opened. Afterwards comes
    /// either ``applicationDidBecomeActive(_:)`` or ``applicationDidEnterBackground(_:)``.
    func applicationWillResignActive(_ application: Application) async

    /// Tells the delegate that the handler is in the background.
    ///
    /// As soon as this method has returned, the handler may be suspended, and a suspended handler may be ended without
    /// notice. Save everything that must not be lost here, or in a background task
    /// (``Application/beginBackgroundTask(named:expirationHandler:)``).
    ///
    /// If this method has not returned after five seconds, the router ends the process.
    func applicationDidEnterBackground(_ application: Application) async

    /// Tells the delegate that the handler is leaving the background for the foreground.
    ///
    /// If a URL woke the handler, it is opened next.
    func applicationWillEnterForeground(_ application: Application) async

    /// Tells the delegate that the system is short of memory. Free everything that you can create again.
    func applicationDidReceiveMemoryWarning(_ application: Application) async

    /// Tells the delegate that something the handler watches has changed.
    ///
    /// If the handler was suspended during the changes, it receives only the latest value of each kind, before the URL
    /// that wakes it ("Processing Queued Notifications at Wakeup Time").
    ///
    /// - Parameters:
    ///   - kind: the kind of the change. If several kinds arrive together, they are delivered in alphabetical order.
    ///   - value: the new value.
    func application(_ application: Application, didReceiveNotification kind: String, value: Value) async

    /// Tells the delegate that its server has sent a push, no matter whether the push launched the handler, woke it, or
    /// found it running (`application:didReceiveRemoteNotification:fetchCompletionHandler:` in the guide).
    ///
    /// The handler is not suspended until the method returns, for which it has 30 s. Register with
    /// ``Application/registerForRemoteNotifications(_:)``.
    ///
    /// - Parameter notification: the push. A push may arrive twice, if the handler or the router has ended in between.
    /// - Throws: any error, to refuse the push. It then stays in the queue as a dead letter.
    func application(
        _ application: Application,
        didReceiveRemoteNotification notification: RemoteNotification
    ) async throws

    /// Tells the delegate that a notification of its own is due while the handler is active, or that the user has clicked
    /// on one that has no URL (`application:didReceiveLocalNotification:` in the guide).
    ///
    /// If the handler is active, the notification isn't shown, and the delegate gets it quietly. After a click, the handler
    /// is launched if necessary, and comes to the foreground when the method has returned. Schedule notifications with
    /// ``Application/scheduleLocalNotification(_:)``.
    ///
    /// - Parameter notification: the notification; `isClicked` tells the two cases apart.
    func application(_ application: Application, didReceive notification: LocalNotification) async

    /// Performs a task that the handler has scheduled with ``Application/scheduleTask(named:after:every:requiring:)``, no
    /// matter whether the task launched the handler, woke it, or found it running.
    ///
    /// The handler is not suspended until the method returns, for which it has 30 s. If the handler or the router ends
    /// before that, the task is performed again.
    ///
    /// - Parameter name: the task's name.
    /// - Returns: how the task went. A task that has failed is tried again after 1, 2, 4 … 60 minutes, eight times in all.
    /// - Throws: any error, if the task has failed. `openurl tasks` shows its description.
    func application(_ application: Application, performTask name: String) async throws -> TaskResult

    /// Fetches new content (`application:performFetchWithCompletionHandler:` in the guide), as
    /// ``application(_:performTask:)`` performs a task. See ``Application/setMinimumBackgroundFetchInterval(_:)``.
    ///
    /// - Returns: whether there was new data. Without new data, the router makes the interval longer.
    func applicationPerformFetch(_ application: Application) async throws -> TaskResult

    /// The version of the format that ``application(_:willEncodeRestorableStateWith:)`` encodes; 1 by default.
    ///
    /// Increase it when a new release of the handler can no longer restore the states that earlier releases saved.
    var restorationVersion: Int { get }

    /// Returns whether to save the state; true by default.
    ///
    /// This is called when the handler is in the background, after each URL that is opened there, and before the
    /// process ends.
    ///
    /// No matter what this returns, the previously saved state is deleted.
    func application(
        _ application: Application,
        shouldSaveApplicationState coder: RestorableStateCoder
    ) async -> Bool

    /// Encodes the state for the next launch to restore.
    ///
    /// If the method encodes nothing or throws, nothing is saved. The error is written to standard error.
    func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) async throws

    /// Returns whether to restore the state that an earlier process saved.
    ///
    /// This is called between the two launch methods, and only if there is a saved state. By default, the state is
    /// restored if it was saved with the current ``restorationVersion``.
    func application(
        _ application: Application,
        shouldRestoreApplicationState coder: RestorableStateCoder
    ) async -> Bool

    /// Restores the state from the coder.
    ///
    /// When the launch is done, the saved state is deleted. It is saved again the next time the handler enters the
    /// background or ends. If the launch fails, because the process ends before
    /// ``application(_:didFinishLaunchingWithOptions:)`` has returned, the next launch is offered the state again. If
    /// that launch fails too, the state is deleted. If this method throws, the error is written to standard error.
    func application(
        _ application: Application,
        didDecodeRestorableStateWith coder: RestorableStateCoder
    ) async throws

    /// Tells the delegate that the process ends when this method returns. The state has already been saved.
    ///
    /// This is not called if the process is killed, or ends while it is suspended.
    func applicationWillTerminate(_ application: Application) async
}

extension ApplicationDelegate {
    /// Refuses nothing.
    public func application(
        _ application: Application,
        willFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool { true }

    /// Refuses nothing.
    public func application(
        _ application: Application,
        didFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool { true }

    /// Forwards the URL to ``ApplicationDelegate/application(_:handleOpen:)``.
    public func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse {
        try await self.application(application, handleOpen: url)
    }

    /// Declines the URL.
    public func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse {
        .declined(
            reason: "\(application.identifier) opens no URLs: its delegate does not implement "
                + "application(_:open:sourceApplication:annotation:); check the spelling of the method"
        )
    }

    /// Does nothing.
    public func applicationDidBecomeActive(_ application: Application) async {}

    /// Does nothing.
    public func applicationWillResignActive(_ application: Application) async {}

    /// Does nothing.
    public func applicationDidEnterBackground(_ application: Application) async {}

    /// Does nothing.
    public func applicationWillEnterForeground(_ application: Application) async {}

    /// Does nothing.
    public func applicationDidReceiveMemoryWarning(_ application: Application) async {}

    /// Does nothing.
    public func application(
        _ application: Application,
        didReceiveNotification kind: String,
        value: Value
    ) async {}

    /// Refuses the push.
    public func application(
        _ application: Application,
        didReceiveRemoteNotification notification: RemoteNotification
    ) async throws {
        throw OpenURLError(
            .declined,
            "\(application.identifier) does not accept pushes: its delegate does not implement "
                + "application(_:didReceiveRemoteNotification:); check the spelling of the method"
        )
    }

    /// Does nothing.
    public func application(_ application: Application, didReceive notification: LocalNotification) async {}

    /// Fails.
    public func application(_ application: Application, performTask name: String) async throws -> TaskResult {
        throw OpenURLError(
            .declined,
            "\(application.identifier) performs no tasks: its delegate does not implement "
                + "application(_:performTask:); check the spelling of the method"
        )
    }

    /// Fails.
    public func applicationPerformFetch(_ application: Application) async throws -> TaskResult {
        throw OpenURLError(
            .declined,
            "\(application.identifier) fetches nothing: its delegate does not implement "
                + "applicationPerformFetch(_:); check the spelling of the method"
        )
    }

    /// Version 1.
    public var restorationVersion: Int { 1 }

    /// Agrees to save the state.
    public func application(
        _ application: Application,
        shouldSaveApplicationState coder: RestorableStateCoder
    ) async -> Bool { true }

    /// Encodes nothing.
    public func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) async throws {}

    /// Agrees to restore a state with the same version.
    public func application(
        _ application: Application,
        shouldRestoreApplicationState coder: RestorableStateCoder
    ) async -> Bool { coder.version == restorationVersion }

    /// Does nothing.
    public func application(
        _ application: Application,
        didDecodeRestorableStateWith coder: RestorableStateCoder
    ) async throws {}

    /// Does nothing.
    public func applicationWillTerminate(_ application: Application) async {}
}

/// The purpose of a launch.
public struct LaunchOptions: Sendable, Hashable {
    /// Why the handler is launched.
    ///
    /// It is absent if the router did not say. If the router is newer than this library, it may be a word that the
    /// library does not know; go on as for a launch without a URL.
    public var reason = Reported<LaunchReason>.absent
    /// The URL that the handler is launched to open; nil in a launch without a URL.
    public var url: GenericURL?
    /// The sender's bundle identifier, if the sender is a handler.
    public var sourceApplication: String?
    /// Additional data from the sender.
    public var annotation: Value?
    /// The push for which the handler is launched.
    public var remoteNotification: RemoteNotification?
    /// The handler's own notification that the user has clicked on (`UIApplicationLaunchOptionsLocalNotificationKey` in the
    /// guide).
    public var localNotification: LocalNotification?
    /// The name of the task for which the handler is launched.
    public var task: String?

    /// Creates the options for a launch without a URL.
    public init() {}

    init(_ event: OpenEvent) {
        reason = .known(.url)
        url = event.url
        sourceApplication = event.context.sourceApplication
        annotation = event.context.annotation
        remoteNotification = event.context.push
        localNotification = event.context.localNotification
    }

    init(_ waking: WakeContext) {
        reason = waking.reason
        remoteNotification = waking.push
        localNotification = waking.localNotification
        task = waking.task
    }
}

/// A handler's answer to a URL.
public enum OpenResponse: Sendable, Hashable, ExpressibleByBooleanLiteral {
    /// The handler opened the URL. The sender receives the reply.
    ///
    /// If the reply cannot be sent, the sender gets an error instead, as if the URL had been refused. A string in the
    /// reply may contain neither a NUL nor more than 30 combining marks in a row.
    case handled(reply: [String: Value] = [:])
    /// The handler did not open the URL, for this reason.
    case declined(reason: String? = nil)

    /// Creates an answer without a reply or a reason.
    public init(_ isHandled: Bool) {
        self = isHandled ? .handled() : .declined()
    }

    /// Creates an answer from `true` or `false`.
    public init(booleanLiteral literal: Bool) {
        self.init(literal)
    }
}
