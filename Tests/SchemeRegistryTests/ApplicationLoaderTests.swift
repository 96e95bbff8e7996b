import Desktop
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// An update reads only the files that have changed.
@Suite(.timeLimit(.minutes(10))) struct ApplicationLoaderTests {
    private let root: TemporaryDirectory
    /// A time long after all writes of the test.
    private let later: Int64

    init() throws {
        root = try TemporaryDirectory()
        later = currentTime() + 3_600_000_000_000
    }

    private func loader() -> ApplicationLoader { ApplicationLoader(root.desktop()) }

    private func update(
        _ loader: inout ApplicationLoader,
        assuming handlers: [Handler] = [],
        now: Int64? = nil
    ) -> Bool {
        loader.update(assumingEntriesOf: handlers, now: now ?? later)
    }

    private func ids(_ loader: ApplicationLoader) -> [String] { loader.applications.all.map(\.id.rawValue) }

    @Test func firstUpdateIsAChangeAndTheNextIsNot() throws {
        var loader = loader()
        #expect(update(&loader))
        #expect(!update(&loader))
        #expect(loader.readCount == 0)
        try root.writeEntry("home/applications/a.desktop", opening: ["web"])
        try root.writeEntry("data1/applications/b.desktop", opening: ["web"])
        #expect(ids(loader) == [])
        #expect(update(&loader))
        #expect(ids(loader) == ["a.desktop", "b.desktop"])
        #expect(loader.readCount == 2)
        #expect(!update(&loader))
        #expect(loader.readCount == 2)
    }

    @Test func silentEntryStaysAndSilentProgramIsNotInstalled() throws {
        var loader = loader()
        try root.writeEntry("home/applications/a.desktop", opening: ["web"], command: "/usr/bin/true %u")
        try root.writeEntry("home/applications/b.desktop", opening: ["web"], command: "/usr/bin/true %u")
        #expect(update(&loader))
        try root.writeEntry("home/applications/a.desktop", opening: ["mail"], command: "/usr/bin/true %u")
        let isOther = loader.update(leavingOut: ["\(root.path)/home/applications/a.desktop"], now: later)
        #expect(!isOther)
        #expect(try loader.applications.claiming(Scheme("web")).map(\.id.rawValue) == ["a.desktop", "b.desktop"])
        var programs: Set<String> = []
        let hasChanged = loader.update(now: later) { if $0.hasSuffix("/true") { programs.insert($0) } }
        #expect(hasChanged)
        let hasLost = loader.update(leavingOut: programs, now: later)
        #expect(hasLost)
        #expect(ids(loader) == [])
    }

    /// A program that takes all descriptors must not hide applications.
    @Test func entryStaysWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let later = currentTime() + 3_600_000_000_000
            var loader = ApplicationLoader(root.desktop())
            try root.writeEntry("home/applications/a.desktop", opening: ["web"])
            _ = loader.update(now: later)
            #expect(!loader.isStale)
            try root.writeEntry("home/applications/a.desktop", opening: ["mail"])
            try root.writeEntry("home/applications/b.desktop", opening: ["web"])
            var taken: TakenDescriptors?
            // The directories and the other files can be read.
            _ = loader.update(now: later) { path in
                taken?.giveBack()
                taken = path.hasSuffix(".desktop") ? TakenDescriptors() : nil
            }
            taken?.giveBack()
            #expect(try loader.applications.claiming(Scheme("web")).map(\.id.rawValue) == ["a.desktop"])
            #expect(loader.isStale)
            _ = loader.update(now: later)
            #expect(try loader.applications.claiming(Scheme("web")).map(\.id.rawValue) == ["b.desktop"])
            #expect(try loader.applications.claiming(Scheme("mail")).map(\.id.rawValue) == ["a.desktop"])
            #expect(!loader.isStale)
            withExtendedLifetime(root) {}
        }
    }

    /// Nor may it hide directories of entries, or the user's choices.
    @Test func directoriesAndChoicesStayWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let later = currentTime() + 3_600_000_000_000
            var loader = ApplicationLoader(root.desktop())
            try root.writeEntry("home/applications/a.desktop", opening: ["web"])
            try root.writeEntry("data1/applications/b.desktop", opening: ["web"])
            let choices = "[Default Applications]\nx-scheme-handler/web=b.desktop\n"
            let choiceFile = try root.write(choices, to: "config/mimeapps.list")
            _ = loader.update(now: later)
            let taken = TakenDescriptors()
            _ = loader.update(now: later)
            taken.giveBack()
            #expect(try loader.applications.claiming(Scheme("web")).map(\.id.rawValue) == ["b.desktop", "a.desktop"])
            #expect(loader.isStale)
            #expect(unlink(choiceFile) == 0)
            _ = loader.update(now: later)
            #expect(try loader.applications.claiming(Scheme("web")).map(\.id.rawValue) == ["a.desktop", "b.desktop"])
            #expect(!loader.isStale)
            withExtendedLifetime(root) {}
        }
    }

    /// A directory that cannot be read must not bring back what was removed from the others.
    @Test func onlyTheUnreadDirectoryKeepsItsEntries() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let later = currentTime() + 3_600_000_000_000
            var loader = ApplicationLoader(root.desktop())
            let removed = try root.writeEntry("home/applications/a.desktop", opening: ["web"])
            try root.writeEntry("home/applications/below/b.desktop", opening: ["web"])
            _ = loader.update(now: later)
            #expect(unlink(removed) == 0)
            var taken: TakenDescriptors?
            _ = loader.update(now: later) { path in
                taken?.giveBack()
                taken = path.hasSuffix("/below") ? TakenDescriptors() : nil
            }
            taken?.giveBack()
            #expect(loader.isStale)
            #expect(loader.applications.all.map(\.id.rawValue) == ["below-b.desktop"])
            withExtendedLifetime(root) {}
        }
    }

    /// The file system of one path must not hide what is on the others.
    @Test func silentPathsHideNothingElse() throws {
        var loader = loader()
        try root.writeEntry("home/applications/a.desktop", opening: ["web"])
        try root.writeEntry("home/applications/below/b.desktop", opening: ["web"])
        var paths: Set<String> = []
        let hasChanged = loader.update(now: later) { paths.insert($0) }
        #expect(hasChanged)
        let home = "\(root.path)/home/applications"
        // Each path is announced before the file system is asked for it.
        #expect(paths.isSuperset(of: [home, "\(home)/a.desktop", "\(home)/below", "\(home)/below/b.desktop"]))
        #expect(paths.contains("\(home)/mimeapps.list"))
        // An entry that was never read is left out, and so is a directory.
        var other = self.loader()
        let isRead = other.update(leavingOut: ["\(home)/a.desktop", "\(home)/mimeapps.list"], now: later)
        #expect(isRead)
        #expect(ids(other) == ["below-b.desktop"])
        let isLess = loader.update(leavingOut: ["\(home)/below"], now: later)
        #expect(isLess)
        #expect(ids(loader) == ["a.desktop"])
    }

    @Test func updateReadsOnlyChangedFiles() throws {
        var loader = loader()
        for name in ["a", "b", "c"] { try root.writeEntry("home/applications/\(name).desktop", opening: ["web"]) }
        _ = update(&loader)
        try root.writeEntry("home/applications/b.desktop", opening: ["mail"])
        #expect(update(&loader))
        #expect(loader.readCount == 4)
        #expect(try loader.applications.claiming(Scheme("mail")).map(\.id.rawValue) == ["b.desktop"])
        #expect(try loader.applications.claiming(Scheme("web")).map(\.id.rawValue) == ["a.desktop", "c.desktop"])
        // The contents are the same at another time. The loader reads the file, but the applications do not change.
        try root.setDate("home/applications/b.desktop", seconds: 5)
        #expect(!update(&loader))
        #expect(loader.readCount == 5)
    }

    @Test func removedEntriesAreForgotten() throws {
        var loader = loader()
        let file = try root.writeEntry("home/applications/a.desktop", opening: ["web"])
        try root.writeEntry("data1/applications/a.desktop", opening: ["mail"])
        _ = update(&loader)
        try #require(unlink(file) == 0)
        #expect(update(&loader))
        #expect(loader.applications.all.map(\.precedence) == [1])
        #expect(loader.readCount == 2)
        // The new file has the same contents, but the loader has not seen it before.
        try root.writeEntry("home/applications/a.desktop", opening: ["web"])
        #expect(update(&loader))
        #expect(loader.applications.all.map(\.precedence) == [0])
        #expect(loader.readCount == 3)
    }

    /// Two changes within one tick of the file system's clock can leave the same time stamp.
    @Test func recentlyWrittenFileIsReadAgain() throws {
        var loader = loader()
        try root.writeEntry("home/applications/a.desktop", opening: ["web"])
        let now = currentTime()
        #expect(update(&loader, now: now))
        #expect(!update(&loader, now: now))
        #expect(loader.readCount == 2)
        #expect(!update(&loader))
        #expect(!update(&loader))
        #expect(loader.readCount == 3)
    }

    @Test func linkWithANewTargetIsReadAgain() throws {
        var loader = loader()
        let old = try root.writeEntry("opt/old.desktop", opening: ["old"])
        let new = try root.writeEntry("opt/new.desktop", opening: ["new"])
        let link = try root.link("home/applications/a.desktop", to: old)
        _ = update(&loader)
        try #require(unlink(link) == 0)
        try root.link("home/applications/a.desktop", to: new)
        #expect(update(&loader))
        #expect(loader.applications.schemes.map(\.rawValue) == ["new"])
    }

    @Test func unreadableFileIsADiagnosticUntilItCanBeRead() throws {
        var loader = loader()
        try root.link("home/applications/a.desktop", to: "missing")
        #expect(update(&loader))
        #expect(loader.applications.all.isEmpty)
        #expect(loader.applications.diagnostics.map(\.reason) == ["does not exist"])
        try root.writeEntry("home/applications/missing", opening: ["web"])
        #expect(update(&loader))
        #expect(ids(loader) == ["a.desktop"])
        #expect(loader.applications.diagnostics.isEmpty)
    }

    @Test func changedAssociationsAreAChange() throws {
        var loader = loader()
        for name in ["a", "b"] { try root.writeEntry("home/applications/\(name).desktop", opening: ["web"]) }
        _ = update(&loader)
        try root.write(associations(defaults: ["web": "b.desktop"]), to: "config/mimeapps.list")
        #expect(update(&loader))
        #expect(try loader.applications.desktopChoice(for: Scheme("web"))?.id.rawValue == "b.desktop")
        #expect(loader.readCount == 2)
        #expect(!update(&loader))
    }

    @Test func addedOrRemovedProgramIsAChange() throws {
        var loader = loader()
        try root.writeEntry("home/applications/a.desktop", opening: ["web"], command: "viewer %u")
        _ = update(&loader)
        #expect(ids(loader) == [])
        let program = try root.writeProgram("bin/viewer")
        #expect(update(&loader))
        #expect(ids(loader) == ["a.desktop"])
        try #require(unlink(program) == 0)
        #expect(update(&loader))
        #expect(ids(loader) == [])
        #expect(loader.readCount == 1)
    }

    @Test func ownEntriesAreAssumedOnRequest() throws {
        var loader = loader()
        let handler = try Handler.test("com.acme.app", opening: ["todolist"])
        let mark = "X-OpenURL-Handler=com.acme.app"
        try root.writeEntry("home/applications/com.acme.app.desktop", opening: ["todolist"], mark)
        try root.writeEntry("data1/applications/other.desktop", opening: ["web"])
        #expect(update(&loader, assuming: [handler]))
        #expect(loader.readCount == 1)
        #expect(ids(loader) == ["other.desktop"])
        let id = try desktopFile("com.acme.app.desktop")
        #expect(loader.applications.entries.entries[id]?.handler == "com.acme.app")
        #expect(loader.applications.entries.entries[id]?.mimeTypes == [])
        // The loader now reads the file and knows it.
        #expect(update(&loader))
        #expect(loader.readCount == 2)
        #expect(loader.applications.entries.entries[id]?.urlSchemes == ["todolist"])
        #expect(!update(&loader))
        #expect(loader.readCount == 2)
    }

    @Test func onlyOwnEntriesOfTheUserAreAssumed() throws {
        var loader = loader()
        let handler = try Handler.test("com.acme.app", opening: ["todolist"])
        try root.writeEntry("data1/applications/com.acme.app.desktop", opening: ["web"])
        #expect(update(&loader, assuming: [handler]))
        #expect(loader.readCount == 1)
        #expect(ids(loader) == ["com.acme.app.desktop"])
        // A handler without schemes has no desktop entry, so the file belongs to another program.
        try root.writeEntry("home/applications/com.acme.none.desktop", opening: ["mail"])
        #expect(update(&loader, assuming: [try .test("com.acme.none", opening: [])]))
        #expect(ids(loader) == ["com.acme.app.desktop", "com.acme.none.desktop"])
    }

    @Test func pathsIncludeDirectoriesAndAssociations() {
        let paths = loader().paths
        let expected = [
            "home/applications", "data1/applications", "data2/applications", "config/mimeapps.list",
            "etc/mimeapps.list", "data1/applications/mimeapps.list", "data2/applications/defaults.list",
        ]
        for path in expected { #expect(paths.contains("\(root.path)/\(path)")) }
    }
}
