import Foundation
import PrivateBus
import Testing

/// The handlers that `openurl new` writes.
@Suite(.timeLimit(.minutes(10))) struct NewHandlerTests {
    /// Whether a handler in C can be built.
    private static var hasSystemdHeaders: Bool {
        FileManager.default.fileExists(atPath: "/usr/include/systemd/sd-bus.h")
    }

    /// Registers the new handler as the printed line says, opens the printed URL, and expects the greeting.
    private func use(_ lines: [Substring], _ router: RouterProcess) async throws {
        let register = try #require(lines.first { $0.hasPrefix("openurl register ") })
        let path = String(register.dropFirst("openurl register ".count))
        let checked = try await router.openurl("check", path)
        #expect(checked.output == "\(path): no problems found\n")
        let registered = try await router.openurl("register", path)
        #expect(registered.status == 0 && registered.errors == "", "\(registered)")
        #expect(lines.contains("openurl --json 'greet:?name=World'"))
        let opened = try await router.openurl("--json", "greet:?name=World")
        #expect(opened.output.contains(#""reply":{"greeting":"Hello, World!"}"#), "\(opened)")
        let declined = try await router.openurl("greet:")
        #expect(declined.status == 1)
        #expect(declined.errors.contains(" declined the URL: there is no name; write greet:?name=World"), "\(declined)")
        let restart = try #require(lines.last { $0.hasPrefix("openurl restart ") })
        let restarted = try await router.openurl(restart.split(separator: " ").dropFirst().map(String.init))
        #expect(restarted.status == 0, "\(restarted)")
    }

    @Test func handlerInPythonPassesItsTestAndIsRegistered() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let directory = router.bus.directory.appending(path: "new handler").path
        let made = try await router.openurl(
            "new",
            "com.example.Py-Greeter",
            "--python",
            "--scheme",
            "greet",
            "--directory",
            directory
        )
        #expect(made.status == 0, "\(made)")
        let test = try await router.run("sh", "-c", "cd \"$1\" && /usr/bin/python3 -m unittest", "sh", directory)
        #expect(test.status == 0 && test.errors.contains("Ran 2 tests"), "\(test)")
        let lines = made.output.split(separator: "\n").map { $0.replacing("'\(directory)/", with: "\(directory)/") }
        try await use(lines.map { $0.hasSuffix(".plist'") ? $0.dropLast() : $0[...] }, router)
    }

    /// The command does not contain the registry, so it has its own copy of these rules.
    @Test func namesThatTheRegistryRefusesAreRefused() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let long = String(repeating: "a", count: 65)
        for (id, scheme, reason) in [
            ("org.openurl.x", "x", "org.openurl.* belongs to the system"),
            ("org.freedesktop.x", "x", "org.freedesktop.* belongs to the system"),
            ("com.example.x", "openurl-reply", "openurl-reply, which belongs to the router"),
            ("com.example.x", "http", "http "), ("com.example.x", "https", "https "),
            ("com.example.x", long, "has 65 bytes; a scheme may have at most 64"),
            ("com.example.x", String(long.dropLast()), ""),
        ] {
            let manifest = """
                <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>\(id)</string>
                <key>CFBundleExecutable</key><string>/bin/true</string><key>CFBundleURLTypes</key><array><dict>
                <key>CFBundleURLSchemes</key><array><string>\(scheme)</string></array></dict></array></dict></plist>
                """
            let file = router.bus.directory.appending(path: "\(id).plist")
            try manifest.write(to: file, atomically: true, encoding: .utf8)
            let checked = try await router.openurl("check", file.path)
            let directory = router.bus.directory.appending(path: "\(id) \(scheme)").path
            let made = try await router.openurl("new", id, "--python", "--scheme", scheme, "--directory", directory)
            #expect(made.status == (reason.isEmpty ? 0 : 64), "\(scheme): \(made)")
            #expect(reason.isEmpty || made.errors.contains(reason), "\(scheme): \(made)")
            #expect(reason.isEmpty || (checked.output + checked.errors).contains(reason), "\(scheme): \(checked)")
        }
    }

    @Test(.enabled(if: hasSystemdHeaders, "the headers of libsystemd are not installed"))
    func handlerInCPassesItsTestAndIsRegistered() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let directory = router.bus.directory.appending(path: "greeter").path
        let made = try await router.openurl(
            "new",
            "com.example.c-greeter",
            "--c",
            "--scheme",
            "greet",
            "--directory",
            directory
        )
        #expect(made.status == 0, "\(made)")
        let test = try await router.run("make", "-C", directory, "CFLAGS=-Werror", "build/c_greeter", "test")
        #expect(test.status == 0, "\(test)")
        try await use(made.output.split(separator: "\n"), router)
    }
}
