import Glibc
import Testing
import UserFiles

@testable import Desktop

@Suite struct AssociationsTests {
    private let tree: TemporaryTree
    private let type = "x-scheme-handler/foo"

    init() throws {
        tree = try TemporaryTree()
        tree.environment["XDG_CURRENT_DESKTOP"] = "GNOME"
        for id in ["a", "b", "c"] {
            try tree.writeEntry("data1/applications/\(id).desktop", claiming: type)
        }
    }

    private func load() -> (MimeAssociations, DesktopEntries) {
        (MimeAssociations(loading: tree.directories), DesktopEntries(loading: tree.directories))
    }

    private var candidates: [String] {
        let (associations, entries) = load()
        #expect(associations.diagnostics.isEmpty)
        let candidates = associations.candidates(for: type, in: entries)
        #expect(associations.defaultApplication(for: type, in: entries) == candidates.first)
        return candidates.map { String($0.id.rawValue.dropLast(8)) }
    }

    private func list(_ group: String, _ ids: String) -> String { "[\(group)]\n\(type)=\(ids)\n" }

    @Test func claimantsKeepTheirOrderWithoutFiles() {
        #expect(candidates == ["a", "b", "c"])
    }

    @Test func defaultsFollowThePrecedenceOfTheirFiles() throws {
        try tree.write(list("Default Applications", "gone.desktop;c.desktop"), to: "etc2/mimeapps.list")
        #expect(candidates == ["c", "a", "b"])
        try tree.write(list("Default Applications", "b.desktop;"), to: "config/mimeapps.list")
        #expect(candidates == ["b", "c", "a"])
        try tree.write(list("Default Applications", "a.desktop"), to: "config/gnome-mimeapps.list")
        #expect(candidates == ["a", "b", "c"])
        try tree.write(list("Default Applications", "c.desktop"), to: "config/kde-mimeapps.list")
        #expect(candidates == ["a", "b", "c"])
    }

    @Test func applicationDirectoriesComeAfterConfigurationDirectories() throws {
        try tree.write(list("Default Applications", "b.desktop"), to: "data1/applications/defaults.list")
        #expect(candidates.first == "b")
        try tree.write(list("Default Applications", "c.desktop"), to: "data1/applications/mimeapps.list")
        #expect(candidates == ["c", "b", "a"])
        try tree.write(list("Default Applications", "a.desktop"), to: "etc2/mimeapps.list")
        #expect(candidates == ["a", "c", "b"])
    }

    @Test func addedAssociationsComeFirstAndRemovedOnesAreSkipped() throws {
        try tree.writeEntry("data2/applications/other.desktop")
        try tree.write(
            list("Added Associations", "other.desktop;c.desktop") + list("Removed Associations", "a.desktop;c.desktop"),
            to: "config/mimeapps.list"
        )
        #expect(candidates == ["other", "c", "b"])
    }

    @Test func removedAssociationIsAddedOnlyByAFileWithHigherPrecedence() throws {
        try tree.write(list("Removed Associations", "a.desktop"), to: "etc1/mimeapps.list")
        try tree.write(list("Added Associations", "a.desktop"), to: "etc2/mimeapps.list")
        #expect(candidates == ["b", "c"])
        try tree.write(list("Added Associations", "a.desktop"), to: "config/mimeapps.list")
        #expect(candidates == ["a", "b", "c"])
    }

    /// GLib 2.74 ignores the removal unless the file also adds an association.
    @Test func directoryRemovesAssociationsOfItsOwnEntries() throws {
        try tree.write(list("Removed Associations", "a.desktop"), to: "data1/applications/mimeapps.list")
        #expect(candidates == ["b", "c"])
        // A removal does not affect entries of directories with a higher precedence.
        try tree.writeEntry("home/applications/a.desktop", claiming: type)
        #expect(candidates == ["a", "b", "c"])
    }

    /// A default needs no association. GLib does the same; the specification requires an association.
    @Test func defaultCountsWithoutAClaimOrAssociation() throws {
        try tree.writeEntry("data2/applications/other.desktop")
        try tree.write(
            list("Default Applications", "c.desktop;other.desktop") + list("Removed Associations", "c.desktop"),
            to: "config/mimeapps.list"
        )
        #expect(candidates == ["c", "other", "a", "b"])
    }

    @Test func hiddenEntryIsNotADefault() throws {
        try tree.write("[Desktop Entry]\nHidden=true\n", to: "home/applications/b.desktop")
        try tree.write(list("Default Applications", "b.desktop;c.desktop"), to: "config/mimeapps.list")
        #expect(candidates == ["c", "a"])
    }

