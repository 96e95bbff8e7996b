import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Desktop

@Suite struct WritingTests {
    private let tree: TemporaryTree
    private let file: MimeAssociationsFile
    private let type = "x-scheme-handler/foo"
    private let a: DesktopFileID
    private let b: DesktopFileID

    init() throws {
        tree = try TemporaryTree()
        file = try #require(MimeAssociationsFile(in: tree.directories))
        a = try #require(DesktopFileID(rawValue: "a.desktop"))
        b = try #require(DesktopFileID(rawValue: "b.desktop"))
    }

    private func mode(_ name: String) throws -> mode_t {
        try status(of: "\(tree.path)/\(name)", followingLinks: false).st_mode & 0o7777
    }

    /// Returns the names in a directory, including names that start with a dot.
    private func names(_ directory: String) throws -> [String] {
        try run(["ls", "-A", "\(tree.path)/\(directory)"]).split(separator: "\n").map(String.init)
    }

    @Test func missingFileIsCreatedWithItsDirectory() throws {
        try file.setDefault(a, for: ["X-Scheme-Handler/Foo"])
        #expect(
            try tree.read("config/mimeapps.list") == """
                [Default Applications]
                x-scheme-handler/foo=a.desktop;

                [Added Associations]
                x-scheme-handler/foo=a.desktop;

                """
        )
        #expect(try mode("config") == 0o700)
        #expect(try names("config") == ["mimeapps.list"])
    }

    @Test func otherLinesStayUnchanged() throws {
        try tree.write(
            """
            # mine
            junk
            [Added Associations]
              text/plain = b.desktop;
            x-scheme-handler/foo=b.desktop\r

            [X]
            x-scheme-handler/foo=x
            [Default Applications]
            x-scheme-handler/FOO=b.desktop
            # between
            x-scheme-handler/foo=c.desktop

            [Removed Associations]
            x-scheme-handler/foo=c.desktop;a.desktop;
            \u{E9}=\u{E9}
            """,
            to: "config/mimeapps.list"
        )
        try file.setDefault(a, for: [type])
        let changed = """
            # mine
            junk
            [Added Associations]
              text/plain = b.desktop;
            x-scheme-handler/foo=b.desktop;a.desktop;

            [X]
            x-scheme-handler/foo=x
            [Default Applications]
            # between
            x-scheme-handler/foo=a.desktop;

            [Removed Associations]
            x-scheme-handler/foo=c.desktop;
            \u{E9}=\u{E9}
            """
        #expect(try tree.read("config/mimeapps.list") == changed)
        try file.removeDefault(for: "x-scheme-handler/FOO")
        let removed = changed.replacing("x-scheme-handler/foo=a.desktop;\n", with: "")
            .replacing("=b.desktop;a.desktop;", with: "=b.desktop;")
        #expect(try tree.read("config/mimeapps.list") == removed)
        // A second removal changes nothing.
        try file.removeDefault(for: type)
        #expect(try tree.read("config/mimeapps.list") == removed)
    }

    @Test func newLineFollowsTheLastOfItsGroup() throws {
        try tree.write("[Default Applications]\na/b=c.desktop\n\n\n[Z]", to: "config/mimeapps.list")
        try file.setDefault(a, for: [type])
        #expect(
            try tree.read("config/mimeapps.list") == """
                [Default Applications]
                a/b=c.desktop
                x-scheme-handler/foo=a.desktop;


                [Z]

                [Added Associations]
                x-scheme-handler/foo=a.desktop;

                """
        )
        try tree.write("[Default Applications]", to: "config/mimeapps.list")
        try file.setDefault(a, for: [type])
        #expect(
            try tree.read("config/mimeapps.list").hasPrefix("[Default Applications]\nx-scheme-handler/foo=a.desktop;\n")
        )
    }

    /// Returns the number of lines that equal the given line.
    private func count(_ line: String, in text: String) -> Int {
        text.utf8.split(separator: UInt8(ascii: "\n")).count { $0.elementsEqual(line.utf8) }
    }

    /// Makes 200 random changes to random files. Each result is read back, and in the end by GLib too.
    @Test func roundTripKeepsTheDefaults() throws {
        var generator = SeededGenerator(seed: 0x3117)
        let lines = [
            "", "# c", "junk", "[Default Applications]", "[Added Associations]", "[Removed Associations]", "[X]",
            "x-scheme-handler/foo=a.desktop", "x-scheme-handler/foo=b.desktop;a.desktop;",
            "x-scheme-handler/bar=b.desktop;",
            " x-scheme-handler/foo = b.desktop", "x-scheme-handler/Foo=b.desktop\r",
        ]
        for _ in 0..<200 {
            let text = (0..<Int.random(in: 0...14, using: &generator))
                .map { _ in lines.randomElement(using: &generator)! }.joined(separator: "\n")
            try tree.write(text, to: "config/mimeapps.list")
            let before = MimeAssociations(loading: tree.directories)
            try file.setDefault(a, for: [type])
            let after = MimeAssociations(loading: tree.directories)
            #expect(after.defaults(for: type) == [a], "\(text)")
            #expect(!after.isRemoved(a, from: type), "\(text)")
            #expect(
                after.defaults(for: "x-scheme-handler/bar") == before.defaults(for: "x-scheme-handler/bar"),
                "\(text)"
            )
            for line in ["# c", "junk", "[X]"] {
                #expect(try count(line, in: tree.read("config/mimeapps.list")) == count(line, in: text))
            }
            let written = try tree.read("config/mimeapps.list")
            try file.setDefault(a, for: [type])
            #expect(try tree.read("config/mimeapps.list") == written)
            try file.removeDefault(for: type)
            #expect(MimeAssociations(loading: tree.directories).defaults(for: type) == [])
        }
    }

    @Test func defaultsAreSharedWithTheDesktop() throws {
        try tree.writeEntry("home/applications/a.desktop")
        try tree.writeEntry("home/applications/b.desktop", claiming: type)
        var cache = MimeInfoCache(directory: "\(tree.path)/home/applications")
        try cache.rebuild()
        try file.setDefault(a, for: [type])
        let gio = try run(["gio", "mime", type], environment: tree.environment)
        #expect(gio.split(separator: "\n").first?.hasSuffix(": a.desktop") == true, "\(gio)")
        let xdg = try run(["xdg-mime", "query", "default", type], environment: tree.environment)
        #expect(xdg == "a.desktop\n")

        _ = try run(["gio", "mime", type, "b.desktop"], environment: tree.environment)
        let entries = DesktopEntries(loading: tree.directories)
        func ours() -> DesktopFileID? {
            MimeAssociations(loading: tree.directories).defaultApplication(for: type, in: entries)?.id
        }
        #expect(ours() == b)
        _ = try run(["xdg-mime", "default", "a.desktop", type], environment: tree.environment)
        #expect(ours() == a)
        try file.removeDefault(for: type)
        #expect(ours() == b, "what was chosen before is associated with the type still")
    }

    @Test func linksAreFollowedAndModesAreKept() throws {
        let target = try tree.write("", to: "dotfiles/list", mode: 0o600)
        #expect(chmod(target, 0o640) == 0)
        #expect(symlink(target, try tree.makeParents(of: "config/mimeapps.list")) == 0)
        try file.setDefault(a, for: [type])
        #expect(try status(of: "\(tree.path)/config/mimeapps.list", followingLinks: false).st_mode & S_IFMT == S_IFLNK)
        #expect(try tree.read("dotfiles/list").contains("a.desktop"))
        #expect(try mode("dotfiles/list") == 0o640)
        #expect(try names("dotfiles") == ["list"])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a file of another user"))
    func linkToAFileOfAnotherUserIsNotFollowed() throws {
        let target = try tree.write("", to: "dotfiles/list", mode: 0o600)
        #expect(chown(target, 1234, 1234) == 0)
        #expect(symlink(target, try tree.makeParents(of: "config/mimeapps.list")) == 0)
        #expect(throws: FileWriteError(file.path, "is a link to a file of another user")) {
            try file.setDefault(a, for: [type])
        }
        #expect(try tree.read("dotfiles/list").isEmpty)
    }

    /// Only the list that users edit themselves may be a link.
    @Test func linksInThePlacesOfGeneratedFilesStay() throws {
        let target = try tree.write("mine\n", to: "elsewhere/file", mode: 0o600)
        let id = try #require(DesktopFileID(rawValue: "com.acme.X.desktop"))
        let applications = "\(tree.path)/home/applications"
        for name in ["com.acme.X.desktop", "mimeinfo.cache", "com.acme.X.service"] {
            #expect(symlink(target, try tree.makeParents(of: "home/applications/\(name)")) == 0)
        }
        func expectRefusal(_ name: String, _ body: () throws -> Void) {
            let reason = "is a link, which is not followed; remove it"
            #expect(throws: FileWriteError("\(applications)/\(name)", reason)) { try body() }
        }
        expectRefusal("com.acme.X.desktop") {
            try DesktopEntryFile(name: "X", command: ["/bin/x"]).write(as: id, in: applications)
        }
        expectRefusal("com.acme.X.service") {
            try #require(DBusServiceFile(name: "com.acme.X", command: ["/bin/x"])).write(in: applications)
        }
        expectRefusal("mimeinfo.cache") {
            var cache = MimeInfoCache(directory: applications)
            try cache.rebuild()
        }
        try DesktopEntryFile.remove(id, in: applications)
        #expect(try DBusServiceFile.isMarked("com.acme.X", in: applications) == false)
        #expect(try names("home/applications").count == 3)
        #expect(try tree.read("elsewhere/file") == "mine\n")
    }

    @Test func unchangedFileIsNotWritten() throws {
        try file.setDefault(a, for: [type])
        let before = try status(of: file.path, followingLinks: false).st_ino
        try file.setDefault(a, for: [type])
        #expect(try status(of: file.path, followingLinks: false).st_ino == before)
    }

    @Test func unwritableFileIsKept() throws {
        func reason(_ text: String) -> FileWriteError { FileWriteError(file.path, text) }
        #expect(throws: reason("cannot contain 'x', which is not a MIME type")) { try file.setDefault(a, for: ["x"]) }
        let place = try tree.makeParents(of: "config/mimeapps.list")

        #expect(symlink("/nonexistent/x", place) == 0)
        #expect(throws: reason("is a link to something that does not exist")) { try file.setDefault(a, for: [type]) }
        #expect(unlink(place) == 0 && symlink("mimeapps.list", place) == 0)
        #expect(throws: reason("is part of a cycle of links")) { try file.setDefault(a, for: [type]) }
        #expect(unlink(place) == 0 && mkfifo(place, 0o600) == 0)
        #expect(throws: reason("is a FIFO, not a file")) { try file.setDefault(a, for: [type]) }
        #expect(unlink(place) == 0 && mkdir(place, 0o700) == 0)
        #expect(throws: reason("is a directory, not a file")) { try file.setDefault(a, for: [type]) }
        #expect(rmdir(place) == 0)

        let bad = "[Added Associations]\nx-scheme-handler/foo=\\x\n"
        try tree.write(bad, to: "config/mimeapps.list")
        #expect(throws: FileWriteError.self) { try file.setDefault(a, for: [type]) }
        #expect(try tree.read("config/mimeapps.list") == bad)
        #expect(try names("config") == ["mimeapps.list"])
    }

    @Test func fileInPlaceOfADirectoryIsAnError() throws {
        try tree.write("", to: "config")
        let error = #expect(throws: FileWriteError.self) { try file.setDefault(a, for: [type]) }
        #expect(error?.reason.isEmpty == false)
    }

    @Test func writtenEntriesAreValidAndKeepTheirValues() throws {
        var entry = try DesktopEntryFile(
            name: " Name\nwith\t\\;\u{1B}s",
            command: ["/opt/a b/openurl", "--"],
            urls: .several
        )
        entry.localizedNames = ["de": "Übel", "pt_BR": "x", "bad]\n": "y"]
        entry.icon = "icon"
        entry.mimeTypes = [type, "x-scheme-handler/no/", "text/plain"]
        entry.isDBusActivatable = true
        entry.isHiddenFromMenus = true
        entry.runsInTerminal = true
        entry.handler = "com.acme.todolist"
        let id = try #require(DesktopFileID(rawValue: "com.acme.todolist.desktop"))
        let directory = "\(tree.path)/home/applications"
        try entry.write(as: id, in: directory)
        #expect(try run(["desktop-file-validate", "\(directory)/\(id)"]) == "")
        #expect(try mode("home/applications/\(id)") & 0o600 == 0o600)

        let file = DesktopFile(reading: .init(id: id, file: "\(directory)/\(id)", precedence: 0), languages: ["de"])
        guard case .application(let read) = file.content else {
            Issue.record("\(file.diagnostics)")
            return
        }
        #expect(file.diagnostics.isEmpty)
        #expect(read.name == "Übel" && read.icon == "icon" && read.handler == "com.acme.todolist")
        #expect(read.mimeTypes == [type, "text/plain"])
        #expect(read.busName == "com.acme.todolist" && read.isHiddenFromMenus && read.runsInTerminal)
        #expect(
            read.command?.arguments(opening: ["a:", "b:"], name: "", icon: nil, file: "")
                == [["/opt/a b/openurl", "--", "a:", "b:"]]
        )
        #expect(entry.text.contains("\nName=\\sName\\nwith\\t\\\\;s\n"))
        #expect(!entry.text.contains("bad"))

        try DesktopEntryFile.remove(id, in: directory)
        try DesktopEntryFile.remove(id, in: directory)
        #expect(try names("home/applications").isEmpty)
    }

    @Test func unrepresentableCommandsAreRefused() {
        #expect(throws: ExecCommand.ParseError.empty) { try DesktopEntryFile(name: "x", command: [], urls: nil) }
        #expect(throws: ExecCommand.ParseError.program("contains '='")) {
            try DesktopEntryFile(name: "x", command: ["/a=b"])
        }
        #expect(throws: ExecCommand.ParseError.program("is a relative path")) {
            try DesktopEntryFile(name: "x", command: ["a/b"])
        }
    }

    @Test func serviceFilesAreValid() throws {
        let service = try #require(
            DBusServiceFile(name: "com.acme.X", command: ["/opt/a b/x", "$y", "%", ""], systemdUnit: "x.service")
        )
        #expect(
            service.text == """
                [D-BUS Service]
                Name=com.acme.X
                Exec="/opt/a b/x" "\\\\$y" % ""
                SystemdService=x.service

                """
        )
        let directory = "\(tree.path)/home/dbus-1/services"
        try service.write(in: directory)
        #expect(try names("home/dbus-1/services") == ["com.acme.X.service"])
        let script = try pythonProgram("service_command")
        let read = try run(["/usr/bin/python3", "-c", script, "\(directory)/com.acme.X.service"])
        #expect(read == "['/opt/a b/x', '$y', '%', '']\n")
        try DBusServiceFile.remove("com.acme.X", in: directory)
        try DBusServiceFile.remove("../../x", in: directory)
        #expect(try names("home/dbus-1/services").isEmpty)

        #expect(DBusServiceFile(name: "x", command: ["/a"]) == nil)
        #expect(DBusServiceFile(name: "a.b", command: ["a"]) == nil)
        #expect(DBusServiceFile(name: "a.b", command: []) == nil)
    }
}
