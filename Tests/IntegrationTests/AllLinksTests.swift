import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// openurl as the desktop's default for web links, which only the user makes it.
@Suite(.timeLimit(.minutes(10))) struct AllLinksTests {
    private static let list = "XDG_CONFIG_HOME/mimeapps.list"

    private static func write(_ text: String, to name: String, in directory: URL) throws {
        let file = directory.appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    /// Starts a router whose entry is installed, beside two browsers.
    private func router(_ list: String?, rules: String = "") async throws -> RouterProcess {
        try await RouterProcess { directory in
            let entry = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Packaging/org.openurl.Router1.desktop.in").standardizedFileURL
            let text = try String(contentsOf: entry, encoding: .utf8)
                .replacing("@BINDIR@", with: RouterProcess.products.path)
            try Self.write(text, to: "XDG_DATA_DIRS/applications/org.openurl.Router1.desktop", in: directory)
            for id in ["a", "b"] {
                let command = "sh -c \"echo '\(id)' \\\\\"\\\\$0\\\\\" >>'\(directory.path)/browsers.log'\" %u"
                try Self.write(
                    """
                    [Desktop Entry]
                    Type=Application
                    Name=\(id)
                    Exec=\(command)
                    MimeType=x-scheme-handler/http;x-scheme-handler/https;

                    """,
                    to: "XDG_DATA_HOME/applications/\(id).desktop",
                    in: directory
                )
            }
            if let list { try Self.write(list, to: Self.list, in: directory) }
            try Self.write(rules, to: "XDG_CONFIG_HOME/openurl/links.conf", in: directory)
        }
    }

    private func text(_ router: RouterProcess) throws -> String? {
        let file = router.bus.directory.appending(path: Self.list)
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try String(contentsOf: file, encoding: .utf8)
    }

    private static let mime = "x-scheme-handler/https"

    @Test func nothingIsTakenUninvited() async throws {
        let router = try await router(nil)
        defer { router.stop() }
        #expect(try await router.reload() == [:])
        let before = try await router.tool("gio", "mime", Self.mime).output
        #expect(before.contains("a.desktop") && !before.contains("org.openurl"), "\(before)")
        #expect(try text(router) == nil)
    }

    @Test(arguments: [
        nil, "", "# mine\n[Default Applications]\nx-scheme-handler/https=b.desktop;\ntext/plain=x.desktop",
        "[Added Associations]\nx-scheme-handler/http=b.desktop;\r\n\n[Default Applications]\n",
    ]) func choiceIsTakenBackByteForByte(_ list: String?) async throws {
        let router = try await router(list)
        defer { router.stop() }
        // The router answers after it has written the desktop's cache, in which GLib finds the browsers.
        #expect(try await router.reload() == [:])
        let before = try await router.tool("gio", "mime", Self.mime).output
        for _ in 1...2 {
            let taken = try await router.openurl("default", "--all-links")
            #expect(taken.status == 0, "\(taken)")
            let expected = list?.contains("https=b.desktop") == true ? "b.desktop" : "a.desktop"
            #expect(taken.output.contains(expected), "\(taken)")
        }
        for scheme in ["http", "https"] {
            let type = "x-scheme-handler/\(scheme)"
            let query = try await router.tool("xdg-mime", "query", "default", type)
            #expect(query.output == "org.openurl.Router1.desktop\n")
            let gio = try await router.tool("gio", "mime", type).output
            #expect(gio.contains(": org.openurl.Router1.desktop\n") || gio.contains("org.openurl.Router1.desktop\n"))
        }
        let undone = try await router.openurl("default", "--all-links", "--undo")
        #expect(undone.status == 0, "\(undone)")
        #expect(try text(router) == list)
        let after = try await router.tool("gio", "mime", Self.mime).output
        #expect(after == before, "\(after) instead of \(before)")
        #expect(try await router.openurl("default", "--all-links", "--undo").status == 1)
    }

    @Test func laterChangesSurviveTheUndoing() async throws {
        let router = try await router("[Default Applications]\nx-scheme-handler/https=b.desktop;\n")
        defer { router.stop() }
        #expect(try await router.openurl("default", "--all-links").status == 0)
        #expect(try await router.tool("xdg-mime", "default", "a.desktop", "text/plain").status == 0)
        #expect(try await router.openurl("default", "--all-links", "--undo").status == 0)
        let text = try #require(try text(router))
        #expect(text.contains("text/plain=a.desktop"))
        #expect(text.contains("x-scheme-handler/https=b.desktop;\n"))
        #expect(!text.contains("org.openurl") && !text.contains("x-scheme-handler/http="), "\(text)")
    }

    /// The first call ended before it could keep what was there.
    @Test func interruptedChoiceCanBeTakenBack() async throws {
        let router = try await router("[Default Applications]\ntext/plain=x.desktop;\n")
        defer { router.stop() }
        #expect(try await router.openurl("default", "--all-links").status == 0)
        let state = router.bus.directory.appending(path: "XDG_STATE_HOME/openurl")
        for name in ["mimeapps.before", "mimeapps.after"] {
            _ = unlink(state.appending(path: name).path)
        }
        #expect(try await router.openurl("default", "--all-links", "--undo").status == 1)
        let again = try await router.openurl("default", "--all-links", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(again.output.utf8)) as? [String: Any]
        #expect(object?.keys.sorted() == ["browser"], "\(again)")
        #expect(try await router.openurl("default", "--all-links", "--undo").status == 0)
        let text = try #require(try text(router))
        #expect(text.contains("text/plain=x.desktop") && !text.contains("org.openurl"), "\(text)")
    }

    /// A program of GLib calls the router on its own connection.
    @Test func routerKnowsTheProgramOfAGLibLink() async throws {
        let program = try #require(
            realpath("/usr/bin/python3", nil).map { path in
                defer { free(path) }
                return String(cString: path)
            }
        )
        let router = try await router(nil, rules: "open * with b from program:\(program)\n")
        defer { router.stop() }
        #expect(try await router.openurl("default", "--all-links").status == 0)
        // The browser that was the default opens what no rule mentions.
        try await eventually(await router.open("https://x.example/1").handler) { $0 == "a.desktop" }
        let code = """
            from gi.repository import Gio, GLib
            loop = GLib.MainLoop()
            def ended(source, result):
                Gio.AppInfo.launch_default_for_uri_finish(result)
                loop.quit()
            Gio.AppInfo.launch_default_for_uri_async("https://x.example/2", None, None, ended)
            loop.run()
            """
        let run = try await router.tool("/usr/bin/python3", "-c", code)
        #expect(run.status == 0, "\(run)")
        try await eventually(try router.browsers()) { $0.contains("b https://x.example/2") }
        #expect(try router.browsers() == ["a https://x.example/1", "b https://x.example/2"])
    }

    @Test func linksListsRulesProfilesAndProblems() async throws {
        let router = try await router(nil, rules: "open * with a\nopen * with nobody\nrubbish\n")
        defer { router.stop() }
        let list = try await router.openurl("links")
        #expect(list.output.contains("links.conf:1  open * with a\n"), "\(list)")
        #expect(list.output.contains("links.conf:2: there is no program called nobody"), "\(list)")
        #expect(list.output.contains("links.conf:3: begins with 'rubbish'"), "\(list)")
        let json = try await router.openurl("links", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        #expect((object?["rules"] as? [Any])?.count == 2)
        #expect((object?["browsers"] as? [[String: Any]])?.map { $0["id"] as? String } == ["a.desktop", "b.desktop"])
        #expect((object?["defaults"] as? [String: String])?["https"] == "a.desktop")
    }

    @Test func missingChooserIsListedAsAProblem() async throws {
        let router = try await router(nil, rules: "open * with chooser\n")
        defer { router.stop() }
        // A copy of the program has no chooser beside it.
        let copy = router.bus.directory.appending(path: "openurld-copy")
        try FileManager.default.copyItem(at: RouterProcess.products.appending(path: "openurld"), to: copy)
        let list = try await CommandRun(copy, ["--links"], router.bus.environment, in: router.bus.directory)
        #expect(list.output.contains("links.conf:1: openurl-chooser is not installed"), "\(list)")
    }

    @Test func doctorNoticesThatLinksWereTakenAway() async throws {
        let router = try await router(nil)
        defer { router.stop() }
        #expect(try await router.openurl("default", "--all-links").status == 0)
        let sound = try await router.openurl("doctor", "https://x.example/")
        #expect(!sound.output.contains("links-taken"), "\(sound)")
        // The user has chosen that openurl gets the links although it is no browser.
        #expect(!sound.output.contains("web\torg.openurl"), "\(sound)")
        #expect(try await router.tool("gio", "mime", Self.mime, "b.desktop").status == 0)
        let taken = try await router.openurl("doctor")
        #expect(taken.output.contains("warn\tlinks-taken\thttps:"), "\(taken)")
        #expect(taken.output.contains("openurl default --all-links"), "\(taken)")
    }
}
