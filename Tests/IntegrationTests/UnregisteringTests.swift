import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Handlers whose registration ends while their processes run, with real processes.
@Suite(.timeLimit(.minutes(10))) struct UnregisteringTests {
    private static let id = "com.example.app"

    /// Registers a handler from outside the router's directories.
    private func router() async throws -> (RouterProcess, manifest: URL) {
        let router = try await RouterProcess()
        let directory = router.bus.directory.appending(path: "elsewhere")
        try RouterProcess.write(Self.id, [], in: directory)
        let manifest = directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(Self.id).plist")
        _ = try await router.register(manifest.path)
        return (router, manifest)
    }

    private func associations(_ router: RouterProcess) -> URL {
        router.bus.directory.appending(path: "XDG_CONFIG_HOME/mimeapps.list")
    }

    @Test func runningHandlerIsShownAndEnded() async throws {
        let (router, manifest) = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        let pid = try #require(try await router.status(of: Self.id).pid)
        let run = try await router.openurl("unregister", Self.id)
        #expect(run.status == 0)
        #expect(
            run.errors == "openurl: \(Self.id) is no longer registered, but its process \(pid) is still running; "
                + "'openurl terminate \(Self.id)' ends it\n"
        )
        let status = try await router.status(of: Self.id)
        #expect(!status.isRegistered && status.pid == pid && status.state == .known(.active))
        #expect(try await router.openurl("status", Self.id).output.contains("\(Self.id) is no longer registered"))
        for command in ["activate", "background", "suspend"] {
            let run = try await router.openurl(command, Self.id)
            #expect(run.status == 3 && run.errors.contains("'openurl terminate \(Self.id)' ends it"), "\(command)")
        }
        #expect(try await router.failure("app:2").code == .noHandler)
        #expect(try await router.openurl("terminate", Self.id).status == 0)
        #expect(!FileManager.default.fileExists(atPath: "/proc/\(pid)"))
        #expect(try await router.openurl("status", Self.id).status == 3)
        let again = try await router.openurl("terminate", Self.id)
        #expect(again.errors.contains("no handler is registered as \(Self.id)"))
        // A handler that does not run has nothing to say.
        _ = try await router.register(manifest.path)
        #expect(try await router.openurl("unregister", Self.id) == CommandRun(status: 0, output: "", errors: ""))
    }

    @Test func suspendedHandlerIsEnded() async throws {
        let (router, _) = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        let pid = try #require(try await router.status(of: Self.id).pid)
        try await router.lifecycle(LifecycleInterface.suspend, Self.id)
        let run = try await router.openurl("unregister", "--json", Self.id)
        #expect(run.output == "{\"id\":\"\(Self.id)\",\"pid\":\(pid)}\n")
        #expect(try await router.status(of: Self.id).state == .known(.suspended))
        try await router.lifecycle(LifecycleInterface.terminate, Self.id)
        #expect(!FileManager.default.fileExists(atPath: "/proc/\(pid)"))
    }

    @Test func brokenManifestIsNamedAndItsProcessEnds() async throws {
        let (router, manifest) = try await router()
        defer { router.stop() }
        _ = try await router.open("app:1")
        let good = try Data(contentsOf: manifest)
        var changes = try await router.changes().makeAsyncIterator()
        try Data("<plist>".utf8).write(to: manifest)
        #expect(await changes.next()?.body == ["app"])
        let link = router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(Self.id).plist").path
        let failure = try await router.failure("app:2")
        #expect(failure.code == .noHandler)
        let words = "\(link) claims it, but is not a property list: "
        #expect(failure.message.contains(words), "\(failure)")
        #expect(try await router.openurl("check", link).status == 65)
        #expect(try await !router.status(of: Self.id).isRegistered)
        #expect(try await router.openurl("terminate", Self.id).status == 0)
        try good.write(to: manifest)
        #expect(await changes.next()?.body == ["app"])
        #expect(try await router.open("app:3").way == .launched)
        try FileManager.default.removeItem(at: manifest)
        #expect(await changes.next()?.body == ["app"])
        #expect(try await !router.status(of: Self.id).isRegistered)
        #expect(try await router.openurl("terminate", Self.id).status == 0)
    }

    /// The next router knows the schemes of a property list whose other keys are wrong.
    @Test func manifestThatIsWrongFromTheStartIsNamed() async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(Self.id, [], in: directory, extra: ["OULaunchTimeout": "soon"])
        }
        defer { router.stop() }
        #expect(try await router.failure("app:1").message.contains("\(Self.id).plist claims it, but has errors"))
        #expect(try await router.failure("other:1").message.contains("register one with"))
    }

    @Test func defaultGoesWithTheHandlerAndOtherLinesStay() async throws {
        let (router, manifest) = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(Self.id)
        let others = """
            # mine
            [Default Applications]
            text/html=firefox.desktop
            x-scheme-handler/app=other.desktop;

            [Added Associations]
            x-scheme-handler/app=other.desktop;
            x-scheme-handler/else=\(Self.id).desktop;
            """
        try Data(others.utf8).write(to: associations(router))
        #expect(try await router.openurl("default", "app", Self.id).status == 0)
        #expect(try String(contentsOf: associations(router), encoding: .utf8).contains("app=\(Self.id).desktop"))
        #expect(try await router.openurl("unregister", Self.id).status == 0)
        #expect(
            try String(contentsOf: associations(router), encoding: .utf8) == """
                # mine
                [Default Applications]
                text/html=firefox.desktop

                [Added Associations]
                x-scheme-handler/app=other.desktop;
                x-scheme-handler/else=\(Self.id).desktop;
                """
        )
        // A file without the handler is not written again.
        let file = associations(router).path
        let before = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
        _ = try await router.register(manifest.path)
        try await router.unregister(Self.id)
        let after = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
        #expect(before == after)
    }
}
