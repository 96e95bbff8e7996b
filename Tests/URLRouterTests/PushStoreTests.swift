import Foundation
import Logging
import OpenURLBus
import Reactor
import Testing

@testable import DBus
@testable import URLRouter

/// The file with the registrations for pushes.
@Suite(.timeLimit(.minutes(1))) struct PushStoreTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "openurl-\(UUID().uuidString)")

    private func store(_ log: RecordedLog = RecordedLog()) throws -> PushStore {
        PushStore(path: directory.appending(path: "pushes").path, on: try EventLoop(), log: log.logger)
    }

    private let stored: StoredRegistration = {
        let registration = PushRegistration(
            handler: "com.example.app",
            instance: "account",
            distributor: "org.unifiedpush.Distributor.example",
            endpoint: "https://push.example/1"
        )
        return StoredRegistration(token: "token", registration: registration, description: "Mail", vapid: "key")
    }()

    @Test func registrationsComeBack() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        #expect(try await store().load() == [])
        try await store().save([stored])
        #expect(try await store().load() == [stored])
        let file = directory.appending(path: "pushes").path
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        try await store().save([])
        #expect(try await store().load() == [])
    }

    @Test func damagedFileIsReportedAndHasNoRegistrations() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try await store().save([stored])
        try Data("damaged".utf8).write(to: directory.appending(path: "pushes"))
        let log = RecordedLog()
        #expect(try await store(log).load() == [])
        #expect(log.lines.contains { $0.contains("are damaged") })
    }

    /// The file of a user belongs to one router at a time, whose registrations no other one may overwrite.
    @Test func onlyOneRouterUsesTheFile() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = try store()
        try await first.save([stored])
        let second = try store()
        for _ in 0..<2 {
            let error = await #expect(throws: RemoteError.self) { try await second.load() }
            #expect(error?.message.contains("another router") == true)
        }
        await #expect(throws: RemoteError.self) { try await second.save([]) }
        #expect(try await first.load() == [stored])
        // A router that ends leaves the file to the next one.
        await first.release()
        #expect(try await second.load() == [stored])
        await #expect(throws: RemoteError.self) { try await first.save([]) }
        #expect(try await second.load() == [stored])
    }

    @Test func fileThatCannotBeReadIsAnErrorAndStays() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let place = directory.appending(path: "pushes")
        try FileManager.default.createDirectory(
            at: place,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let store = try store()
        let error = await #expect(throws: RemoteError.self) { try await store.load() }
        #expect(error?.message.contains("cannot be read") == true)
        await #expect(throws: RemoteError.self) { try await store.save([stored]) }
    }

    @Test func fullRegistrationsFitIntoTheFile() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        var large = stored
        large.registration.endpoint = String(repeating: "e", count: UnifiedPush.endpointBytes)
        large.registration.handler = String(repeating: "h", count: 255)
        large.registration.distributor = String(repeating: "d", count: 255)
        let all = (0..<PushInterface.registrations).map { number in
            var one = large
            one.token = "\(number)"
            return one
        }
        try await store().save(all)
        #expect(try await store().load() == all)
    }

    @Test func directoryOfAnotherUserIsAnError() async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.path)
        let error = await #expect(throws: RemoteError.self) { try await store().save([stored]) }
        #expect(error?.message.contains("can be changed by other users") == true)
    }

    /// The distributor repeats the call, which must then be news again.
    @Test func endpointThatCannotBeStoredIsNotTaken() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try store()
        try await store.save([stored])
        let bus = try FakeHandlers(["com.example.app": ":1.1"])
        bus.setState(of: "com.example.app", to: .background)
        let router = URLRouter([try .test("com.example.app")], on: bus, pushes: store)
        let file = directory.appending(path: "pushes")
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        await #expect(throws: RemoteError.self) { try await router.takeEndpoint("https://push.example/2", "token") }
        try FileManager.default.removeItem(at: file)
        try await store.save([stored])
        await #expect(throws: Never.self) { try await router.takeEndpoint("https://push.example/2", "token") }
        #expect(try await store.load()?.map(\.registration.endpoint) == ["https://push.example/2"])
        let value = Value.dictionary([.string("account"): "https://push.example/2"], key: "s", value: "s")
        var context = WakeContext(.known(.push))
        context.notifications = [PushInterface.endpointKind: value]
        await bus.wait(for: .woken("com.example.app", context))
    }
}

extension URLRouter {
    fileprivate func takeEndpoint(_ endpoint: String, _ token: String) async throws {
        try await pushes.take(endpoint: endpoint, token)
    }
}
