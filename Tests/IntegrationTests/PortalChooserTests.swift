import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// The router as a backend of the desktop's portal. `Tests/Interop` has the questions of the real portal.
@Suite(.timeLimit(.minutes(10))) struct PortalChooserTests {
    private static let service = """
        [D-BUS Service]
        Name=\(AppChooserPortal.name)
        Exec=/bin/false

        """

    /// Starts a router with a handler, and with the backend's service file.
    private func router() async throws -> RouterProcess {
        try await RouterProcess(["com.example.any": []]) { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            try Data(Self.service.utf8).write(to: services.appending(path: "\(AppChooserPortal.name).service"))
        }
    }

    @Test func backendExistsOnlyIfItIsInstalled() async throws {
        let without = try await RouterProcess(["com.example.any": []])
        defer { without.stop() }
        _ = try await without.open("any:x")
        #expect(try await without.connection.owner(of: AppChooserPortal.name) == nil)

        let with = try await router()
        defer { with.stop() }
        try await RouterProcess.waitForOwner(of: AppChooserPortal.name, on: with.connection) {}
        let owner = try await with.connection.owner(of: RouterService.name)
        #expect(try await with.connection.owner(of: AppChooserPortal.name) == owner)
        // The next router gets both names.
        #expect(await with.terminate() == 0)
        #expect(try await with.connection.owner(of: AppChooserPortal.name) == nil)
    }

    /// Any program can own the portal's name while there is no portal.
    @Test func onlyThePortalMayAsk() async throws {
        let router = try await router()
        defer { router.stop() }
        try await RouterProcess.waitForOwner(of: AppChooserPortal.name, on: router.connection) {}
        #expect(try await router.connection.requestName(AppChooserPortal.portal) == .owned)
        let backend = RemoteObject(AppChooserPortal.name, AppChooserPortal.path)
        let handle: ObjectPath = "/org/freedesktop/portal/desktop/request/1_1/t"
        let options: [String: Value] = ["uri": "any:x"]
        let input = Arguments(handle, "org.example.App", "", ["com.example.any"], options)
        await #expect {
            _ = try await router.connection.call(AppChooserPortal.chooseApplication, on: backend, input)
        } throws: { error in
            guard case CallError.remote(let error) = error else { return false }
            return OpenURLError(error)?.code == .notAllowed
        }
        await #expect(throws: CallError.self) {
            let request = RemoteObject(AppChooserPortal.name, handle)
            _ = try await router.connection.call(AppChooserPortal.close, on: request, Empty())
        }
        #expect(try router.log(of: "com.example.any").isEmpty)
    }

    @Test func portalIsToAskAboutTheLinksOfHandlers() async throws {
        let store = PermissionStore()
        let router = try await router()
        defer { router.stop() }
        let types = await store.serve(on: router.connection)
        #expect(try await router.connection.requestName(PermissionStore.name) == .owned)
        let next = router.bus.directory.appending(path: "new.plist")
        try Self.manifest.write(to: next)
        #expect(try await router.openurl("register", next.path).status == 0)
        var seen: Set<String> = []
        for await type in types {
            seen.insert(type)
            if seen.isSuperset(of: ["x-scheme-handler/any ask", "x-scheme-handler/new ask"]) { break }
        }
        #expect(try await router.openurl("unregister", "com.example.new").status == 0)
        for await type in types where type == "x-scheme-handler/new" { break }
        // What another program has set stays.
        #expect(await store.data["x-scheme-handler/theirs"] == ["always-ask": true])
    }

    private static let manifest = Data(
        """
        <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>com.example.new</string>
        <key>CFBundleExecutable</key><string>/bin/true</string><key>CFBundleURLTypes</key><array><dict>
        <key>CFBundleURLSchemes</key><array><string>new</string></array></dict></array></dict></plist>
        """.utf8
    )
}

/// A stand-in for the desktop's permission store.
private actor PermissionStore {
    static let name: BusName = "org.freedesktop.impl.portal.PermissionStore"
    private(set) var data: [String: [String: Value]] = ["x-scheme-handler/theirs": ["always-ask": true]]

    /// Returns each change: the type, with `ask` if the portal is to ask.
    func serve(on connection: Connection) async -> AsyncStream<String> {
        let (changes, continuation) = AsyncStream<String>.makeStream()
        let interface = ExportedInterface(
            AppChooserPortal.list.interface,
            [
                .method(AppChooserPortal.list) { _, _ in await Array(self.data.keys) },
                .method(AppChooserPortal.lookup) { _, input in
                    guard let data = await self.data[input.values.1] else {
                        throw RemoteError("org.freedesktop.portal.Error.NotFound", "there is no entry")
                    }
                    return Arguments([:], Value.options(data))
                },
                .method(AppChooserPortal.setValue) { _, input in
                    let (_, _, type, value) = input.values
                    await self.set(type, value)
                    continuation.yield(value == .options([:]) ? type : "\(type) ask")
                    return Empty()
                },
            ]
        )
        await connection.export([interface], at: "/org/freedesktop/impl/portal/PermissionStore")
        return changes
    }

    private func set(_ type: String, _ value: Value) {
        guard case .dictionary(let entries, _, _) = value else { return }
        var options: [String: Value] = [:]
        for (key, value) in entries {
            if case .string(let key) = key, case .variant(let value) = value { options[key] = value }
        }
        data[type] = options
    }
}
