import Glibc
import Testing
import UserFiles

@testable import Desktop

@Suite struct EntriesTests {
    private let tree: TemporaryTree

    init() throws {
        tree = try TemporaryTree()
    }

    private func load() -> DesktopEntries { DesktopEntries(loading: tree.directories) }

    private func ids(_ entries: DesktopEntries) -> [String] { entries.entries.keys.sorted().map(\.rawValue) }

    @Test func missingDirectoriesHaveNoEntries() {
        let entries = load()
        #expect(entries.entries.isEmpty && entries.diagnostics.isEmpty)
    }

    @Test func firstDirectoryWinsAndSubdirectoriesArePartOfTheID() throws {
        try tree.writeEntry("data1/applications/a.desktop", claiming: "x-scheme-handler/one")
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/two")
        try tree.writeEntry("data2/applications/kde/sub/b.desktop")
        try tree.writeEntry("data2/applications/.hidden.desktop")
        try tree.writeEntry("data2/applications/c.txt")
        let entries = load()
        #expect(ids(entries) == ["a.desktop", "kde-sub-b.desktop"])
        #expect(entries.claimants(of: "x-scheme-handler/two").map(\.precedence) == [0])
        #expect(entries.claimants(of: "x-scheme-handler/one").isEmpty)
        #expect(entries.diagnostics.isEmpty)
    }

    @Test func hiddenEntryHidesLaterDirectories() throws {
        try tree.write("[Desktop Entry]\nHidden=true\n", to: "data1/applications/a.desktop")
        try tree.writeEntry("data2/applications/a.desktop", claiming: "x-scheme-handler/x")
        #expect(load().entries.isEmpty)
        // A hidden entry does not hide an entry of a directory with a higher precedence.
        try tree.writeEntry("home/applications/a.desktop")
        #expect(ids(load()) == ["a.desktop"])
    }

    @Test func noDisplayAndOnlyShowInAffectOnlyMenus() throws {
        try tree.writeEntry(
            "home/applications/a.desktop",
            claiming: "x-scheme-handler/x",
            "NoDisplay=true",
            "OnlyShowIn=Q;"
        )
        #expect(load().claimants(of: "X-Scheme-Handler/X").count == 1)
    }

