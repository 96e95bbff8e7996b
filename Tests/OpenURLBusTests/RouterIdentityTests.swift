import Foundation
import Testing

@testable import OpenURLBus

@Suite struct RouterIdentityTests {
    private let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path

    /// Returns the warning about this process for a service file that starts a command.
    private func warning(_ exec: String?) throws -> String? {
        let data = FileManager.default.temporaryDirectory.appending(path: "identity-\(UUID().uuidString)")
        let services = data.appending(path: "dbus-1/services")
        try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: data) } }
        if let exec {
            try "[D-BUS Service]\nName=org.openurl.Router1\nExec=\(exec)\n"
                .write(to: services.appending(path: "org.openurl.Router1.service"), atomically: true, encoding: .utf8)
        }
        let variables = ["XDG_DATA_HOME": data.path, "XDG_DATA_DIRS": "/nonexistent"]
        let identity = RouterIdentity(isCommand: false) { variables[$0] }
        return try #require(identity).warning(about: UInt32(getpid()))
    }

    @Test func programOfTheServiceFileIsTheRouter() throws {
        #expect(try warning(program) == nil)
        #expect(try warning("\"\(program)\" --verbose") == nil)
    }

    @Test func otherProgramIsReported() throws {
        let warning = try #require(try warning("/usr/libexec/openurld"))
        let owner = "\(program) (process \(getpid()))"
        #expect(warning.hasPrefix("org.openurl.Router1 belongs to \(owner), not to /usr/libexec/openurld; "))
    }

    @Test func withoutAServiceFileNothingIsReported() throws {
        #expect(try warning(nil) == nil)
    }
}
