import DBus
import OpenURLBus
import Policy
import SchemeRegistry

@testable import URLRouter

/// The calls of D-Bus, without the bus.
extension URLRouter {
    // MARK: Opening

    func openURL(
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?,
        abandon: @escaping @Sendable () -> Void = {}
    ) async throws -> OpenResult {
        try await openCalls.openURL(url, options, caller: caller, abandon: abandon)
    }

    func openRelayed(
        _ source: String,
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?
    ) async throws -> OpenResult {
        try await relays.openURL(source, url, options, caller: caller, bytes: url.utf8.count) {}
    }

    func canOpenRelayed(_ source: String, _ url: String) async throws -> Bool {
        try await relays.canOpenURL(source, url)
    }

    func requestRelayedCallback(
        _ source: String,
        _ url: String,
        _ options: CallbackOptions,
        caller: BusName?
    ) async throws -> ObjectPath {
        try await relays.requestCallback(source, url, options, caller: caller)
    }

    func openURLs(_ urls: [String], _ options: OpenOptions, caller: BusName?, bytes: Int) async throws -> [OpenOutcome]
    {
        try await openCalls.openURLs(urls, options, caller: caller, bytes: bytes)
    }

    func openFiles(
        _ files: [SentFile],
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int
    ) async throws -> [OpenOutcome] {
        try await inboxOpener.openFiles(files, options, caller: caller, bytes: bytes)
    }

    func call(_ url: String, _ options: OpenOptions, caller: BusName? = ownConnection) async throws -> OpenResult {
        try await calls.call(url, options, caller: caller, bytes: url.utf8.count)
    }

    func cancelRequest(at path: ObjectPath, caller: BusName?) throws {
        try handles.handle(at: path, for: caller).cancel()
    }

    func reportProgress(_ report: ProgressReport, on request: String, caller: BusName?) throws {
        try sessions.report(report, on: request, from: caller)
    }

    func requestCallback(
        _ url: String,
        _ pattern: String,
        _ options: CallbackOptions,
        caller: BusName?
    ) async throws -> ObjectPath {
        try await callbackRequests.request(url, pattern, options, caller: caller)
    }

    // MARK: Looking

    func canOpen(_ url: String, caller: BusName?) async throws(OpenURLError) -> Bool {
        try await explainer.canOpen(url, caller: caller)
    }

