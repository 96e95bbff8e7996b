public import DBus
internal import OpenURLBus
public import RFC1808

/// The methods that a handler implements to follow its life cycle and to open URLs.
///
/// The method names are the app programming guide's, in Swift spelling. Every method has a default implementation, and
/// no default implementation refuses a launch. A handler that implements neither
/// ``application(_:open:sourceApplication:annotation:)`` nor ``application(_:handleOpen:)`` declines every URL.
///
/// All methods run on the main actor. The handler receives one event at a time, in the order of arrival: while a method
/// is suspended at an `await`, no other event is handled. An implementation may omit `async` and `throws`.
@MainActor
public protocol ApplicationDelegate: AnyObject {
    /// Tells the delegate that the process has started and that its state is not restored yet.
    ///
    /// The delegate's code runs here for the first time.
    ///
    /// - Parameter options: the URL that the launch is for, and its sender; empty in a launch without a URL.
    /// - Returns: false to refuse the URL in the options; the launch still continues.
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool

    /// Tells the delegate that the launch is nearly done, before the first URL is opened.
    ///
    /// - Parameter options: the URL that the launch is for, and its sender; empty in a launch without a URL.
    /// - Returns: false to refuse the URL in the options; the launch still continues.
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool

    /// Opens a URL, both in a launch and in a running handler.
    ///
    /// A thrown error declines the URL. The sender receives the error's description as the reason.
    ///
    /// The method runs in a task of its own. The task is cancelled if the sender withdraws the URL, or if the sender's time limit is
    /// over. The answer still counts. A thrown `CancellationError` tells the sender that the URL was cancelled.
    /// ``Application/reportProgress(_:_:)`` tells the sender how far the work is.
    ///
    /// - Parameters:
    ///   - url: the URL that arrived. Its parts are percent-encoded until the delegate asks for the decoded form.
    ///   - sourceApplication: the sender's bundle identifier, or nil if the sender is not a handler. The router
    ///     determines the identifier itself; a sender cannot choose it. ``Application/source`` tells more about the
    ///     sender.
    ///   - annotation: additional data from the sender. Descriptors in it are this process's own; each is closed with its last
    ///     reference.
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
    /// This method is called only if the delegate does not implement
    /// ``application(_:open:sourceApplication:annotation:)``.
    func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse

    /// Tells the delegate that the handler is in the foreground and receives events from now on.
    func applicationDidBecomeActive(_ application: Application) async

    /// Tells the delegate that another handler comes to the foreground and that this handler goes to the background
    /// next.
    func applicationWillResignActive(_ application: Application) async

    /// Tells the delegate that the handler is in the background.
    ///
    /// The handler may be suspended as soon as this method has returned, and a suspended handler may be ended without
    /// notice. Save everything that must not be lost here, or in a background task
    /// (``Application/beginBackgroundTask(named:expirationHandler:)``).
    ///
    /// The router ends the process if this method has not returned after five seconds.
    func applicationDidEnterBackground(_ application: Application) async

    /// Tells the delegate that the handler leaves the background and comes to the foreground.
    ///
    /// If a URL woke the handler, the URL is opened next.
    func applicationWillEnterForeground(_ application: Application) async

    /// Tells the delegate that the system is short of memory: free everything that can be created again.
    func applicationDidReceiveMemoryWarning(_ application: Application) async

    /// Tells the delegate that something has changed that the handler was told to watch.
    ///
    /// A handler that was suspended during the changes receives only the latest value of each kind. These values arrive
    /// before the URL that wakes the handler ("Processing Queued Notifications at Wakeup Time").
    ///
    /// - Parameters:
    ///   - kind: the kind of the change. Several kinds that arrive together are delivered in alphabetical order.
    ///   - value: the new value.
    func application(_ application: Application, didReceiveNotification kind: String, value: Value) async

    /// The version of the format that ``application(_:willEncodeRestorableStateWith:)`` encodes; 1 by default.
    ///
    /// Raise the version when a new release of the handler can no longer restore the states that earlier releases
    /// saved.
    var restorationVersion: Int { get }

    /// Returns whether the state is to be saved; true by default.
    ///
    /// This method is called when the handler is in the background, after each URL that is opened there, and before the end
    /// of the process.
    ///
    /// The previously saved state is deleted in either case.
    func application(
        _ application: Application,
        shouldSaveApplicationState coder: RestorableStateCoder
    ) async -> Bool

    /// Encodes the state that the next launch restores.
    ///
    /// Nothing is saved if the method encodes nothing or throws. A thrown error is written to standard error.
    func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) async throws

    /// Returns whether the state that an earlier process saved is to be restored.
    ///
    /// This method is called between the two launch methods, and only if there is a saved state. By default a state is
    /// restored if it was saved with the current ``restorationVersion``.
    func application(
        _ application: Application,
        shouldRestoreApplicationState coder: RestorableStateCoder
    ) async -> Bool

    /// Restores the state from the coder.
    ///
    /// The saved state is deleted when the launch is done. If the launch fails, the next launch is offered the state again.
    /// If that launch fails too, the state is deleted. A launch fails if the process ends before
    /// ``application(_:didFinishLaunchingWithOptions:)`` has returned. The state is saved again the next time that the
    /// handler enters the background or ends. A thrown error is written to standard error.
    func application(
        _ application: Application,
        didDecodeRestorableStateWith coder: RestorableStateCoder
    ) async throws

    /// Tells the delegate that the process ends when this method returns. The state has been saved before.
    ///
    /// This method is not called if the process is killed or ends while it is suspended.
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

    /// Agrees to restore a state of the same version.
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
    /// The URL that the handler is launched to open; nil in a launch without a URL.
    public var url: GenericURL?
    /// The sender's bundle identifier, if the sender is a handler.
    public var sourceApplication: String?
    /// Additional data from the sender.
    public var annotation: Value?

    /// Creates the options of a launch without a URL.
    public init() {}

    init(_ url: GenericURL?, _ context: OpenContext) {
        self.url = url
        sourceApplication = context.sourceApplication
        annotation = context.annotation
    }
}

/// A handler's answer to a URL.
public enum OpenResponse: Sendable, Hashable, ExpressibleByBooleanLiteral {
    /// The handler has opened the URL. The sender receives the reply.
    case handled(reply: [String: Value] = [:])
    /// The handler has not opened the URL. The reason is text for a person.
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
