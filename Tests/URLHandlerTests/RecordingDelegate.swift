import DBus
import OpenURLBus
import RFC1808

@testable import URLHandler

/// A delegate that implements every method, returns configurable answers and records its calls.
final class RecordingDelegate: ApplicationDelegate {
    /// One call of a delegate method, and the application's state during the call.
    struct Call: Hashable {
        let name: String
        let state: HandlerState
        let source: OpenContext.Source?
        let tokens: [String?]
    }

    let blackboard = WatchdogBlackboard()
    private(set) var calls: [Call] = []
    private(set) var launches: [LaunchOptions] = []
    private(set) var urls: [String] = []
    private(set) var senders: [String?] = []
    private(set) var annotations: [Value?] = []
    private(set) var notifications: [String] = []
    private(set) var pushes: [RemoteNotification] = []
    var pushError: (any Error)?
    private(set) var localNotifications: [LocalNotification] = []
    private(set) var tasks: [String] = []
    var taskResult = Result<TaskResult, any Error>.success(.newData)
    /// The URLs whose sender waits for the reply.
    private(set) var urlsToAnswer: [String] = []
    /// The phase and the state that observers saw during each call.
    private(set) var seen: [String] = []
    var willAgrees = true
    var didAgrees = true
    var open: () async throws -> OpenResponse = { true }

    /// An application with this delegate.
    lazy var application = Application("com.example.app", delegate: self, blackboard: blackboard)

    var names: [String] { calls.map(\.name) }

    private func record(_ name: String, _ application: Application) {
        let tokens = [application.activationToken, application.desktopStartupID]
        calls.append(Call(name: name, state: application.state, source: application.source, tokens: tokens))
        seen.append("\(blackboard.phase.name) \(blackboard.state)")
    }

    func application(_ application: Application, willFinishLaunchingWithOptions options: LaunchOptions) -> Bool {
        record("willFinishLaunching", application)
        launches.append(options)
        return willAgrees
    }

    func application(_ application: Application, didFinishLaunchingWithOptions options: LaunchOptions) -> Bool {
        record("didFinishLaunching", application)
        launches.append(options)
        return didAgrees
    }

    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse {
        record("open", application)
        urls.append(url.description)
        senders.append(sourceApplication)
        annotations.append(annotation)
        if application.wantsReply { urlsToAnswer.append(url.description) }
        return try await open()
    }

    func application(_ application: Application, handleOpen url: GenericURL) -> OpenResponse {
        record("handleOpen", application)
        return true
    }

    func applicationDidBecomeActive(_ application: Application) {
        record("didBecomeActive", application)
    }

    func applicationWillResignActive(_ application: Application) {
        record("willResignActive", application)
    }

    func applicationDidEnterBackground(_ application: Application) {
        record("didEnterBackground", application)
    }

    func applicationWillEnterForeground(_ application: Application) {
        record("willEnterForeground", application)
    }

    func applicationDidReceiveMemoryWarning(_ application: Application) {
        record("didReceiveMemoryWarning", application)
    }

    func application(_ application: Application, didReceiveNotification kind: String, value: Value) {
        record("didReceiveNotification", application)
        notifications.append("\(kind) \(value.string ?? "?")")
    }

    func application(_ application: Application, didReceiveRemoteNotification notification: RemoteNotification) throws {
        record("didReceiveRemoteNotification", application)
        pushes.append(notification)
        if let pushError { throw pushError }
    }

    func application(_ application: Application, didReceive notification: LocalNotification) {
        record("didReceiveLocalNotification", application)
        localNotifications.append(notification)
    }

    func application(_ application: Application, performTask name: String) throws -> TaskResult {
        record("performTask", application)
        tasks.append(name)
        return try taskResult.get()
    }

    func applicationPerformFetch(_ application: Application) throws -> TaskResult {
        record("performTask", application)
        tasks.append("the fetch")
        return try taskResult.get()
    }

    func applicationWillTerminate(_ application: Application) {
        record("willTerminate", application)
    }
}