    func explain(_ url: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> Explanation {
        try await explainer.explain(url, options, caller: caller)
    }

    func querying(_ caller: BusName?, _ body: @Sendable () async throws -> Void) async throws {
        try await callers.querying(caller, body)
    }

    func check(_ caller: BusName?, for id: String) async throws(OpenURLError) {
        try await callers.check(caller, for: id)
    }

    func check(_ caller: BusName?, actingAs id: String) async throws(OpenURLError) {
        try await callers.check(caller, actingAs: id)
    }

    func subscribe(_ caller: BusName?) async throws(OpenURLError) { try await subscriptions.add(caller) }

    func unsubscribe(_ caller: BusName?) { subscriptions.remove(caller) }

    func subscribe(toRequests wishes: MonitorOptions, _ caller: BusName?) async throws(OpenURLError) {
        try await monitor.subscribe(caller, wishes)
    }

    func unsubscribe(fromRequests caller: BusName?) { monitor.unsubscribe(caller) }

    func loggedRequests(_ filter: MonitorFilter) async throws(RemoteError) -> [MonitorEntry] {
        try await monitor.entries(filter)
    }

    // MARK: Handlers

    func status() async -> [HandlerStatus] { await lifecycle.status() }

    func status(for caller: BusName?) async -> [HandlerStatus] { await lifecycle.status(for: caller) }

    func activate(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        try await lifecycle.activate(id, caller: caller)
    }

    func background(_ id: BundleIdentifier) async throws(OpenURLError) { try await lifecycle.background(id) }

    func suspend(_ id: BundleIdentifier) async throws(OpenURLError) { try await lifecycle.suspend(id) }

    /// The state of a handler as callers see it.
    func state(ofHandler id: BundleIdentifier) -> HandlerState { sessions.state(of: id) }

    func lockScreen() { interruptions.lock() }

    func unlockScreen() { interruptions.unlock() }

    func pause() async { await interruptions.pause() }

    func continueAfterPause() { interruptions.continueAfterPause() }

    func interrupt(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        try await interruptions.begin(id, caller: caller)
    }

    func resume(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        try await interruptions.end(id, caller: caller)
    }

    func terminate(_ id: BundleIdentifier) async throws(OpenURLError) { try await lifecycle.terminate(id) }

    func reset(_ id: BundleIdentifier) throws(OpenURLError) { try lifecycle.reset(id) }

    func notify(
        _ id: BundleIdentifier,
        _ kind: String,
        _ value: Value,
        _ options: NotificationOptions = NotificationOptions(),
        caller: BusName? = ownConnection
    ) async throws(OpenURLError) {
        try await lifecycle.notify(id, kind, value, options, caller: caller)
    }

    func wake(_ id: BundleIdentifier, caller: BusName? = ownConnection) async throws(OpenURLError) {
        try await lifecycle.wake(id, caller: caller)
    }

    func relieveMemory() { lifecycle.relieveMemory() }

    func beginBackgroundTask(_ name: String, caller: BusName?) async throws(OpenURLError) -> (UInt32, UInt32) {
        try await lifecycle.beginBackgroundTask(name, caller: caller)
    }

    func use(_ snapshot: RegistrySnapshot) -> [String] { handlers.use(snapshot) }

    func makeServicesActivatable() async { await services.makeActivatable() }

    // MARK: The policy

    func policyRules() -> ([PolicyRule], [String]) { permissions.listedRules() }

    func setRule(_ pattern: PolicyPattern, _ decision: PolicyDecision) async throws {
        try await permissions.setRule(pattern, decision)
    }

    func removeRule(_ pattern: PolicyPattern) async throws { try await permissions.removeRule(pattern) }

    func policyAnswers() throws(RemoteError) -> [PolicyAnswer] { try permissions.listedAnswers() }

    func forgetAnswers(_ pattern: PolicyPattern) throws(RemoteError) -> UInt32 { try permissions.forget(pattern) }

    func question(_ url: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> PolicyQuestion
    {
        try await explainer.question(url, options, caller: caller)
    }

    // MARK: The queue

    func queuedURLs(after id: String = "", caller: BusName?) async throws(RemoteError) -> [QueuedURL] {
        try await queue.list(after: id, caller: caller)
    }

    func retryQueued(_ id: String, caller: BusName?) async throws(RemoteError) {
        try await queue.retry(id, caller: caller)
    }

    func dropQueued(_ id: String, caller: BusName?) async throws(RemoteError) {
        try await queue.drop(id, caller: caller)
    }

    func outcome(ofQueued number: UInt64, caller: BusName?) async throws -> OpenResult {
        try await outcome(ofQueued: "\(number)", caller: caller)
    }

    func outcome(ofQueued id: String, caller: BusName?) async throws -> OpenResult {
        try await queue.outcome(of: id, caller: caller)
    }

    // MARK: Notifications

    @discardableResult
    func schedule(
        _ notification: LocalNotification,
        of id: String = "com.example.app",
        caller: BusName? = ownConnection
    ) async throws -> String {
        try await localNotifications.schedule(notification, of: BundleIdentifier(id), caller: caller)
    }

    func cancelNotification(_ identifier: String?, of id: String = "com.example.app") async throws {
        try await localNotifications.cancel(identifier, of: BundleIdentifier(id))
    }

    func notifications(of id: String? = nil) async throws -> [LocalNotification] {
        try await localNotifications.list(of: id)
    }
}
