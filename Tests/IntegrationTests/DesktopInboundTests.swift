import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Programs that know only desktop entries or the bus open URLs with the router's handlers.
@Suite(.timeLimit(.minutes(10))) struct DesktopInboundTests {
    private let url = "todo://www.acme.com?Quarterly%20Report#200806231300"
    private let id = "com.example.todo"

    /// Returns a router that has published its handler.
    private func routerWithHandler(_ arguments: [String] = []) async throws -> RouterProcess {
        let router = try await RouterProcess([id: arguments])
        try await router.waitUntilPublished(id)
        return router
    }

    @Test func desktopToolsNameAPublishedHandler() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        #expect(
            try await router.tool("xdg-mime", "query", "default", "x-scheme-handler/todo").output == "\(id).desktop\n"
        )
        let settings = try await router.tool("xdg-settings", "get", "default-url-scheme-handler", "todo")
        #expect(settings.output == "\(id).desktop\n")
        #expect(try await router.tool("gio", "mime", "x-scheme-handler/todo").output.contains("\(id).desktop"))
        // The hint is about menus, which leave the entry out.
        let check = try await router.tool("desktop-file-validate", "--no-hints", router.desktopEntry(id).path)
        #expect(check.output == "" && check.status == 0)
    }

    @Test func xdgOpenOpensURLsColdAndWarm() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        for number in 1...2 {
            let run = try await router.tool("xdg-open", "\(url)-\(number)")
            #expect(run.status == 0, "\(run.errors)")
        }
        #expect(try router.log(of: id).filter { $0.hasPrefix("open ") } == ["open \(url)-1", "open \(url)-2"])
    }

    @Test(arguments: [false, true]) func routerThatOutlivesItsCommandWithdrawsItsHandlers(_ isRemoved: Bool)
        async throws
    {
        let script = #"mkdir "$HOME/bin" && cp "$0" "${0%d}" "$HOME/bin" && exec "$HOME/bin/openurld""#
        let router = try await RouterProcess([id: []], wrapper: ["/bin/sh", "-c", script])
        defer { router.stop() }
        try await router.waitUntilPublished(id)
        let home = URL(filePath: try #require(router.bus.environment["HOME"]))
        if isRemoved { try FileManager.default.removeItem(at: home.appending(path: "bin/openurl")) }
        #expect(await router.terminate() == 0)
        #expect(FileManager.default.fileExists(atPath: router.desktopEntry(id).path) != isRemoved)
        let services = router.bus.directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
        let names = try FileManager.default.contentsOfDirectory(atPath: services.path)
        #expect(names.contains { $0.hasPrefix(id) } != isRemoved, "\(names)")
        let known = try await router.tool("gio", "mime", "x-scheme-handler/todo").output
        #expect(known.contains("\(id).desktop") != isRemoved, "\(known)")
    }

    @Test func gioOpensURLsCold() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        let name = try #require(BusName(id))
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        let watch = try await router.connection.watchName(name) { _, new in continuation.yield(new) }
        #expect(try await router.tool("gio", "open", url).status == 0)
        // The program has ended long before the handler has started.
        for await owner in owners where owner != nil { break }
        try await router.connection.unwatchName(watch)
        // The handler gets a later URL after the earlier URL.
        _ = try await router.open("todo:later")
        #expect(try router.log(of: id).filter { $0.hasPrefix("open ") } == ["open \(url)", "open todo:later"])
    }

    /// KDE puts the displayed form of a URL into the command of an entry.
    @Test func urlThatTheDesktopHasDecodedArrivesWithItsEscapes() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        for url in ["todo:?Quarterly Report", "todo:/b\u{FC}cher#\u{20AC}"] {
            let launch = try await router.tool("gio", "launch", router.desktopEntry(id).path, url)
            #expect(launch.status == 0, "\(launch.errors)")
        }
        let command = try String(contentsOf: router.desktopEntry(id), encoding: .utf8).split(separator: "\n")
            .first { $0.hasPrefix("Exec=") }
        let words = try #require(command).dropFirst("Exec=".count).replacing(
            "%u",
            with: "\"$(printf 'todo:/\\377 x')\""
        )
        let bytes = try await router.tool("sh", "-c", String(words))
        #expect(bytes.status == 0, "\(bytes.errors)")
        let call = try await router.tool(
            "gdbus",
            "call",
            "--session",
            "--dest",
            "org.openurl.Router1",
            "--object-path",
            "/org/openurl/Router1",
            "--method",
            "org.freedesktop.Application.Open",
            "['todo:a b']",
            "{}"
        )
        #expect(call.status == 0, "\(call.errors)")
        let direct = try await router.tool("gapplication", "launch", id, "todo:c d")
        #expect(direct.status == 0, "\(direct.errors)")
        let opened = try router.log(of: id).filter { $0.hasPrefix("open ") }
        #expect(
            Set(opened) == [
                "open todo:?Quarterly%20Report", "open todo:/b%C3%BCcher#%E2%82%AC", "open todo:/%FF%20x",
                "open todo:a%20b",
                "open todo:c%20d",
            ]
        )
        // A program has to write a URL.
        #expect(try await router.openurl("todo:a b").status == 65)
    }

    @Test func handlerThatTheUserPicksGetsTheURL() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        let other = "[Desktop Entry]\nType=Application\nName=Other\nExec=false %u\nMimeType=x-scheme-handler/todo;\n"
        try other.write(to: router.desktopEntry("other"), atomically: true, encoding: .utf8)
        _ = try await router.connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        #expect(try await router.openurl("default", "todo", "other.desktop").output == "other.desktop\n")
        #expect(try await router.openurl("todo:1").status != 0)
        let launch = try await router.tool("gio", "launch", router.desktopEntry(id).path, "todo:2")
        #expect(launch.status == 0, "\(launch.errors)")
        // The launched command may still run when `gio` has ended. A second URL waits for the first one.
        #expect(try await router.openurl("--handler", id, "todo:3").status == 0)
        #expect(Set(try router.log(of: id).filter { $0.hasPrefix("open ") }) == ["open todo:2", "open todo:3"])
        let explained = try await router.openurl("explain", "--desktop-entry", "\(id).desktop", "todo:4")
        #expect(explained.output.contains("wins\t\(id)\tnative"), "\(explained.output)")
    }

    @Test func entryWithoutAURLActivatesItsHandler() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        let run = try await router.openurl("open", "--desktop-entry", "\(id).desktop", "--")
        #expect(run.status == 0, "\(run.errors)")
        #expect(try router.log(of: id).contains("didBecomeActive"))
        #expect(try await router.openurl("open", "--desktop-entry", "com.example.nobody.desktop").status == 3)
    }

    @Test func xdgOpenReportsADecline() async throws {
        let router = try await routerWithHandler(["decline=not today"])
        defer { router.stop() }
        let run = try await router.tool("xdg-open", url)
        #expect(run.status != 0)
        #expect(run.errors.contains("not today"), "\(run.errors)")
    }

    @Test func callOfTheHandlersNameMakesTheRouterStartTheHandler() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        let states = try await router.states()
        let cold = try await router.tool("gapplication", "launch", id, url)
        #expect(cold.status == 0, "\(cold.errors)")
        let warm = try await router.tool("gapplication", "launch", id, "todo:2")
        #expect(warm.status == 0, "\(warm.errors)")
        let opened = try router.log(of: id).filter { $0.hasPrefix("open ") }
        #expect(opened == ["open \(url)", "open todo:2"])
        // The handler gets the URLs from the bus, so the router asks the handler for its state, beside them.
        try await states.wait(for: "active", of: id)
        let status = try await router.connection.call(LifecycleInterface.list, on: RouterService.object, Empty())
        #expect(status.first { $0.id == id }?.state == .known(.active))
    }

    @Test func routerIsAnApplicationOfTheDesktop() async throws {
        let router = try await routerWithHandler()
        defer { router.stop() }
        let launch = try await router.tool("gapplication", "launch", "org.openurl.Router1", url)
        #expect(launch.status == 0, "\(launch.errors)")
        #expect(try router.log(of: id).contains("open \(url)"))
        let call = [
            "gdbus", "call", "--session", "--dest", "org.openurl.Router1", "--object-path", "/org/openurl/Router1",
            "--method", "org.freedesktop.Application.Open",
        ]
        let opened = try await router.tool(call + ["['todo:3']", "{}"])
        #expect(opened.output == "()\n")
        let failed = try await router.tool(call + ["['nobody:1', 'todo:4']", "{}"])
        #expect(failed.status != 0)
        #expect(failed.errors.contains("org.openurl.Error.NoHandler"), "\(failed.errors)")
        // The router opens the URLs after a failed URL too.
        #expect(try router.log(of: id).contains("open todo:4"))
    }

    @Test func unregistrationRemovesTheFilesOfTheRegistration() async throws {
        let router = try await RouterProcess { directory in
            let staging = directory.appending(path: "staging")
            try RouterProcess.write(id, [], in: staging)
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let cache = applications.appending(path: "mimeinfo.cache")
            let text = "[MIME Cache]\nx-scheme-handler/other=other.desktop;\n"
            try text.write(to: cache, atomically: true, encoding: .utf8)
        }
        defer { router.stop() }
        let data = router.bus.directory.appending(path: "XDG_DATA_HOME")
        // The router answers a reload only after it has published the system's example.
        _ = try await router.connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        let before = try router.files(below: data)
        let manifest = router.bus.directory.appending(path: "staging/XDG_DATA_HOME/openurl/handlers/\(id).plist").path
        let registered = try await router.openurl("register", manifest)
        #expect(registered.status == 0, "\(registered.errors)")
        #expect(FileManager.default.fileExists(atPath: router.desktopEntry(id).path))
        #expect(try await router.tool("xdg-open", url).status == 0)
        // The second registration follows before the router has seen its own files of the first registration.
        _ = try await router.connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        #expect(try await router.openurl("unregister", id).status == 0)
        #expect(try await router.openurl("register", manifest).status == 0)
        #expect(try await router.tool("xdg-open", url).status == 0)
        #expect(try await router.openurl("unregister", id).status == 0)
        let after = try router.files(below: data)
        #expect(after == before, "\(before) became \(after)")
    }

    @Test func entryAndServiceOfAnotherProgramStay() async throws {
        let entry = "[Desktop Entry]\nType=Application\nName=Mine\nExec=true\n"
        let router = try await RouterProcess([id: []]) { directory in
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let file = applications.appending(path: "\(id).desktop")
            try entry.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { router.stop() }
        let manifest = router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(id).plist").path
        let registered = try await router.openurl("register", manifest)
        #expect(registered.status == 0, "\(registered.errors)")
        #expect(registered.errors.contains("\(id).desktop: is another program's entry"), "\(registered.errors)")
        #expect(try String(contentsOf: router.desktopEntry(id), encoding: .utf8) == entry)
        // The router retries the failed publication with each change. The failure does not affect the registration of
        // another handler.
        let other = "com.example.other"
        let staging = router.bus.directory.appending(path: "staging")
        try RouterProcess.write(other, [], in: staging)
        let file = staging.appending(path: "XDG_DATA_HOME/openurl/handlers/\(other).plist").path
        let second = try await router.openurl("register", file)
        #expect(second.status == 0)
        #expect(!second.errors.contains("\(id).desktop"), "\(second.errors)")
        let chosen = try await router.openurl("default", "todo", id)
        #expect(chosen.status != 0)
        #expect(chosen.errors.contains("has no desktop entry that can be chosen"), "\(chosen.errors)")
    }
}

