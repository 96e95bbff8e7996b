import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// A handler behind the filter that Flatpak puts between a sandbox and the bus. The bus takes the filter for the process of
/// the handler.
@Suite(.timeLimit(.minutes(5))) struct SandboxProxyTests {
    private static let id = "com.example.boxed"

    @Test func handlerBehindAProxyOpensURLsAndEnds() async throws {
        let router = try await RouterProcess([Self.id: [], "com.example.open": []])
        defer { router.stop() }
        let socket = router.bus.directory.appending(path: "proxy").path
        let ready = Pipe()
        let proxy = Process()
        proxy.executableURL = URL(filePath: "/usr/bin/xdg-dbus-proxy")
        let talk = "--talk=\(RouterService.name)"
        proxy.arguments = [router.bus.address, socket, "--filter", "--own=\(Self.id)", talk, "--fd=1"]
        proxy.standardOutput = ready
        try proxy.run()
        // The proxy writes a byte when it listens.
        #expect(try ready.fileHandleForReading.read(upToCount: 1)?.count == 1)
        _ = try await router.startByHand(Self.id, bus: "unix:path=\(socket)")

        // The bus knows the proxy, and nobody knows the program behind the proxy.
        let address = "DBUS_SESSION_BUS_ADDRESS=unix:path=\(socket)"
        let sent = try await router.run(address, RouterProcess.command.path, "--json", "open:x")
        #expect(sent.output.contains(#""source-executable":"/usr/bin/xdg-dbus-proxy""#), "\(sent.output)\(sent.errors)")
        #expect(sent.output.contains(#""source-intermediary":true"#))

        #expect(try await router.open("boxed:1").handler == Self.id)
        #expect(try router.log(of: Self.id).contains("open boxed:1"))
        await #expect(throws: CallError.self) { try await router.lifecycle(LifecycleInterface.suspend, Self.id) }
        try await router.lifecycle(LifecycleInterface.terminate, Self.id)
        #expect(try router.log(of: Self.id).contains("willTerminate"))
        #expect(try await router.status(of: Self.id).state == .known(.notRunning))
        #expect(proxy.isRunning)
        kill(proxy.processIdentifier, SIGKILL)
        proxy.waitUntilExit()
    }
}
