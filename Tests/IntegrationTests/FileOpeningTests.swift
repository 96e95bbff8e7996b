import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Files go to the handlers of their types, with real programs.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(
        if: FileManager.default.fileExists(atPath: "/usr/share/mime/mime.cache"),
        "there is no shared MIME database"
    )
)
struct FileOpeningTests {
    private let id = "com.example.viewer"

    /// Returns a router with a handler for PNG images and lists, and an application for all text.
    private func router(_ prepare: (URL) throws -> Void = { _ in }) async throws -> RouterProcess {
        try await RouterProcess { directory in
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending(path: "XDG_DATA_DIRS/mime").path,
                withDestinationPath: "/usr/share/mime"
            )
            let types: [[String: Any]] = [
                ["LSItemContentTypes": ["public.png", "public.folder"]], ["CFBundleTypeExtensions": ["todo"]],
            ]
            try RouterProcess.write(id, [], in: directory, extra: ["CFBundleDocumentTypes": types])
            try FileManager.default.createDirectory(
                at: directory.appending(path: "XDG_DATA_HOME/applications"),
                withIntermediateDirectories: true
            )
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=editor
                Exec=sh -c "printf '%%s\\\\n' \"$1\" >>\(directory.path)/editor.log" sh %f
                MimeType=text/plain;image/gif;

                """
            let file = directory.appending(path: "XDG_DATA_HOME/applications/editor.desktop")
            try entry.write(to: file, atomically: true, encoding: .utf8)
            try prepare(directory)
        }
    }

    private func write(_ name: String, _ text: String = "x", in router: RouterProcess) throws -> String {
        let file = router.bus.directory.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    private func opened(_ router: RouterProcess) throws -> [String] {
        try router.log(of: id).filter { $0.hasPrefix("open ") }.map { String($0.dropFirst(5)) }
    }

    @Test func commandOpensFilesByTheirTypes() async throws {
        let router = try await router()
        defer { router.stop() }
        let base = "file://\(router.bus.directory.path)"
        for name in ["a b.png", "x:y.png", "-rf.png", "list.todo"] {
            let run = try await router.openurl("--", try write(name, in: router))
            #expect(run.status == 0, "\(run.errors)")
        }
        #expect(
            try opened(router) == ["a%20b.png", "x%3Ay.png", "-rf.png", "list.todo"].map { "\(base)/\($0)" }
        )
        // A directory, and a URL that a program wrote in its own way.
        #expect(try await router.openurl(router.bus.directory.path).status == 0)
        #expect(try await router.openurl("file:///missing/a.png").status == 0)
        #expect(try opened(router).suffix(2) == [base, "file:///missing/a.png"])
        // The application gets a path.
        let text = try write("note", "hello\n", in: router)
        let run = try await router.openurl("--json", text)
        #expect(run.output.contains(#""handler":"editor.desktop""#), "\(run.errors)")
        #expect(try String(contentsOfFile: "\(router.bus.directory.path)/editor.log", encoding: .utf8) == "\(text)\n")
        #expect(try await router.openurl("\(router.bus.directory.path)/missing").status == 66)
        #expect(try await router.openurl("file:///dev/null").status == 3)
    }

    @Test func explanationAndChoiceAreThoseOfSchemes() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(id)
        let file = try write("a.png", in: router)
        let explanation = try await router.openurl("explain", "--json", file)
        #expect(explanation.status == 0)
        #expect(explanation.output.contains(#""content-type":"image/png","handler":"\#(id)""#), "\(explanation.output)")
        #expect(try await router.openurl("can-open", file).status == 0)
        #expect(try await router.openurl("default", "image/png").output == "\(id)\n")
        #expect(try await router.openurl("default", "text/plain").output == "editor.desktop\n")
        // Python is text, too, and no claim is narrower.
        #expect(try await router.openurl("default", "text/x-python").output == "editor.desktop\n")
        #expect(try await router.openurl("default", "image/gif", id).status == 64)
        #expect(try await router.openurl("default", "image/png", "editor.desktop").status == 64)
        #expect(try await router.openurl("default", "inode/directory", id).output == "\(id)\n")
        let choices = try String(
            contentsOfFile: "\(router.bus.directory.path)/XDG_CONFIG_HOME/mimeapps.list",
            encoding: .utf8
        )
        #expect(choices.contains("inode/directory=\(id).desktop;"))
    }

    @Test func desktopReachesTheHandlerForItsFiles() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(id)
        #expect(try await router.tool("xdg-mime", "query", "default", "image/png").output == "\(id).desktop\n")
        #expect(try await router.tool("gio", "mime", "image/png").output.contains("\(id).desktop"))
        let check = try await router.tool("desktop-file-validate", "--no-hints", router.desktopEntry(id).path)
        #expect(check.output == "" && check.status == 0)
        let file = try write("a b.png", in: router)
        // Outside a desktop, xdg-open looks at the contents.
        try Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D] + "IHDR".utf8).write(
            to: URL(filePath: file)
        )
        let run = try await router.tool("xdg-open", file)
        #expect(run.status == 0, "\(run.errors)")
        _ = try await router.tool("gio", "open", file)
        // The handler gets a later URL after the earlier one.
        _ = try await router.open("viewer:later")
        let url = "file://\(router.bus.directory.path)/a%20b.png"
        #expect(try opened(router).first == url)
        #expect(try opened(router).allSatisfy { $0 == url || $0 == "viewer:later" })
    }

    @Test func newHandlerTakesNoTypesAway() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(id)
        let other = "com.example.other"
        let elsewhere = router.bus.directory.appending(path: "elsewhere")
        let types = ["CFBundleDocumentTypes": [["LSItemContentTypes": ["public.png", "com.compuserve.gif"]]]]
        try RouterProcess.write(other, [], in: elsewhere, extra: types)
        let manifest = elsewhere.appending(path: "XDG_DATA_HOME/openurl/handlers/\(other).plist").path
        let run = try await router.openurl("register", manifest)
        #expect(run.status == 0)
        #expect(run.errors.contains("files of image/png go to \(id); 'openurl default image/png \(other)' chooses"))
        #expect(run.errors.contains("files of image/gif go to editor.desktop"))
        #expect(try await router.openurl("default", "image/gif").output == "editor.desktop\n")
        #expect(try await router.openurl("default", "image/gif", other).output == "\(other)\n")
    }

    @Test func queuedFileGoesToTheHandlerOfItsType() async throws {
        let router = try await router()
        defer { router.stop() }
        let file = try write("a.png", in: router)
        let changes = try await router.queueChanges()
        var queued = OpenOptions()
        queued.isQueued = true
        let result = try await router.open("file://\(file)", queued)
        #expect(result.handler == id)
        try await changes.wait(for: "delivered", of: result.id ?? "")
        #expect(try opened(router) == ["file://\(file)"])
    }
}
