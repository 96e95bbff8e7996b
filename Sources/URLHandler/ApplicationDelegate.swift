public import DBus
internal import OpenURLBus
public import RFC1808

/// What a handler does when its state changes and when a URL arrives.
///
/// The names are the app programming guide's, as Swift spells them. Every method is optional: what is not implemented
/// vetoes nothing, and a handler that implements neither ``application(_:open:sourceApplication:annotation:)`` nor
/// ``application(_:handleOpen:)`` declines every URL.
///
/// All of them run on the main actor, one event at a time and in the order of arrival: while a method waits for
/// something, no other event is handled. A method may be written without `async` or `throws`.
@MainActor
public protocol ApplicationDelegate: AnyObject {
    /// The process has started, and its state is not restored yet: the first chance to run code.
    ///
    /// - Parameter options: the URL that the launch is for and who sent it; empty in a launch without a URL.
    /// - Returns: false to refuse the URL in the options; the launch itself goes on.
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool

    /// The launch is nearly done: the last chance before the first URL.
    ///
    /// - Returns: false to refuse the URL in the options; the launch itself goes on.
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions options: LaunchOptions
    ) async -> Bool

    /// Opens a URL, whether the handler was launched for it or was running.
    ///
    /// An error that is thrown is a no, and its description is the reason that the sender is told.
    ///
    /// - Parameters:
    ///   - url: what arrived; its parts are raw until asked for decoded.
    ///   - sourceApplication: the sender's bundle identifier, found out by the router and not taken from the sender's own
    ///     words; nil where the sender is no handler. ``Application/source`` tells more.
    ///   - annotation: what the sender wants to be known besides the URL.
    /// - Returns: `true` or ``OpenResponse/handled(reply:)``, `false` or ``OpenResponse/declined(reason:)``.
    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse

    /// Opens a URL without knowing who sent it; called where the longer method is not implemented.
    func application(_ application: Application, handleOpen url: GenericURL) async throws -> OpenResponse

    /// The handler is in the foreground and receives events from now on.
    func applicationDidBecomeActive(_ application: Application) async

    /// Another handler comes to the foreground, and this one goes to the background next.
    func applicationWillResignActive(_ application: Application) async

    /// The handler is in the background. When this has returned it may be suspended, and a suspended handler may be ended
    /// without notice: what must not be lost is saved here, or in a background task
    /// (``Application/beginBackgroundTask(named:expirationHandler:)``).
    ///
    /// The router waits five seconds for it, or as long as the handler's manifest says.
    func applicationDidEnterBackground(_ application: Application) async

    /// The handler was in the background and comes to the foreground; a URL that it is woken for is opened next.
    func applicationWillEnterForeground(_ application: Application) async

    /// The system is short of memory: free what can be made again.
    func applicationDidReceiveMemoryWarning(_ application: Application) async

    /// Something that the handler was told to watch has changed. For a handler that was suspended meanwhile this is the latest
    /// value of each kind, before the URL that it is woken for ("Processing Queued Notifications at Wakeup Time").
    ///
    /// - Parameters:
    ///   - kind: what has changed; kinds that are new together arrive in alphabetical order.
    ///   - value: what it is now.
    func application(_ application: Application, didReceiveNotification kind: String, value: Value) async

    /// The version of what ``application(_:willEncodeRestorableStateWith:)`` encodes; 1 where it is not implemented. Raise it
    /// when a state that was saved before could not be restored any more.
    var restorationVersion: Int { get }

    /// Whether the state is saved, now that the handler is in the background; yes where it is not implemented.
    ///
    /// What was saved before goes away in any case.
    func application(
        _ application: Application,
        shouldSaveApplicationState coder: RestorableStateCoder
    ) async -> Bool

    /// Encodes what the next launch finds again. Where nothing is encoded nothing is saved, and so it is with an error,
    /// which is told on standard error.
    func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) async throws

    /// Whether the state that an earlier process has saved is restored, between the two launch methods; called only where
    /// there is one. Where it is not implemented a state is restored that was saved with this ``restorationVersion``.
    func application(
        _ application: Application,
        shouldRestoreApplicationState coder: RestorableStateCoder
    ) async -> Bool

    /// Takes the state back. It is deleted when the launch is done, and also when the launch crashes, so that a state that
    /// harms does so once; it is saved anew on the next way to the background. An error is told on standard error.
    func application(
        _ application: Application,
        didDecodeRestorableStateWith coder: RestorableStateCoder
    ) async throws

    /// The process ends when this returns; not called when it is killed, nor while it is suspended.
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

    /// Leaves the URL to ``ApplicationDelegate/application(_:handleOpen:)``.
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
        .declined(reason: "\(application.identifier) opens no URLs")
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

    /// 1.
    public var restorationVersion: Int { 1 }

    /// Saves what is encoded.
    public func application(
        _ application: Application,
        shouldSaveApplicationState coder: RestorableStateCoder
    ) async -> Bool { true }

    /// Encodes nothing.
    public func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) async throws {}

    /// Restores a state of the same version.
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

/// What a launch is for.
public struct LaunchOptions: Sendable, Hashable {
    /// The URL that the handler is launched to open; nil in a launch without one.
    public var url: GenericURL?
    /// The sender's bundle identifier, where it is a handler.
    public var sourceApplication: String?
    /// What the sender wants to be known besides the URL.
    public var annotation: Value?

    /// A launch without a URL.
    public init() {}

    init(_ url: GenericURL?, _ context: OpenContext) {
        self.url = url
        sourceApplication = context.sourceApplication
        annotation = context.annotation
    }
}

/// What a handler answers to a URL.
public enum OpenResponse: Sendable, Hashable, ExpressibleByBooleanLiteral {
    /// Yes. The reply is handed to the sender.
    case handled(reply: [String: Value] = [:])
    /// No. The reason is for a person.
    case declined(reason: String? = nil)

    /// Yes or no.
    public init(_ isHandled: Bool) {
        self = isHandled ? .handled() : .declined()
    }

    /// Yes or no.
    public init(booleanLiteral literal: Bool) {
        self.init(literal)
    }
}
