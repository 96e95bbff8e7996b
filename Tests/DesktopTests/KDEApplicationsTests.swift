import Testing

@testable import Desktop

/// The choice of KDE, by the rules of KService.
@Suite struct KDEApplicationsTests {
    private let tree: TemporaryTree
    private let type = "x-scheme-handler/foo"

    init() throws {
        tree = try TemporaryTree()
    }

    private var preferred: [String] {
        let entries = DesktopEntries(loading: tree.directories)
        let applications = KDEApplications(environment: tree.environment, entries: entries)
        return applications.preferred(for: type).map { String($0.rawValue.dropLast(8)) }
    }

    private func list(_ group: String, _ ids: String) -> String { "[\(group)]\n\(type)=\(ids)\n" }

    /// The entry of a handler counts like any other: KDE does not know what the key `X-OpenURL-Handler` means.
    @Test func entryNeedsNoLine() throws {
        #expect(preferred == [])
        try tree.writeEntry("home/applications/a.desktop", claiming: type, "X-OpenURL-Handler=a", "OnlyShowIn=KDE;")
        #expect(preferred == ["a"])
        try tree.writeEntry("data1/applications/b.desktop", claiming: type, "NotShowIn=KDE;")
        try tree.writeEntry("data1/applications/c.desktop", claiming: type, "OnlyShowIn=GNOME;Unity;")
        try tree.writeEntry("data1/applications/d.desktop", claiming: type, "TryExec=missing")
        #expect(preferred == ["a"])
        // No rule decides between two entries without a line.
        try tree.writeEntry("data2/applications/e.desktop", claiming: type)
        #expect(preferred == ["a", "e"])
    }

    @Test func laterFileOutranksAnEarlierOne() throws {
        for id in ["a", "b", "c"] { try tree.writeEntry("data1/applications/\(id).desktop", claiming: type) }
        try tree.write(list("Default Applications", "gone.desktop;c.desktop;a.desktop"), to: "etc2/mimeapps.list")
        #expect(preferred == ["c"])
        // An added association of the user comes before a default of the system.
        try tree.write(list("Added Associations", "b.desktop;c.desktop"), to: "config/mimeapps.list")
        #expect(preferred == ["b"])
        try tree.write(list("Default Applications", "a.desktop"), to: "config/kde-mimeapps.list")
        #expect(preferred == ["a"])
        try tree.write(list("Default Applications", "c.desktop"), to: "config/gnome-mimeapps.list")
        #expect(preferred == ["a"])
        try tree.write(list("Removed Associations", "a.desktop;b.desktop;c.desktop"), to: "config/mimeapps.list")
        // The file for KDE comes after the file that removes the association.
        #expect(preferred == ["a"])
    }

    @Test func onlyGLibReadsTheOlderFile() throws {
        for id in ["a", "b"] { try tree.writeEntry("data1/applications/\(id).desktop", claiming: type) }
        try tree.write(list("Default Applications", "b.desktop"), to: "data1/applications/defaults.list")
        #expect(preferred == ["a", "b"])
    }
}
