import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Handlers in a sandbox that is made as Flatpak makes one: with a proxy in a sandbox of its own, and with the files of the
/// instance.
@Suite(.timeLimit(.minutes(5))) struct FlatpakTests {
    /// A program that does what `flatpak run` does, with the whole system in the sandbox.
    private static let run = #"""
        #!/bin/sh
        instance=$XDG_RUNTIME_DIR/.flatpak/4711
        socket=$HOME/proxy-$$
        mkdir -p "$instance"
        printf '[Application]\nname=%s\n\n[Instance]\ninstance-id=4711\n' "$APPLICATION" > "$instance/info"
        box() {
            options=
            for place in /*; do
                if [ -L "$place" ]; then
                    options="$options --symlink $(readlink "$place") $place"
                elif [ -d "$place" ] && [ "$place" != /proc ] && [ "$place" != /dev ]; then
                    options="$options --bind $place $place"
                fi
            done
            exec bwrap --die-with-parent $options --proc /proc --dev-bind /dev /dev --ro-bind "$instance/info" /.flatpak-info "$@"
        }
        mkfifo "$socket.ready"
        (box xdg-dbus-proxy "$DBUS_SESSION_BUS_ADDRESS" "$socket" --filter "--own=$NAME" --talk=org.openurl.Router1 --fd=3) \
            3<>"$socket.ready" &
        head -c 1 "$socket.ready" > "$socket.first"
        export DBUS_SESSION_BUS_ADDRESS="unix:path=$socket"
        # The command of a sandbox is often a script, which stays.
        (box --unshare-pid --info-fd 4 sh -c '"$0" "$@"; :' "$HANDLER" "$@") 4>"$instance/$INFO"
        kill $!
        """#

    /// Starts a router with a handler in a sandbox.
    ///
    /// - Parameter info: the file of the instance that says which process is the first of the sandbox.
    private func router(
        _ id: String,
        application: String,
        info: String = "bwrapinfo.json",
        prepare: (URL) throws -> Void = { _ in }
    ) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let script = directory.appending(path: "run")
            try Data(Self.run.utf8).write(to: script)
            #expect(chmod(script.path, 0o700) == 0)
            try RouterProcess.write(
                id,
                [],
                in: directory,
                extra: [
                    "CFBundleExecutable": script.path,
                    "OUEnvironment": [
                        "APPLICATION": application, "NAME": id, "INFO": info,
                        "HANDLER": RouterProcess.products.appending(path: "testhandler").path,
                    ],
                ]
            )
            try prepare(directory)
        }
    }

    /// Opens the application as a menu does, and returns when it owns its name. It ends with the bus.
    private func open(_ id: String, application: String, _ router: RouterProcess) async throws {
        let process = ChildProcess()
        process.executableURL = router.bus.directory.appending(path: "run")
        process.arguments = [id, router.bus.directory.appending(path: "\(id).log").path]
        process.environment = router.bus.environment.merging([
            "APPLICATION": application, "NAME": id, "INFO": "bwrapinfo.json",
            "HANDLER": RouterProcess.products.appending(path: "testhandler").path,
        ]) { $1 }
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try await RouterProcess.waitForOwner(of: #require(BusName(id)), on: router.connection) { try process.run() }
    }

    private func program(_ pid: UInt32?) throws -> String {
        let pid = try #require(pid)
        return try String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
    }

    private func state(_ pid: UInt32?) throws -> Substring? {
        let pid = try #require(pid)
        return try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8).split(separator: " ").dropFirst(2).first
    }

    /// Returns when the kernel has stopped a process. A signal takes effect when the process runs next, and no event tells.
    private func waitUntilStopped(_ pid: UInt32?) async throws {
        try await eventually(state(pid)) { $0 == "T" }
    }

    /// Flatpak lets an application own its identifier, and each name below it.
    @Test(arguments: ["com.example.boxed", "com.example.boxed.links"])
    func applicationThatAPersonHasOpenedGetsItsURLs(_ id: String) async throws {
        let router = try await router(id, application: "com.example.boxed")
        defer { router.stop() }
        try await open(id, application: "com.example.boxed", router)
        let scheme = try #require(id.split(separator: ".").last)
        #expect(try await router.open("\(scheme):1").handler == id)
        #expect(try router.log(of: id).contains("open \(scheme):1"))
        let status = try await router.status(of: id)
        #expect(try program(status.pid) == "testhandler")
        #expect(status.isVerified == false && (status.residentMemory ?? 0) > 0)
        let refusal = try await router.openurl("suspend", id)
        #expect(refusal.status == 7 && refusal.errors.contains("the router did not start it"), "\(refusal.errors)")
    }

    /// The manifest says which application its handler is: the one that it starts.
    @Test(arguments: [true, false]) func manifestNamesTheApplication(_ isNamed: Bool) async throws {
        let id = "com.example.viewer"
        let router = try await router("com.example.boxed", application: "com.example.boxed") { directory in
            let program = directory.appending(path: "flatpak")
            try FileManager.default.copyItem(at: directory.appending(path: "run"), to: program)
            let command = ["run", "--branch=stable", isNamed ? "com.example.boxed/x86_64" : "com.example.other"]
            let extra: [String: Any] = ["CFBundleExecutable": program.path, "OUArguments": command]
            try RouterProcess.write(id, [], in: directory, extra: extra)
        }
        defer { router.stop() }
        try await open(id, application: "com.example.boxed", router)
        let run = try await router.openurl("viewer:1")
        #expect(run.status == (isNamed ? 0 : 4), "\(run.errors)")
        #expect(try router.log(of: id).contains("open viewer:1") == isNamed)
    }

    /// The sandbox of another application gets nothing, although its proxy owns the name.
    @Test func otherApplicationIsAStranger() async throws {
        let router = try await router("com.example.boxed", application: "com.example.boxed")
        defer { router.stop() }
        try await open("com.example.boxed", application: "com.example.other", router)
        let run = try await router.openurl("boxed:1")
        #expect(run.status == 4 && run.errors.contains("the sandbox of com.example.other"), "\(run.errors)")
        #expect(try !router.log(of: "com.example.boxed").contains("open boxed:1"))
    }

    @Test func applicationThatTheRouterHasStartedIsSuspendedLikeAnyOther() async throws {
        let id = "com.example.boxed"
        let router = try await router(id, application: id)
        defer { router.stop() }
        #expect(try await router.open("boxed:1").handler == id)
        let status = try await router.status(of: id)
        #expect(try program(status.pid) == "testhandler")
        #expect(status.isVerified != false)
        try await router.lifecycle(LifecycleInterface.suspend, id)
        #expect(try await router.status(of: id).state == .known(.suspended))
        try await waitUntilStopped(status.pid)
        #expect(try await router.open("boxed:2").handler == id)
        #expect(try router.log(of: id).contains("open boxed:2"))
        #expect(try await router.status(of: id).pid == status.pid)
        try await router.lifecycle(LifecycleInterface.terminate, id)
        #expect(try router.log(of: id).contains("willTerminate"))
        #expect(try await router.status(of: id).state == .known(.notRunning))
    }

    /// The pipe of the router passes the proxy, and its end reaches the process in the sandbox.
    @Test func endOfTheRouterWakesASuspendedApplication() async throws {
        let id = "com.example.boxed"
        let router = try await router(id, application: id)
        defer { router.stop() }
        #expect(try await router.open("boxed:1").handler == id)
        try await router.lifecycle(LifecycleInterface.suspend, id)
        let pid = try await router.status(of: id).pid
        try await waitUntilStopped(pid)
        // The application takes its name back when it continues.
        try await RouterProcess.waitForOwner(of: #require(BusName(id)), on: router.connection) {
            #expect(kill(router.pid, SIGKILL) == 0)
        }
        #expect(try state(pid) != "T")
    }

    /// A file that names a process outside the sandbox leads to no process.
    @Test func processOutsideTheSandboxIsNotTheHandler() async throws {
        let id = "com.example.boxed"
        let router = try await router(id, application: id, info: "another.json")
        defer { router.stop() }
        let instance = router.bus.directory.appending(path: "XDG_RUNTIME_DIR/.flatpak/4711")
        try FileManager.default.createDirectory(at: instance, withIntermediateDirectories: true)
        try Data("{\"child-pid\": \(getpid())}".utf8).write(to: instance.appending(path: "bwrapinfo.json"))
        #expect(try await router.open("boxed:1").handler == id)
        #expect(try await router.status(of: id).pid == nil)
        await #expect(throws: CallError.self) { try await router.lifecycle(LifecycleInterface.suspend, id) }
    }
}