extension RouterProcess {
    /// Runs a program on the router's bus. `DISPLAY` is set for programs that need a display.
    func tool(_ arguments: String...) async throws -> CommandRun {
        try await tool(arguments)
    }

    func tool(_ arguments: [String]) async throws -> CommandRun {
        let environment = bus.environment.merging(["DISPLAY": ":0"]) { $1 }
        let bounded = ["timeout", "--signal=KILL", "60"] + arguments
        return try await CommandRun(URL(filePath: "/usr/bin/env"), bounded, environment, in: bus.directory)
    }

    func desktopEntry(_ id: String) -> URL {
        bus.directory.appending(path: "XDG_DATA_HOME/applications/\(id).desktop")
    }

    /// Returns after the router has published a handler that existed when the router started. The router answers a
    /// reload only after the publication.
    func waitUntilPublished(_ id: String) async throws {
        _ = try await connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        try #require(FileManager.default.fileExists(atPath: desktopEntry(id).path))
    }

    /// Returns the contents of all files below a directory, except the registry's own files.
    func files(below directory: URL) throws -> [String: String] {
        var files: [String: String] = [:]
        let enumerator = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: [.isRegularFileKey])
        while let file = enumerator?.nextObject() as? URL {
            // A file that is being written has a name with a dot until it replaces the earlier file.
            if file.lastPathComponent.hasPrefix(".") { continue }
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            files[file.lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
        }
        return files
    }
}
