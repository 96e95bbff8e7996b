import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Notifications on a desktop that has only the portal, which is a program in Python.
@Suite(.timeLimit(.minutes(10))) struct NotificationPortalTests {
    private static let app = "com.example.app"
    private static let portal = RemoteObject("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop")
    private static let desktop: InterfaceName = "org.example.Desktop1"
    private static let shown = Method<Empty, Arguments<[String], [String], [String], String>>(desktop, "Shown")
    private static let click = Method<Arguments<String, String>, Empty>(desktop, "Click")

    private func startPortal(_ router: RouterProcess, _ program: String, _ argument: String) async throws {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [ScriptHandler.path(of: program), argument]
        process.environment = router.bus.environment
        process.standardError = FileHandle.nullDevice
        let name: BusName = "org.freedesktop.portal.Desktop"
        try await RouterProcess.waitForOwner(of: name, on: router.connection) { try process.run() }
    }

    private func notes(_ router: RouterProcess) async throws -> (
        ids: [String], titles: [String], texts: [String], String
    ) {
        let (ids, titles, texts, application) = try await router.connection.call(
            Self.shown,
            on: Self.portal,
            Empty()
        ).values
        return (ids, titles, texts, application)
    }

    @Test(arguments: ["1", "2"]) func clickReachesTheHandler(version: String) async throws {
        let router = try await RouterProcess([Self.app: ["reasons", "tokens"]])
        defer { router.stop() }
        try await startPortal(router, "notification_portal", version)
        var tea = LocalNotification("<b>Tea</b>")
        tea.title = "Kitchen"
        try await router.schedule(tea, of: Self.app)
        let (ids, titles, texts, application) = try await eventually(await notes(router)) { !$0.ids.isEmpty }
        #expect(titles == ["Kitchen"] && texts == ["<b>Tea</b>"])
        #expect(application == "org.openurl.Router1")
        try await eventually(await router.queuedURLs()) { $0.isEmpty }
        let id = try #require(ids.first)
        _ = try await router.connection.call(Self.click, on: Self.portal, Arguments(id, "token-1"))
        let token = version == "1" ? "token none" : "token token-1"
        try await eventually(try router.log(of: Self.app)) { $0.suffix(2) == ["didBecomeActive", token] }
        #expect(try router.log(of: Self.app).contains("local <b>Tea</b> clicked"))
    }

    @Test func cancelRemovesIt() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await startPortal(router, "notification_portal", "2")
        try await router.schedule(LocalNotification("Tea"), of: Self.app)
        try await eventually(await notes(router)) { !$0.ids.isEmpty }
        #expect(try await router.openurl("notifications", "cancel", "--all", Self.app).status == 0)
        try await eventually(await notes(router)) { $0.ids.isEmpty }
    }

    @Test func serviceIsPreferred() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await startPortal(router, "notification_portal", "2")
        try await router.startNotificationService("actions", "body")
        try await router.schedule(LocalNotification("Tea"), of: Self.app)
        try await eventually(await router.notes()) { $0.map(\.text) == ["Tea"] }
        #expect(try await notes(router).ids == [])
    }

    @Test func portalWithoutNotificationsIsNoService() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let ready = router.bus.directory.appending(path: "ready").path
        try await startPortal(router, "portal_without_backend", ready)
        try await router.schedule(LocalNotification("Tea"), of: Self.app)
        let queued = try await eventually(await router.queuedURLs()) { $0.first?.error != nil }
        #expect(
            queued.first?.error?.message.contains("org.freedesktop.Notifications is not on the session bus") == true
        )
    }
}
