import Foundation
import TestSupport
import Testing

@testable import RouterProgram

@Suite struct RouterIdentityTests {
    private let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path

    /// Returns the refusal of a process for a service file that starts a command.
    private func refusal(_ exec: String?, of pid: Int32 = getpid(), _ variables: [String: String] = [:]) throws
        -> String?
    {
        let data = FileManager.default.temporaryDirectory.appending(path: "identity-\(UUID().uuidString)")
        let services = data.appending(path: "dbus-1/services")
        try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: data) } }
        if let exec {
            try "[D-BUS Service]\nName=org.openurl.Router1\nExec=\(exec)\n"
                .write(to: services.appending(path: "org.openurl.Router1.service"), atomically: true, encoding: .utf8)
        }
        let all = ["XDG_DATA_HOME": data.path, "XDG_DATA_DIRS": "/nonexistent"].merging(variables) { $1 }
        guard let identity = RouterIdentity(environment: { all[$0] }) else { return nil }
        return identity.refusal(of: UInt32(pid))
    }

    @Test func programOfTheServiceFileIsTheRouter() throws {
        #expect(try refusal(program) == nil)
        #expect(try refusal("\"\(program)\" --verbose") == nil)
        #expect(try refusal("/bin/sh -c \"exec '\(program)' --verbose\"") == nil)
    }

    @Test func otherProgramIsRefused() throws {
        for service in ["/usr/libexec/openurld", "/bin/sh -c \"exec /usr/libexec/openurld --verbose\""] {
            let refusal = try #require(try refusal(service))
            let owner = "\(program) (process \(getpid()))"
            #expect(refusal.hasPrefix("org.openurl.Router1 belongs to \(owner), not to /usr/libexec/openurld; "))
            #expect(refusal.hasSuffix("or set OPENURL_ROUTER to its path if it is a router that you started"))
        }
        #expect(try refusal("/usr/local/bin/start-router")?.contains("not to /usr/local/bin/start-router") == true)
    }

    /// A shell and a script name the router in ways of their own, so any router can be meant.
    @Test func routerBehindAnotherProgramHasOneVerdict() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "identity router-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let router = directory.appending(path: "openurld")
        try FileManager.default.copyItem(at: URL(filePath: "/usr/bin/sleep").resolvingSymlinksInPath(), to: router)
        let process = ChildProcess()
        process.executableURL = router
        process.arguments = ["600"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        let pid = process.processIdentifier
        for service in [
            "/bin/sh -c \"exec openurld\"", "/usr/bin/env openurld --verbose", "/usr/local/bin/start-router",
            "\"\(router.path)\" --verbose",
        ] {
            #expect(try refusal(service, of: pid) == nil, "\(service)")
        }
        #expect(try refusal("/bin/sh -c \"exec /usr/libexec/openurld\"", of: pid) != nil)
        #expect(try refusal("/usr/libexec/openurld", of: pid) != nil)
    }

    @Test func variableNamesAnotherRouter() throws {
        let service = "/usr/libexec/openurld"
        #expect(try refusal(service, of: getpid(), ["OPENURL_ROUTER": program]) == nil)
        #expect(try refusal(service, of: getpid(), ["OPENURL_ROUTER": "any"]) == nil)
        for other in ["", "/usr/bin/env", "openurld"] {
            #expect(try refusal(service, of: getpid(), ["OPENURL_ROUTER": other]) != nil, "\(other)")
        }
    }

    /// The router beside the program that asks is the expected one, if there is one.
    @Test(arguments: [nil, ""]) func withoutAServiceFileTheRouterBesideIsMeant(service: String?) throws {
        let beside = URL(filePath: program).deletingLastPathComponent().appending(path: "openurld").path
        let refusal = try refusal(service)
        #expect((refusal?.contains("not to \(beside);") == true) == FileManager.default.fileExists(atPath: beside))
    }
}
