import Desktop
import Glibc
import Logging
import Reactor
import SchemeRegistry
import TestSupport
import Testing

/// A registration that takes longer than the router waits for it.
@Suite(.timeLimit(.minutes(5))) struct LateRegistrationTests {
    private static let manifest = """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0">
        <dict>
            <key>CFBundleIdentifier</key>
            <string>com.example.late</string>
            <key>CFBundleExecutable</key>
            <string>/bin/true</string>
            <key>CFBundleURLTypes</key>
            <array>
                <dict>
                    <key>CFBundleURLName</key>
                    <string>com.example.late</string>
                    <key>CFBundleURLSchemes</key>
                    <array>
                        <string>late</string>
                    </array>
                </dict>
            </array>
        </dict>
        </plist>
        """

    @Test func errorSaysThatTheHandlerMayStillBeRegistered() async throws {
        let directory = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        let path = try directory.write(Array(Self.manifest.utf8), to: "late.plist")
        func store(patience: Duration) -> RegistryStore {
            RegistryStore(
                RegistryDirectories(user: "\(directory.path)/handlers", system: []),
                desktop: DesktopDirectories(environment: ["HOME": directory.path]),
                command: nil,
                cache: nil,
                patience: patience,
                on: loop,
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
        let handler = try await store(patience: .seconds(240)).inspect(path).handler
        let hasty = store(patience: .zero)
        var failure: RegistrationError?
        // A registration that is done before the store looks at it for the first time has not failed.
        while failure == nil {
            do throws(RegistrationError) {
                _ = try await hasty.register(path, expecting: handler, isReplacing: true)
            } catch {
                failure = error
            }
        }
        let reason = "a file system is slow, so the handler may be registered later; 'openurl list' shows whether it is"
        #expect(failure == .fileSystem(path: path, reason: reason))
        let link = "\(directory.path)/handlers/com.example.late.plist"
        try await eventually(access(link, F_OK)) { $0 == 0 }
    }
}
