import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Synchronization
import TestSupport
import Testing

/// Changes in the handlers' directories while the router runs.
@Suite(.timeLimit(.minutes(10))) struct LiveReloadTests {
    /// Writes a manifest outside the router's directories and returns its path.
    private func stage(_ id: String, _ router: RouterProcess, extra: [String: Any] = [:]) throws -> URL {
        let directory = router.bus.directory.appending(path: "staging")
        try RouterProcess.write(id, [], in: directory, extra: extra)
        return directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(id).plist")
    }

    private func handlersDirectory(_ router: RouterProcess) -> URL {
        router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
    }

    private func copy(_ file: URL, to directory: URL) throws {
        let process = try ChildProcess.run(URL(filePath: "/bin/cp"), arguments: [file.path, directory.path])
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private func claiming(_ schemes: String...) -> [String: Any] {
        ["CFBundleURLTypes": [["CFBundleURLSchemes": schemes]]]
    }

    @Test func copiedManifestGetsItsURLs() async throws {
        let router = try await RouterProcess(["com.example.present": []])
        defer { router.stop() }
        var changes = try await router.changes().makeAsyncIterator()
        try copy(try stage("com.example.copied", router), to: handlersDirectory(router))
        #expect(await changes.next()?.body == ["copied"])
        #expect(try await router.open("copied:x").handler == "com.example.copied")

        try FileManager.default.removeItem(at: handlersDirectory(router).appending(path: "com.example.copied.plist"))
        #expect(await changes.next()?.body == ["copied"])
        #expect(try await router.failure("copied:x").code == .noHandler)
        #expect(try await router.open("present:x").handler == "com.example.present")
    }

    @Test func directoriesMayComeAndGo() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        var changes = try await router.changes().makeAsyncIterator()
        try RouterProcess.write("com.example.first", [], in: router.bus.directory)
        #expect(await changes.next()?.body == ["first"])

        let data = handlersDirectory(router).deletingLastPathComponent()
        let away = router.bus.directory.appending(path: "away")
        try FileManager.default.moveItem(at: data, to: away)
        #expect(await changes.next()?.body == ["first"])
        #expect(try await router.failure("first:x").code == .noHandler)

        try FileManager.default.createSymbolicLink(at: data, withDestinationURL: away)
        #expect(await changes.next()?.body == ["first"])
        let behindTheLink = away.appending(path: "handlers")
        try copy(try stage("com.example.second", router), to: behindTheLink)
        #expect(await changes.next()?.body == ["second"])
        #expect(try await router.open("second:x").handler == "com.example.second")
    }

    @Test func targetOfARegistrationIsWatched() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        var changes = try await router.changes().makeAsyncIterator()
        let manifest = try stage("com.example.linked", router)
        _ = try await router.register(manifest.path)
        #expect(await changes.next()?.body == ["linked"])
        _ = try stage("com.example.linked", router, extra: claiming("other"))
        #expect(await changes.next()?.body == ["linked", "other"])
        #expect(try await router.open("other:x").handler == "com.example.linked")

        let bundle = router.bus.directory.appending(path: "Acme.app")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: false)
        let inBundle = bundle.appending(path: "Info.plist")
        try FileManager.default.copyItem(at: try stage("com.example.bundle", router), to: inBundle)
        _ = try await router.register(bundle.path)
        #expect(await changes.next()?.body == ["bundle"])
        try copy(try stage("com.example.bundle", router, extra: claiming("bundle", "more")), to: inBundle)
        #expect(await changes.next()?.body == ["more"])
        try FileManager.default.removeItem(at: bundle)
        #expect(await changes.next()?.body == ["bundle", "more"])
    }

    @Test func repairedManifestIsLoaded() async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write("com.example.bad", [], in: directory, extra: ["OULaunchTimeout": "soon"])
        }
        defer { router.stop() }
        #expect(try await router.failure("bad:x").code == .noHandler)
        var changes = try await router.changes().makeAsyncIterator()
        try RouterProcess.write("com.example.bad", [], in: router.bus.directory)
        #expect(await changes.next()?.body == ["bad"])
        #expect(try await router.open("bad:x").handler == "com.example.bad")
    }

    @Test func burstOfChangesCausesFewReloads() async throws {
        let router = try await RouterProcess(["com.example.busy": []])
        defer { router.stop() }
        let signals = try await router.changes()
        let files = try (0..<1000).map { try stage("com.example.burst.n\($0)", router) }
        let isSeen = Atomic(false)
        async let opened = {
            var count = 0
            let end = ContinuousClock.now + .seconds(240)
            while !isSeen.load(ordering: .relaxed), ContinuousClock.now < end {
                let result = try await router.open("busy:\(count)")
                #expect(result.handler == "com.example.busy")
                count += 1
            }
            return count
        }()
        let target = handlersDirectory(router)
        let start = ContinuousClock.now
        for file in files {
            try FileManager.default.moveItem(at: file, to: target.appending(path: file.lastPathComponent))
        }
        var seen: Set<String> = []
        var reloads = 0
        for await signal in signals {
            reloads += 1
            seen.formUnion(signal.body)
            if seen.count == 1000 { break }
        }
        let time = start.duration(to: .now)
        isSeen.store(true, ordering: .relaxed)
        let count = try await opened
        #expect(count > 0)
        // A pause between the moves ends a burst if it lasts for 100 ms.
        #expect(Double(reloads) < time / .milliseconds(100) + 20)
        #expect(try await router.open("n999:x").handler == "com.example.burst.n999")
    }

    @Test func damagedCacheIsOnlyALogLine() async throws {
        let router = try await RouterProcess(["com.example.app": []]) { directory in
            let cache = directory.appending(path: "XDG_CACHE_HOME/openurl")
            try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
            try Data("no database at all".utf8).write(to: cache.appending(path: "registry.sqlite"))
        }
        defer { router.stop() }
        #expect(try await router.open("app:x").handler == "com.example.app")
        #expect(try log(router).contains("registry.sqlite is not used: file is not a database; it will be rebuilt"))
    }

    @Test func routerThatEndsAtOnceLeavesACache() async throws {
        let router = try await RouterProcess(["com.example.app": []])
        defer { router.stop() }
        #expect(await router.terminate() == 0)
        let cache = router.bus.directory.appending(path: "XDG_CACHE_HOME/openurl/registry.sqlite")
        #expect(FileManager.default.fileExists(atPath: cache.path))
    }

    private func log(_ router: RouterProcess) throws -> String {
        try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
    }

    private static let limitingWatches = [
        "/usr/bin/unshare", "--user", "--map-root-user", "sh", "-c",
        "echo 3 >/proc/sys/user/max_inotify_watches && exec \"$0\"",
    ]

    private static func canLimitWatches() throws -> Bool {
        let process = ChildProcess()
        process.executableURL = URL(filePath: limitingWatches[0])
        process.arguments = limitingWatches.dropFirst() + ["true"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    @Test(.enabled("user namespaces are allowed") { try LiveReloadTests.canLimitWatches() })
    func missingWatchesAreLoggedAndTheRestWorks() async throws {
        let router = try await RouterProcess(wrapper: Self.limitingWatches)
        defer { router.stop() }
        try RouterProcess.write("com.example.unseen", [], in: router.bus.directory)
        try await reloadFromInside(router)
        #expect(try await router.open("unseen:x").handler == "com.example.unseen")
        // The router begins to watch after it is ready, and logs a failure after it has read all directories again.
        func logAfterReload() async throws -> String {
            try await reloadFromInside(router)
            return try log(router)
        }
        try await eventually(await logAfterReload()) {
            $0.contains("No space left on device: changes to it may be noticed only after a minute")
        }
        // Although nothing reports the change, the router reads the directory again.
        try RouterProcess.write("com.example.later", [], in: router.bus.directory)
        func openLater() async -> String? {
            do {
                return try await router.open("later:x").handler
            } catch {
                return nil
            }
        }
        try await eventually(await openLater()) { $0 == "com.example.later" }
    }

    /// Makes a router read its files again. A router in a user namespace takes programs outside for confined ones, as the two see
    /// different users.
    private func reloadFromInside(_ router: RouterProcess) async throws {
        let run = try await router.run(
            "nsenter",
            "--user=/proc/\(router.pid)/ns/user",
            "--preserve-credentials",
            "gdbus",
            "call",
            "--session",
            "--dest=\(RouterService.name)",
            "--object-path=\(RouterService.path)",
            "--method=\(RegistryInterface.name).\(RegistryInterface.reload.name)"
        )
        #expect(run.status == 0, "\(run.errors)")
    }
}
