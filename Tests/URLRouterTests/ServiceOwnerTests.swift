import DBus
import Foundation
import PrivateBus
import Testing

@testable import URLRouter

/// The owners of the names of services. `ConfinedServiceTests` has those in a sandbox.
@Suite(.timeLimit(.minutes(5))) struct ServiceOwnerTests {
    private static let name: BusName = "org.example.Service"

    @Test func programOfTheUserIsUsedWhileItOwnsTheName() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let log = RecordedLog()
        let services = ServiceOwners(connection, log: log.logger)
        #expect(try await services.owner(of: Self.name) == nil)
        for _ in 0..<2 {
            let service = try await Connection.open(.address(bus.address), on: connection.loop)
            try #require(try await service.requestName(Self.name) == .owned)
            #expect(try await services.owner(of: Self.name) == service.uniqueName)
            let object = try await services.object("/", of: Self.name)
            #expect(object.destination == service.uniqueName && object.path == "/")
            try await service.releaseName(Self.name)
            let error = await #expect(throws: CallError.self) { try await services.object("/", of: Self.name) }
            guard case .remote(let reason)? = error else { throw Unexpected() }
            #expect(reason.isFromMissingService)
        }
        #expect(log.lines == [])
    }

    @Test func serviceIsStartedOnlyIfTheBusMay() async throws {
        let bus = try await PrivateBus { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let service = """
                [D-BUS Service]
                Name=\(Self.name)
                Exec=/bin/touch \(directory.path)/started
                """
            let file = services.appending(path: "\(Self.name).service")
            try service.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { bus.stop() }
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let services = ServiceOwners(connection, log: RecordedLog().logger)
        let mark = "\(bus.directory.path)/started"
        #expect(try await services.owner(of: Self.name, starting: false, within: .seconds(60)) == nil)
        #expect(!FileManager.default.fileExists(atPath: mark))
        // The program does not take the name.
        await #expect(throws: CallError.self) {
            try await services.owner(of: Self.name, starting: true, within: .seconds(60))
        }
        #expect(FileManager.default.fileExists(atPath: mark))
        #expect(try await services.owner(of: "org.example.Missing", starting: true, within: .seconds(60)) == nil)
    }

    @Test(arguments: [
        ("0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", true),
        ("1:name=systemd:/x\n0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", true),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope\n", false),
        ("0::/user.slice/user-1001.slice/user@1001.service/init.scope\n", false),
        // A container can have control groups of any name, but only below its own one.
        ("0::/a.scope/user.slice/user-1000.slice/user@1000.service/init.scope\n", false),
        ("", false),
    ])
    func serviceManagerIsKnownByItsControlGroup(_ groups: String, isManager: Bool) {
        #expect(ServiceOwners.isServiceManager(groups, of: 1000) == isManager)
    }
}

private struct Unexpected: Error {}