    @Test func ownEntriesAreListedAndClaimNothing() throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/x", "X-OpenURL-Handler=a")
        try tree.writeEntry("home/applications/b.desktop", claiming: "x-scheme-handler/x")
        #expect(ids(load()) == ["a.desktop", "b.desktop"])
        #expect(load().claimants(of: "x-scheme-handler/x").map(\.id.rawValue) == ["b.desktop"])
    }

    @Test func entriesRequireTheirPrograms() throws {
        try tree.write("x", to: "bin/data")
        try tree.write("x", to: "bin/directory/x")
        for (name, line) in [
            ("a", "TryExec=installed"), ("b", "TryExec=missing"), ("c", "TryExec=data"), ("d", "TryExec=directory"),
            ("e", "TryExec=bin/installed"), ("f", "TryExec=\(tree.path)/bin/installed"), ("g", "Exec=/none\\ x %u"),
        ] {
            try tree.writeEntry("home/applications/\(name).desktop", line)
        }
        let entries = load()
        #expect(ids(entries) == ["a.desktop", "f.desktop"])
        #expect(
            entries.diagnostics.map(tree.text).filter { !$0.contains("twice") } == [
                "home/applications/b.desktop: TryExec: is missing, which is not a program here, so the entry is ignored",
                "home/applications/c.desktop: TryExec: is data, which is not a program here, so the entry is ignored",
                "home/applications/d.desktop: TryExec: is directory, which is not a program here, so the entry is ignored",
                "home/applications/e.desktop: TryExec: is bin/installed, which is not a program here, so the entry is ignored",
                #"home/applications/g.desktop: Exec: contains an escape sequence other than \s, \n, \t, \r and \\"#,
                "home/applications/g.desktop: Exec: is /none x, which is not a program here, so the entry is ignored",
            ]
        )
    }

    /// The rule is GLib's: a half-written file in the user's directory does not hide the system's application.
    @Test func unusableEntryDoesNotHideALaterOne() throws {
        try tree.write("[Desktop Ent", to: "home/applications/a.desktop")
        try tree.writeEntry("data1/applications/a.desktop", claiming: "x-scheme-handler/x", "TryExec=missing")
        try tree.writeEntry("data2/applications/a.desktop", claiming: "x-scheme-handler/x")
        let entries = load()
        #expect(entries.entries.values.map(\.precedence) == [2])
        // The file still hides the claims of the other entries with its name.
        #expect(entries.claimants(of: "x-scheme-handler/x").isEmpty)
    }

    @Test func claimantsAreOrderedByDirectoryThenID() throws {
        for path in ["data1/applications/b", "data1/applications/a", "home/applications/z", "data2/applications/B"] {
            try tree.writeEntry("\(path).desktop", claiming: "x-scheme-handler/x;")
        }
        let ids = load().claimants(of: "x-scheme-handler/x").map(\.id.rawValue)
        #expect(ids == ["z.desktop", "a.desktop", "b.desktop", "B.desktop"])
    }

    @Test func duplicateIDInOneDirectoryIsADiagnostic() throws {
        try tree.writeEntry("home/applications/a/b.desktop")
        let first = try tree.writeEntry("home/applications/a-b.desktop")
        let entries = load()
        #expect(entries.entries.values.map(\.file) == [first])
        #expect(entries.diagnostics.map(tree.text).count == 1)
        #expect(entries.diagnostics[0].reason.hasPrefix("has the ID of "))
    }

    @Test func linksAreFollowed() throws {
        let file = try tree.writeEntry("elsewhere/a.desktop")
        #expect(symlink(file, try tree.makeParents(of: "home/applications/b.desktop")) == 0)
        #expect(symlink("\(tree.path)/elsewhere", "\(tree.path)/home/applications/sub") == 0)
        #expect(ids(load()) == ["b.desktop", "sub-a.desktop"])
    }

    @Test func hostileFilesAreDiagnosticsAndTheRestIsServed() throws {
        let place = "home/applications"
        try tree.writeEntry("\(place)/good.desktop", claiming: "x-scheme-handler/x")
        #expect(mkfifo("\(tree.path)/\(place)/fifo.desktop", 0o600) == 0)
        #expect(symlink("/dev/zero", "\(tree.path)/\(place)/device.desktop") == 0)
        #expect(symlink("cycle.desktop", "\(tree.path)/\(place)/cycle.desktop") == 0)
        #expect(symlink("gone", "\(tree.path)/\(place)/dangling.desktop") == 0)
        // These links lead back up the tree.
        #expect(symlink(".", "\(tree.path)/\(place)/here") == 0)
        #expect(symlink("..", "\(tree.path)/\(place)/up") == 0)
        let sparse = try tree.write([], to: "\(place)/sparse.desktop")
        #expect(truncate(sparse, 1 << 40) == 0)
        try tree.write([UInt8](repeating: 0x5B, count: DesktopFile.limit + 1), to: "\(place)/large.desktop")
        try tree.write([UInt8](repeating: 0, count: 4096), to: "\(place)/zeros.desktop")
        try tree.write(Array("[Desktop Entry]\nType=\u{E9}".utf8.dropLast()), to: "\(place)/latin.desktop")
        try tree.write("", to: "\(place)/dir.desktop/x")
        let control = try tree.write("", to: "\(place)/a\u{1B}.desktop")
        #expect(control.contains("\u{1B}"))

        let entries = load()
        #expect(entries.claimants(of: "x-scheme-handler/x").map(\.id.rawValue) == ["good.desktop"])
        let problems = Set(entries.diagnostics.map(tree.text))
        #expect(
            problems == [
                #"home/applications/a\u{1B}.desktop: has a name that is not a desktop file ID"#,
                "home/applications/cycle.desktop: is part of a cycle of links",
                "home/applications/dangling.desktop: does not exist",
                "home/applications/device.desktop: is a device, not a file",
                "home/applications/fifo.desktop: is a FIFO, not a file",
                "home/applications/large.desktop: is larger than 1048576 bytes",
                "home/applications/latin.desktop: Type: is not UTF-8",
                "home/applications/sparse.desktop: is larger than 1048576 bytes",
                "home/applications/zeros.desktop: [Desktop Entry]: is missing",
            ]
        )
    }

    @Test func directoriesAreReadUpToADepthLimit() throws {
        let names = (0..<40).map { "d\($0)" }
        try tree.writeEntry("home/applications/\(names.prefix(8).joined(separator: "/"))/a.desktop")
        try tree.writeEntry("home/applications/\(names.joined(separator: "/"))/b.desktop")
        let entries = load()
        #expect(entries.entries.count == 1)
        #expect(entries.diagnostics.map(\.reason) == ["is a directory nested too deeply to be searched"])
    }

    @Test func nameThatIsNotUTF8IsADiagnostic() throws {
        _ = try tree.makeParents(of: "home/applications/x")
        var path =
            Array("\(tree.path)/home/applications/".utf8CString.dropLast()) + [-1] + Array(".desktop".utf8CString)
        let descriptor = open(&path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
        #expect(descriptor >= 0)
        close(descriptor)
        #expect(
            load().diagnostics.map(tree.text) == [#"home/applications/\u{FFFD}.desktop: has a name that is not UTF-8"#]
        )
    }
}
