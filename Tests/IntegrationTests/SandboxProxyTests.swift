import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// A handler behind the filter that Flatpak puts between a sandbox and the bus. The bus takes the filter for the process of
/// the handler.
@Suite(.timeLimit(.minutes(5))) struct SandboxProxyTests {
    private static let id = "com.example.boxed"
    /// Starts the filter, waits until the filter listens, and starts the handler behind it, as `flatpak run` does.
    private static let script = """
        #!/bin/sh
        mkfifo "$SOCKET.ready"
        xdg-dbus-proxy "$DBUS_SESSION_BUS_ADDRESS" "$SOCKET" --filter --own=\(id) --talk=\(RouterService.name) --fd=3 \
            3<>"$SOCKET.ready" &
        head -c 1 "$SOCKET.ready" > "$SOCKET.first"
        DBUS_SESSION_BUS_ADDRESS="unix:path=$SOCKET" "$HANDLER" "$@"
        kill $!
        """

    @Test func handlerBehindAProxyOpensURLsAndEnds() async throws {
        let router = try await RouterProcess(["com.example.open": []]) { directory in
            let script = directory.appending(path: "run")
            try Data(Self.script.utf8).write(to: script)
            #expect(chmod(script.path, 0o700) == 0)
            let environment = [
                "SOCKET": directory.appending(path: "proxy").path,
                "HANDLER": RouterProcess.products.appending(path: "testhandler").path,
            ]
            try RouterProcess.write(
                Self.id,
                [],
                in: directory,
                extra: ["CFBundleExecutable": script.path, "OUEnvironment": environment]
            )
        }
        defer { router.stop() }
        #expect(try await router.open("boxed:1").handler == Self.id)

        // The bus knows the proxy, and nobody knows the program behind the proxy.
        let address = "DBUS_SESSION_BUS_ADDRESS=unix:path=\(router.bus.directory.appending(path: "proxy").path)"
        let sent = try await router.run(address, RouterProcess.command.path, "--json", "open:x")
        #expect(sent.output.contains(#""source-executable":"/usr/bin/xdg-dbus-proxy""#), "\(sent.output)\(sent.errors)")
        #expect(sent.output.contains(#""source-intermediary":true"#))
        #expect(sent.output.contains(#""source-class":"sandboxed""#))

        #expect(try router.log(of: Self.id).contains("open boxed:1"))
        // The process and the memory would be those of the filter.
        let status = try await router.status(of: Self.id)
        #expect(status.pid == nil && status.residentMemory == nil && status.since != nil)
        let refusal = try await router.openurl("suspend", Self.id)
        #expect(refusal.status == 7 && refusal.errors.contains("the proxy of its sandbox"), "\(refusal.errors)")
        try await router.lifecycle(LifecycleInterface.terminate, Self.id)
        #expect(try router.log(of: Self.id).contains("willTerminate"))
        #expect(try await router.status(of: Self.id).state == .known(.notRunning))
    }
}
