import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Changes in the system that handlers declare, from services that the test plays.
@Suite(.timeLimit(.minutes(10))) struct ObservedChangesTests {
    private static let first = "com.example.first"
    private static let other = "com.example.other"

    /// A system bus of the test's own, on which the test's connection has the names of the services.
    private struct Services {
        let bus: PrivateBus
        let connection: Connection

        init(_ names: BusName...) async throws {
            bus = try await PrivateBus(isSecond: true)
            connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
            for name in names { #expect(try await connection.requestName(name) == .owned) }
        }

        /// Reports changes of a service's properties.
        func report(_ path: ObjectPath, _ interface: InterfaceName, _ properties: [String: Value]) async throws {
            let body = Arguments(interface.rawValue, properties, [String]())
            try await connection.emit(PropertiesInterface.changed, from: path, body)
        }

        func setZone(_ zone: String) async throws {
            try await report("/org/freedesktop/timedate1", "org.freedesktop.timedate1", ["Timezone": .string(zone)])
        }

        func setOnBattery(_ isOnBattery: Bool) async throws {
            let properties = ["OnBattery": Value.boolean(isOnBattery)]
            try await report("/org/freedesktop/UPower", "org.freedesktop.UPower", properties)
        }

        /// The rules of all connections that mention a text.
        func rules(with text: String) async throws -> [String] {
            let list = Method<Empty, [String: [String]]>("org.freedesktop.DBus.Debug.Stats", "GetAllMatchRules")
            let rules = try await connection.call(
                list,
                on: RemoteObject("org.freedesktop.DBus", "/org/freedesktop/DBus"),
                Empty()
            )
            return rules.values.joined().filter { $0.contains(text) }
        }

        /// Returns when the router follows a service.
        func waitForFollower(of path: ObjectPath) async throws {
            try await eventually(await rules(with: "'\(path)'")) { !$0.isEmpty }
        }
    }

    private func router(
        on services: Services,
        _ kinds: [String],
        other: [String] = []
    ) async throws -> RouterProcess {
        let variables = ["DBUS_SYSTEM_BUS_ADDRESS": services.bus.address]
        return try await RouterProcess(variables: variables) { directory in
            try RouterProcess.write(Self.first, [], in: directory, extra: ["OUObservedChanges": kinds])
            try RouterProcess.write(Self.other, [], in: directory, extra: ["OUObservedChanges": other])
        }
    }

    private func notifications(_ router: RouterProcess, of id: String = first) throws -> [String] {
        try router.log(of: id).filter { $0.hasPrefix("notification ") }
    }

    /// Reports a zone until the handler has been notified of it: a subscription has begun only some time after its rule is on
    /// the bus.
    private func waitForZone(_ zone: String, _ services: Services, _ router: RouterProcess) async throws {
        func isNotified() async throws -> Bool {
            try await services.setZone(zone)
            return try notifications(router).contains("notification timeZone \(zone)")
        }
        try await eventually(await isNotified()) { $0 }
    }

    private var inBackground: OpenOptions {
        var options = OpenOptions()
        options.inBackground = true
        return options
    }

    @Test func runningHandlerIsNotifiedOfTheKindsThatItDeclares() async throws {
        let services = try await Services("org.freedesktop.timedate1", "org.freedesktop.UPower")
        defer { services.bus.stop() }
        let router = try await router(on: services, ["timeZone", "weather"])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await services.waitForFollower(of: "/org/freedesktop/timedate1")
        #expect(try await services.rules(with: "UPower").isEmpty)
        try await waitForZone("Asia/Tokyo", services, router)
        // The same value again is no change, and neither are other properties.
        try await services.setZone("Asia/Tokyo")
        try await services.report("/org/freedesktop/timedate1", "org.freedesktop.timedate1", ["NTP": true])
        try await services.setZone("Europe/Oslo")
        let zones = ["Asia/Tokyo", "Europe/Oslo"].map { "notification timeZone \($0)" }
        try await eventually(notifications(router)) { $0 == zones }
    }

    @Test func suspendedHandlerGetsTheLatestValuesWhenItWakes() async throws {
        let services = try await Services("org.freedesktop.timedate1", "org.freedesktop.UPower")
        defer { services.bus.stop() }
        let router = try await router(on: services, ["timeZone", "powerSource"], other: ["powerSource"])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await waitForZone("UTC", services, router)
        func isExternal() async throws -> Bool {
            try await services.setOnBattery(false)
            return try notifications(router).contains("notification powerSource external")
        }
        try await eventually(await isExternal()) { $0 }
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        _ = try await router.open("other:x")
        let pid = try #require(try await router.status(of: Self.first).pid)
        try await router.waitUntilStopped(pid)
        for zone in ["Asia/Tokyo", "Europe/Oslo"] { try await services.setZone(zone) }
        for isOnBattery in [true, false, true] { try await services.setOnBattery(isOnBattery) }
        // The other handler is running, so it gets every value, and the router has seen them all by then.
        let sources = ["battery", "external", "battery"].map { "notification powerSource \($0)" }
        try await eventually(notifications(router, of: Self.other)) { $0 == sources }
        #expect(try router.isStopped(pid))
        _ = try await router.open("first:y")
        let latest = ["notification powerSource battery", "notification timeZone Europe/Oslo"]
        #expect(
            try router.log(of: Self.first).suffix(5) == ["willEnterForeground"] + latest + [
                "open first:y", "didBecomeActive",
            ]
        )
    }

    @Test func whatIsSoAlreadyIsNoChange() async throws {
        let services = try await Services("org.freedesktop.timedate1")
        defer { services.bus.stop() }
        let zone = Property<String>("org.freedesktop.timedate1", "Timezone")
        await services.connection.export(
            [ExportedInterface("org.freedesktop.timedate1", [.property(zone) { "Asia/Tokyo" }])],
            at: "/org/freedesktop/timedate1"
        )
        let router = try await router(on: services, ["timeZone"])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await services.waitForFollower(of: "/org/freedesktop/timedate1")
        try await services.setZone("Asia/Tokyo")
        try await waitForZone("Europe/Oslo", services, router)
        #expect(try notifications(router) == ["notification timeZone Europe/Oslo"])
    }

    @Test func serviceIsFollowedOnlyWhileAHandlerThatObservesItRuns() async throws {
        let services = try await Services("org.freedesktop.NetworkManager")
        defer { services.bus.stop() }
        let router = try await router(on: services, ["network"])
        defer { router.stop() }
        _ = try await router.open("other:x", inBackground)
        #expect(try await services.rules(with: "NetworkManager").isEmpty)
        #expect(try await services.connection.names().count { $0.isUnique } == 1)
        _ = try await router.open("first:x", inBackground)
        try await services.waitForFollower(of: "/org/freedesktop/NetworkManager")
        try await router.lifecycle(LifecycleInterface.terminate, Self.first)
        try await eventually(await services.rules(with: "'/org/freedesktop/NetworkManager'")) { $0.isEmpty }
    }

    @Test func desktopsColorSchemeIsReported() async throws {
        let services = try await Services()
        defer { services.bus.stop() }
        let router = try await router(on: services, ["colorScheme"])
        defer { router.stop() }
        #expect(try await router.connection.requestName("org.freedesktop.portal.Desktop") == .owned)
        _ = try await router.open("first:x")
        let changed = Signal<Arguments<String, String, Value>>("org.freedesktop.portal.Settings", "SettingChanged")
        func set(_ namespace: String, _ scheme: UInt32) async throws {
            try await router.connection.emit(
                changed,
                from: "/org/freedesktop/portal/desktop",
                Arguments(namespace, "color-scheme", .uint32(scheme))
            )
        }
        // The subscription may begin after the answer to the URL, so the report is repeated.
        func notificationsAfterReport() async throws -> [String] {
            try await set("org.example.other", 2)
            try await set("org.freedesktop.appearance", 1)
            return try notifications(router)
        }
        try await eventually(await notificationsAfterReport()) { $0 == ["notification colorScheme dark"] }
        try await set("org.freedesktop.appearance", 0)
        let schemes = ["dark", "default"].map { "notification colorScheme \($0)" }
        try await eventually(notifications(router)) { $0 == schemes }
    }
}