    @Test func isRemovedChecksFilesUpToTheEntrysDirectory() throws {
        try tree.write(list("Removed Associations", "a.desktop;b.desktop"), to: "etc1/mimeapps.list")
        try tree.write(list("Added Associations", "b.desktop"), to: "config/mimeapps.list")
        try tree.write(list("Removed Associations", "c.desktop"), to: "data1/applications/mimeapps.list")
        let associations = load().0
        func isRemoved(_ id: String, _ precedence: Int?) throws -> Bool {
            associations.isRemoved(
                try #require(DesktopFileID(rawValue: "\(id).desktop")),
                from: type,
                declaredIn: precedence
            )
        }
        #expect(try isRemoved("a", 0) && !isRemoved("b", 0))
        #expect(try !isRemoved("c", 0) && isRemoved("c", 1) && isRemoved("c", nil))
        #expect(associations.urlSchemes == ["foo"])
    }

    @Test func typesAreCaseInsensitive() throws {
        try tree.write("[Default Applications]\nx-scheme-handler/FOO=b.desktop\n", to: "config/mimeapps.list")
        let (associations, entries) = load()
        #expect(associations.defaults(for: "X-Scheme-Handler/Foo").map(\.rawValue) == ["b.desktop"])
        #expect(associations.defaultApplication(for: schemeHandlerType("FOO"), in: entries)?.id.rawValue == "b.desktop")
    }

    @Test func invalidLineAffectsOnlyItself() throws {
        let text = """
            \(type)=before.desktop
            [Default Applications
            [Default Applications]
            nonsense
            \(type)=b.desktop;x;\\x
            text/plain=a.desktop;../x.desktop;c.desktop
            bad=a.desktop
            x-scheme-handler/a/b=a.desktop
            x-scheme-handler/ok=c.desktop
            [Unknown]
            \(type)=c.desktop
            """
        try tree.write(text, to: "config/mimeapps.list")
        try tree.write(list("Added Associations", "a.desktop"), to: "config/gnome-mimeapps.list")
        let associations = load().0
        #expect(associations.defaults(for: type).isEmpty)
        #expect(associations.defaults(for: "text/plain").map(\.rawValue) == ["a.desktop", "c.desktop"])
        #expect(associations.defaults(for: "x-scheme-handler/ok").map(\.rawValue) == ["c.desktop"])
        let file = "config/mimeapps.list"
        let group = "[Default Applications]"
        #expect(
            associations.diagnostics.map(tree.text) == [
                "config/gnome-mimeapps.list: [Added Associations]: is ignored in this file, which can only name defaults",
                "\(file): line 1: is a key before the first group",
                "\(file): line 2: opens a group header but does not close it",
                "\(file): line 4: is neither a comment nor a group nor a key with its value",
                #"\#(file): \#(group) \#(type): contains an escape sequence other than \s, \n, \t, \r and \\"#,
                "\(file): \(group) text/plain: contains '../x.desktop', which is not a desktop file ID",
                "\(file): \(group) bad: is not a MIME type",
                "\(file): \(group) x-scheme-handler/a/b: is not a MIME type",
            ]
        )
        let kinds: [Diagnostic.Kind?] = [nil, .malformedLine, .malformedLine, .malformedLine, nil, nil, nil, nil]
        #expect(associations.diagnostics.map(\.kind) == kinds)
    }

    @Test func laterLineReplacesTheEarlierLine() throws {
        try tree.write(
            "[Default Applications]\n\(type)=a.desktop\nX-Scheme-Handler/Foo=b.desktop\n[Default Applications]\n",
            to: "config/mimeapps.list"
        )
        let associations = load().0
        #expect(associations.defaults(for: type).map(\.rawValue) == ["b.desktop"])
        #expect(
            associations.diagnostics.map(tree.text) == [
                "config/mimeapps.list: [Default Applications]: appears twice",
                "config/mimeapps.list: [Default Applications] X-Scheme-Handler/Foo: appears twice",
            ]
        )
        #expect(associations.diagnostics.map(\.kind) == [.repetition, .repetition])
    }

    @Test func unreadableFilesAreDiagnostics() throws {
        #expect(mkfifo(try tree.makeParents(of: "config/mimeapps.list"), 0o600) == 0)
        #expect(symlink("mimeapps.list", try tree.makeParents(of: "etc1/mimeapps.list")) == 0)
        let sparse = try tree.write([], to: "etc2/mimeapps.list")
        #expect(truncate(sparse, MimeAssociations.limit + 1) == 0)
        try tree.write("", to: "home")
        #expect(
            load().0.diagnostics.map(tree.text) == [
                "config/mimeapps.list: is a FIFO, not a file",
                "etc1/mimeapps.list: is part of a cycle of links",
                "etc2/mimeapps.list: is larger than 16777216 bytes",
            ]
        )
        #expect(
            DesktopEntries(loading: tree.directories).diagnostics.map(tree.text) == [
                "home/applications: Not a directory"
            ]
        )
    }

    @Test func emptyAssociationsHaveNoCandidates() {
        #expect(MimeAssociations().candidates(for: type, in: DesktopEntries()).isEmpty)
        #expect(MimeAssociations().urlSchemes.isEmpty)
    }
}
