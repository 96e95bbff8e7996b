import Desktop
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// The files that the registry writes and removes for the desktop and the bus. The files of other programs stay as they
/// are.
@Suite(.timeLimit(.minutes(5))) final class DesktopPublicationTests {
    private let root: TemporaryDirectory
    private var publication: DesktopPublication
    private let command: String

    init() throws {
        root = try TemporaryDirectory()
        command = try root.writeProgram("bin/openurl")
        publication = try #require(DesktopPublication(in: root.desktop(), command: command))
    }

    private let applications = "home/applications"
    private let services = "home/dbus-1/services"
    private let cache = "home/applications/mimeinfo.cache"

    /// Returns a registry with the current state of the desktop.
    private func registry(_ handlers: [Handler]) -> Registry {
        Registry(handlers: handlers, applications: DesktopApplications(loading: root.desktop()))
    }

    private func publish(_ handlers: Handler...) -> [String] {
        publication.publish(registry(handlers))
        return problems(publication.diagnostics)
    }

    private func publish(_ handlers: [Handler], insteadOf old: [Handler]) -> [String] {
        publish(registry(handlers), insteadOf: registry(old))
    }

    private func publish(_ registry: Registry, insteadOf old: Registry) -> [String] {
        publication.publish(registry, insteadOf: old, isRetrying: true)
        return problems(publication.diagnostics)
    }

    /// A power failure may leave zeros in a file that was not flushed.
    @Test func lostCallbackEntryIsWrittenAgain() throws {
        let file = "\(root.path)/\(applications)/org.openurl.callback.desktop"
        let text = { String(decoding: try contents(ofFile: file, limit: 4096), as: UTF8.self) }
        publication.publish(callbacks: ["myapp"])
        let entry = try text()
        #expect(entry.contains("x-scheme-handler/myapp"))
        let zeros = String(repeating: "\0", count: entry.utf8.count)
        try root.write(zeros, to: "\(applications)/org.openurl.callback.desktop")
        publication = try #require(DesktopPublication(in: root.desktop(), command: command))
        publication.publish(callbacks: ["myapp"])
        #expect(try text() == entry)
        // Another program's entry stays. Once it is gone, the next attempt succeeds.
        let other = "[Desktop Entry]\nType=Application\nName=X\nExec=true\n"
        try root.write(other, to: "\(applications)/org.openurl.callback.desktop")
        publication.publish(callbacks: ["other"])
        #expect(try text() == other)
        try #require(unlink(file) == 0)
        publication.publish(callbacks: ["other"])
        #expect(try text().contains("x-scheme-handler/other"))
    }

    /// A handler that could not be published for lack of descriptors is published again.
    @Test func publicationDuringAShortageIsStale() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let command = try root.writeProgram("bin/openurl")
            var publication = try #require(DesktopPublication(in: root.desktop(), command: command))
            let applications = DesktopApplications(loading: root.desktop())
            let registry = Registry(handlers: [try .test("com.acme.app")], applications: applications)
            let taken = TakenDescriptors()
            publication.publish(registry, insteadOf: Registry(handlers: []), isRetrying: false)
            taken.giveBack()
            #expect(publication.isStale)
            publication.publish(registry)
            #expect(!publication.isStale)
            #expect(access("\(root.path)/home/applications/com.acme.app.desktop", F_OK) == 0)
            withExtendedLifetime(root) {}
        }
    }

    private func problems(_ diagnostics: [Diagnostic]) -> [String] {
        diagnostics.map { $0.description.replacing("\(root.path)/", with: "") }
    }

    /// Returns the names of all entries and services of the user.
    private func files() throws -> [String] {
        try [applications, services].flatMap { directory -> [String] in
            guard access("\(root.path)/\(directory)", F_OK) == 0 else { return [] }
            return try root.names(in: directory).map { "\(directory)/\($0)" }
        }
    }

    /// Returns the lines of the cache that name handlers.
    private func cached() throws -> [String] {
        let lines = try root.read(cache)?.split(separator: "\n").map(String.init) ?? []
        return lines.filter { $0.hasPrefix("x-scheme-handler/") }
    }

    /// Returns the command in the entry of a handler.
    private func commandLine(of handler: String) throws -> String? {
        let lines = try root.read("\(applications)/\(handler).desktop")?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix("Exec=") }.map { String($0.dropFirst("Exec=".count)) }
    }

    private func inodes() throws -> [ino_t] {
        try files().map { try status(of: "\(root.path)/\($0)", followingLinks: false).st_ino }
    }

    // MARK: Writing

    @Test func publicationRequiresADirectoryAndACommand() {
        #expect(DesktopPublication(in: DesktopDirectories(environment: [:]), command: "/bin/openurl") == nil)
        #expect(DesktopPublication(in: root.desktop(), command: "openurl") == nil)
    }

    @Test func registryWithoutHandlersWritesNothing() throws {
        #expect(publish() == [])
        #expect(try files() == [])
    }

    @Test func localHandlerHasNoEntry() throws {
        let open = try Handler.test("com.acme.app", opening: ["todolist"])
        let local = try Handler.test("com.acme.app", opening: ["todolist"]) { $0.reach = .local }
        #expect(publish(local) == [])
        #expect(try files() == ["\(services)/com.acme.app.service"])
        // The entry from before the key was added goes.
        #expect(publish(open) == [])
        #expect(try files().contains("\(applications)/com.acme.app.desktop"))
        #expect(publish([local], insteadOf: [open]) == [])
        #expect(try !files().contains("\(applications)/com.acme.app.desktop"))
        #expect(publish(open) == [])
        #expect(publish(local) == [])
        #expect(try !files().contains("\(applications)/com.acme.app.desktop"))
    }

    @Test func handlerGetsAnEntryAServiceAndCacheLines() throws {
        let handler = try Handler.test("com.acme.app", opening: ["todolist", "todo"]) { $0.displayName = "To-Do; 100%" }
        #expect(publish(handler) == [])
        #expect(
            try files() == [
                "\(applications)/com.acme.app.desktop", cache, "\(services)/com.acme.app.service",
            ]
        )
        #expect(
            try root.read("\(applications)/com.acme.app.desktop") == """
                [Desktop Entry]
                Type=Application
                Version=1.1
                Name=To-Do; 100%
                Exec=\(command) open --desktop-entry com.acme.app.desktop -- %u
                StartupNotify=true
                OnlyShowIn=KDE;
                Categories=Core;
                MimeType=x-scheme-handler/todolist;x-scheme-handler/todo;
                X-OpenURL-Handler=com.acme.app

                """
        )
        #expect(
            try root.read("\(services)/com.acme.app.service") == """
                [D-BUS Service]
                Name=com.acme.app
                Exec=\(command) activate --background com.acme.app
                X-OpenURL-Handler=com.acme.app

                """
        )
        #expect(
            try cached() == [
                "x-scheme-handler/todo=com.acme.app.desktop;", "x-scheme-handler/todolist=com.acme.app.desktop;",
            ]
        )
        // The desktop now recognises the entry as the registry's own.
        let entry = registry([handler]).applications.entries.entries[try desktopFile("com.acme.app.desktop")]
        #expect(entry?.isOwn == true)
        #expect(entry?.command?.program == command)
    }

    @Test func entryOfABundleHasItsIconAndItsNames() throws {
        try root.write("", to: "Todo.app/Icon.png")
        try root.write("CFBundleName = \"To-Do\";", to: "Todo.app/en.lproj/InfoPlist.strings")
        try root.write("CFBundleName = \"Aufgaben\";", to: "Todo.app/de.lproj/InfoPlist.strings")
        var manifest = HandlerManifest(identifier: try BundleIdentifier("com.acme.app"), executable: .name("x"))
        manifest.urlTypes = [URLType(schemes: [try Scheme("todo")])]
        manifest.icons = ["Icon"]
        let handler = Handler(
            manifest: manifest,
            path: "\(root.path)/Todo.app",
            entry: "\(root.path)/Todo.app",
            program: .nameOnPath("x"),
            scope: .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
        #expect(publish(handler) == [])
        let text = try #require(try root.read("\(applications)/com.acme.app.desktop"))
        let names = "Name=To-Do\nName[de]=Aufgaben\nName[en]=To-Do\nIcon=\(root.path)/Todo.app/Icon.png\n"
        #expect(text.contains(names))
        let before = try inodes()
        #expect(publish(handler) == [])
        #expect(try inodes() == before)
        try root.write("CFBundleName = \"Liste\";", to: "Todo.app/de.lproj/InfoPlist.strings")
        #expect(publish(handler) == [])
        #expect(try root.read("\(applications)/com.acme.app.desktop")?.contains("Name[de]=Liste\n") == true)
    }

    @Test func handlerWithoutSchemesGetsOnlyAService() throws {
        #expect(publish(try .test("com.acme.app", opening: [])) == [])
        #expect(try files() == ["\(services)/com.acme.app.service"])
    }

    @Test func systemHandlerIsNotPublished() throws {
        #expect(publish(try .test("com.acme.fixed", isFixed: true), try .test("com.acme.none", program: nil)) == [])
        #expect(try files() == [])
    }

    @Test func unchangedHandlersAreNotRewritten() throws {
        let handlers = [try Handler.test("com.acme.a", opening: ["a"]), try Handler.test("com.acme.b", opening: ["b"])]
        #expect(publish(handlers[0], handlers[1]) == [])
        let before = try inodes()
        #expect(publish(handlers[0], handlers[1]) == [])
        #expect(publish(handlers, insteadOf: handlers) == [])
        #expect(try inodes() == before)
    }

    /// Files that were found complete are still checked for later changes.
    @Test func filesThatChangeLaterAreRewritten() throws {
        let handler = try Handler.test("com.acme.app")
        for _ in 0..<3 { publication.publish(registry([handler]), now: .max) }
        for file in ["\(applications)/com.acme.app.desktop", "\(services)/com.acme.app.service"] {
            let text = try #require(try root.read(file))
            try root.write("\(text)# changed\n", to: file)
            publication.publish(registry([handler]), now: .max)
            #expect(try root.read(file) == text)
        }
    }

    @Test(arguments: [false, true]) func changedEntriesAreRewritten(isIncremental: Bool) throws {
        let old = try Handler.test("com.acme.app", opening: ["old"])
        let other = try Handler.test("com.acme.other", opening: ["other"])
        #expect(publish(old, other) == [])
        let otherEntry = try status(of: "\(root.path)/\(applications)/com.acme.other.desktop", followingLinks: false)
        let new = try Handler.test("com.acme.app", opening: ["new"]) { $0.name = "New" }
        #expect(isIncremental ? publish([new, other], insteadOf: [old, other]) == [] : publish(new, other) == [])
        let text = try root.read("\(applications)/com.acme.app.desktop")
        #expect(text?.contains("MimeType=x-scheme-handler/new;\n") == true)
        #expect(text?.contains("Name=New\n") == true)
        #expect(
            try cached() == [
                "x-scheme-handler/new=com.acme.app.desktop;", "x-scheme-handler/other=com.acme.other.desktop;",
            ]
        )
        let unchanged = try status(of: "\(root.path)/\(applications)/com.acme.other.desktop", followingLinks: false)
        #expect(unchanged.st_ino == otherEntry.st_ino)
    }

    @Test func newPathOfTheCommandIsWrittenToEveryFile() throws {
        let handler = try Handler.test("com.acme.app")
        #expect(publish(handler) == [])
        let moved = try root.writeProgram("opt/openurl")
        var other = try #require(DesktopPublication(in: root.desktop(), command: moved))
        other.publish(registry([handler]))
        #expect(other.diagnostics == [])
        #expect(try commandLine(of: "com.acme.app") == "\(moved) open --desktop-entry com.acme.app.desktop -- %u")
        #expect(try root.read("\(services)/com.acme.app.service")?.contains("Exec=\(moved) activate") == true)
        // An entry whose command is missing is rewritten too. The desktop no longer lists such an entry.
        try #require(unlink(moved) == 0)
        #expect(self.publish(handler) == [])
        #expect(try commandLine(of: "com.acme.app") == "\(command) open --desktop-entry com.acme.app.desktop -- %u")
    }

    /// Earlier versions wrote other entries for the same handler.
    @Test func entryOfAnEarlierVersionIsRewritten() throws {
        let handler = try Handler.test("com.acme.app")
        #expect(publish(handler) == [])
        let text = try #require(try root.read("\(applications)/com.acme.app.desktop"))
        for (line, earlier) in [
            ("open --desktop-entry com.acme.app.desktop --", "--"),
            ("OnlyShowIn=KDE;\nCategories=Core;", "NoDisplay=true"),
        ] {
            try root.write(text.replacing(line, with: earlier), to: "\(applications)/com.acme.app.desktop")
            #expect(publish(handler) == [])
            #expect(try root.read("\(applications)/com.acme.app.desktop") == text)
        }
    }

    /// The cache is edited for a few handlers and rebuilt for many. Both ways give the same contents.
    @Test func cacheContainsManyHandlers() throws {
        let handlers = try (0..<30).map { try Handler.test("com.acme.h\($0)", opening: ["s\($0)"]) }
        publication.publish(registry(handlers))
        #expect(publication.diagnostics == [])
        let expected = (0..<30).map { "x-scheme-handler/s\($0)=com.acme.h\($0).desktop;" }.sorted()
        #expect(try cached().sorted() == expected)
        #expect(publish(Array(handlers[..<28]), insteadOf: handlers) == [])
        let rest = (0..<28).map { "x-scheme-handler/s\($0)=com.acme.h\($0).desktop;" }.sorted()
        #expect(try cached().sorted() == rest)
    }

    /// The registries in this test hold a state of the desktop from before the changes.
    @Test func reRegisteredHandlerIsPublishedAgain() throws {
        let handler = try Handler.test("com.acme.app", opening: ["old"])
        #expect(publish(handler) == [])
        let written = try files().map { try root.read($0) }
        let (all, none) = (registry([handler]), Registry(handlers: [], applications: registry([]).applications))
        #expect(publish(none, insteadOf: all) == [])
        #expect(try files() == [cache])
        #expect(publish(all, insteadOf: none) == [])
        #expect(try files().map { try root.read($0) } == written)

        let changed = Registry(
            handlers: [try .test("com.acme.app", opening: ["new"])],
            applications: all.applications
        )
        #expect(publish(changed, insteadOf: all) == [])
        #expect(try cached() == ["x-scheme-handler/new=com.acme.app.desktop;"])
        #expect(publish(all, insteadOf: changed) == [])
        #expect(try files().map { try root.read($0) } == written)
    }

    /// The claims of a left-over entry are unknown, so the cache is rebuilt.
    @Test(arguments: [false, true]) func leftOverEntryIsReused(isIncremental: Bool) throws {
        let handler = try Handler.test("com.acme.app", opening: ["todo"])
        try root.write(
            "[Desktop Entry]\nType=Application\nName=a\nExec=\(command) -- %u\nMimeType=x-scheme-handler/left;\n"
                + "X-OpenURL-Handler=com.acme.app\n",
            to: "\(applications)/com.acme.app.desktop"
        )
        try root.write("[MIME Cache]\nx-scheme-handler/left=com.acme.app.desktop;\n", to: cache)
        #expect((isIncremental ? publish([handler], insteadOf: []) : publish(handler)) == [])
        #expect(try cached() == ["x-scheme-handler/todo=com.acme.app.desktop;"])
    }

    /// The file decides which claims to remove. The previous registry does not, because its entry may not have been
    /// written.
    @Test func linesOfAnEntryAreRemovedAfterAFailedUpdate() throws {
        #expect(publish(try .test("com.acme.app", opening: ["old"])) == [])
        let failed = try Handler.test("com.acme.app", opening: ["failed"])
        #expect(publish([try .test("com.acme.app", opening: ["new"])], insteadOf: [failed]) == [])
        #expect(try cached() == ["x-scheme-handler/new=com.acme.app.desktop;"])
    }

    /// An earlier router ended after it had written the entry and before it had written the cache.
    @Test func outdatedCacheIsRebuiltAtTheStart() throws {
        #expect(publish(try .test("com.acme.app", opening: ["old"])) == [])
        let old = try #require(try root.read(cache))
        let new = try Handler.test("com.acme.app", opening: ["new"])
        #expect(publish(new) == [])
        try root.write(old, to: cache)
        publication = try #require(DesktopPublication(in: root.desktop(), command: command))
        #expect(publish(new) == [])
        #expect(try cached() == ["x-scheme-handler/new=com.acme.app.desktop;"])
    }

    /// Another program removed the entry, and the cache still has its lines.
    @Test func linesOfAForeignlyRemovedEntryAreRemoved() throws {
        let old = try Handler.test("com.acme.app", opening: ["old"])
        let new = try Handler.test("com.acme.app", opening: ["new"])
        #expect(publish(old) == [])
        try #require(unlink("\(root.path)/\(applications)/com.acme.app.desktop") == 0)
        #expect(publish([new], insteadOf: [old]) == [])
        #expect(try cached() == ["x-scheme-handler/new=com.acme.app.desktop;"])
        // The same happens while the router is not running.
        try #require(unlink("\(root.path)/\(applications)/com.acme.app.desktop") == 0)
        #expect(publish(old) == [])
        #expect(try cached() == ["x-scheme-handler/old=com.acme.app.desktop;"])
    }

    @Test func missingCacheIsRebuiltAtTheStart() throws {
        let handler = try Handler.test("com.acme.app", opening: ["todo"])
        #expect(publish(handler) == [])
        try #require(unlink("\(root.path)/\(cache)") == 0)
        #expect(publish(handler) == [])
        #expect(try cached() == ["x-scheme-handler/todo=com.acme.app.desktop;"])
    }

    /// The desktop does not list the entry, and would use an entry of the same name from a package.
    @Test func entryWithAMissingCommandIsRewrittenBeforeAForeignEntry() throws {
        let handler = try Handler.test("com.acme.app")
        try root.writeEntry(
            "\(applications)/com.acme.app.desktop",
            opening: ["todolist"],
            command: "/nonexistent/openurl -- %u",
            "X-OpenURL-Handler=com.acme.app"
        )
        try root.writeEntry("data1/applications/com.acme.app.desktop", opening: ["todolist"])
        #expect(publish(handler) == [])
        #expect(try commandLine(of: "com.acme.app") == "\(command) open --desktop-entry com.acme.app.desktop -- %u")
    }

    /// The package's entry replaces the handler's entry without a diagnostic, and is then removed.
    @Test func handlerGetsAnEntryWhenThePackagesEntryIsRemoved() throws {
        let entry = "data1/applications/com.acme.app.desktop"
        try root.writeEntry(entry, opening: ["todolist"], command: "\(command) -- %u")
        let handler = try Handler.test("com.acme.app")
        #expect(publish([handler], insteadOf: []) == [])
        #expect(try files() == ["\(services)/com.acme.app.service"])
        try #require(unlink("\(root.path)/\(entry)") == 0)
        #expect(publish([handler], insteadOf: [handler]) == [])
        #expect(try cached() == ["x-scheme-handler/todolist=com.acme.app.desktop;"])
    }

    @Test func failedRemovalIsRetried() throws {
        let handler = try Handler.test("com.acme.app")
        #expect(publish([handler], insteadOf: []) == [])
        let service = "\(root.path)/\(services)/com.acme.app.service"
        try #require(rename(service, "\(root.path)/kept") == 0)
        try root.makeFIFO("\(services)/com.acme.app.service")
        #expect(publish([], insteadOf: [handler]) == ["\(services)/com.acme.app.service: is a FIFO, not a file"])
        try #require(rename("\(root.path)/kept", service) == 0)
        // The registry retries only together with another change.
        publication.publish(registry([]), insteadOf: registry([]), isRetrying: false)
        #expect(access(service, F_OK) == 0)
        #expect(publish([], insteadOf: []) == [])
        #expect(access(service, F_OK) != 0)
    }

    @Test func unwritableCacheIsRebuiltWithTheNextChange() throws {
        let handler = try Handler.test("com.acme.app", opening: ["todo"])
        try root.makeFIFO(cache)
        #expect(publish([handler], insteadOf: []) == ["\(cache): is a FIFO, not a file"])
        try #require(unlink("\(root.path)/\(cache)") == 0)
        #expect(publish([handler], insteadOf: [handler]) == [])
        #expect(try cached() == ["x-scheme-handler/todo=com.acme.app.desktop;"])
    }

    @Test func filesDamagedByAPowerFailureAreRewrittenAtTheStart() throws {
        let handler = try Handler.test("com.acme.app", opening: ["todo"])
        #expect(publish(handler) == [])
        let names = ["\(applications)/com.acme.app.desktop", "\(services)/com.acme.app.service", cache]
        let written = try names.map { try root.read($0) }
        for name in names { try root.write("\0\0\0", to: name) }
        #expect(publish(handler) == [])
        #expect(try names.map { try root.read($0) } == written)
        #expect(try cached() == ["x-scheme-handler/todo=com.acme.app.desktop;"])
    }

    // MARK: Removal

    @Test(arguments: [false, true]) func filesOfAnUnregisteredHandlerAreRemoved(isIncremental: Bool) throws {
        let gone = try Handler.test("com.acme.gone", opening: ["gone"])
        let kept = try Handler.test("com.acme.kept", opening: ["kept"])
        #expect(publish(gone, kept) == [])
        #expect(isIncremental ? publish([kept], insteadOf: [gone, kept]) == [] : publish(kept) == [])
        #expect(
            try files() == [
                "\(applications)/com.acme.kept.desktop", cache, "\(services)/com.acme.kept.service",
            ]
        )
        #expect(try cached() == ["x-scheme-handler/kept=com.acme.kept.desktop;"])
    }

    @Test(arguments: [false, true]) func handlerThatBecomesASystemHandlerIsWithdrawn(isIncremental: Bool) throws {
        let old = try Handler.test("com.acme.app")
        #expect(publish(old) == [])
        let new = try Handler.test("com.acme.app", isFixed: true)
        #expect(isIncremental ? publish([new], insteadOf: [old]) == [] : publish(new) == [])
        #expect(try files() == [cache])
        #expect(try cached() == [])
    }

    /// The handler can still be called by its name, but opens no URLs.
    @Test(arguments: [false, true]) func handlerThatLosesItsSchemesKeepsOnlyItsService(isIncremental: Bool) throws {
        let old = try Handler.test("com.acme.app")
        #expect(publish(old) == [])
        let new = try Handler.test("com.acme.app", opening: [])
        #expect(isIncremental ? publish([new], insteadOf: [old]) == [] : publish(new) == [])
        #expect(try files() == [cache, "\(services)/com.acme.app.service"])
        #expect(try cached() == [])
    }

    /// The desktop no longer lists the entry.
    @Test func leftOverEntryWithAMissingCommandIsRemoved() throws {
        try root.writeEntry(
            "\(applications)/left.desktop",
            opening: ["web"],
            command: "/nonexistent/openurl -- %u",
            "X-OpenURL-Handler=com.acme.left"
        )
        #expect(publish() == [])
        #expect(try files() == [cache])
    }

    @Test func filesWithTheMarkOfAnUnknownHandlerAreRemoved() throws {
        try root.writeEntry("\(applications)/left.desktop", opening: ["web"], "X-OpenURL-Handler=com.acme.left")
        try root.write(
            "[D-BUS Service]\nName=com.acme.left\nExec=/bin/true\nX-OpenURL-Handler=com.acme.left\n",
            to: "\(services)/com.acme.left.service"
        )
        // The mark names another handler, so the file does not belong to the registry.
        try root.write(
            "[D-BUS Service]\nName=com.acme.odd\nExec=/bin/true\nX-OpenURL-Handler=com.acme.left\n",
            to: "\(services)/com.acme.odd.service"
        )
        #expect(publish() == [])
        #expect(try files() == [cache, "\(services)/com.acme.odd.service"])
    }

    // MARK: Files of other programs

    private let foreignService = "[D-BUS Service]\nName=com.acme.app\nExec=/usr/bin/acme\n"

    @Test(arguments: [false, true]) func filesOfOtherProgramsStayUnchanged(isIncremental: Bool) throws {
        let entry = "\(applications)/com.acme.app.desktop"
        try root.writeEntry(entry, opening: ["todolist"])
        try root.write(foreignService, to: "\(services)/com.acme.app.service")
        let text = try root.read(entry)
        let before = try inodes()
        let handler = try Handler.test("com.acme.app")
        let warning = "\(entry): is another program's entry, which the desktop uses instead of that of com.acme.app"
        #expect((isIncremental ? publish([handler], insteadOf: []) : publish(handler)) == [warning])
        // The files stay after the handler is unregistered.
        #expect((isIncremental ? publish([], insteadOf: [handler]) : publish()) == [])
        #expect(try root.read(entry) == text)
        #expect(try root.read("\(services)/com.acme.app.service") == foreignService)
        #expect(try Set(before).isSubset(of: inodes()))
    }

    @Test(
        arguments: [
            "nonsense", "[Desktop Entry]\nHidden=true\n",
            "[Desktop Entry]\nType=Application\nName=a\nExec=/nonexistent/program %u\n", "",
        ]
    )
    func unlistedForeignEntryStaysToo(_ text: String) throws {
        let entry = "\(applications)/com.acme.app.desktop"
        try root.write(text, to: entry)
        let handler = try Handler.test("com.acme.app")
        let warning = "\(entry): was not written for com.acme.app, so that handler's entry cannot be written here"
        #expect(publish(handler) == [warning])
        #expect(publish([], insteadOf: [handler]) == [])
        #expect(try root.read(entry) == text)
    }

    /// The registry may or may not have noticed the removal yet.
    @Test(arguments: [false, true]) func handlerIsPublishedAfterAForeignEntryIsRemoved(isKnown: Bool) throws {
        let entry = "\(applications)/com.acme.app.desktop"
        try root.writeEntry(entry, opening: ["todolist"])
        let handler = try Handler.test("com.acme.app")
        let before = registry([handler])
        if isKnown { #expect(publish(before, insteadOf: registry([])).count == 1) }
        try #require(unlink("\(root.path)/\(entry)") == 0)
        if isKnown {
            #expect(publish([handler], insteadOf: [handler]) == [])
        } else {
            #expect(publish(before, insteadOf: registry([])) == [])
        }
        #expect(try cached() == ["x-scheme-handler/todolist=com.acme.app.desktop;"])
    }

    @Test func foreignEntryIsReportedUntilItIsRemoved() throws {
        let entry = "\(applications)/com.acme.app.desktop"
        try root.writeEntry(entry, opening: ["todolist"])
        let handler = try Handler.test("com.acme.app")
        let other = try Handler.test("com.acme.other", opening: ["other"])
        let warning = "\(entry): is another program's entry, which the desktop uses instead of that of com.acme.app"
        #expect(publish([handler], insteadOf: []) == [warning])
        #expect(publish([handler, other], insteadOf: [handler]) == [warning])
        #expect(publish([other], insteadOf: [handler, other]) == [])
    }

    /// A package may install an entry that equals the entry that the registry would write.
    @Test(arguments: [false, true]) func completeSystemEntryIsNotShadowed(isIncremental: Bool) throws {
        let handler = try Handler.test("com.acme.app")
        #expect(publish(handler) == [])
        let entry = try #require(try root.read("\(applications)/com.acme.app.desktop"))
        try root.write(entry, to: "data1/applications/com.acme.app.desktop")
        #expect(publish([], insteadOf: [handler]) == [])
        #expect(try files() == [cache])
        try #require(unlink("\(root.path)/\(cache)") == 0)
        #expect((isIncremental ? publish([handler], insteadOf: []) : publish(handler)) == [])
        #expect(try files() == ["\(services)/com.acme.app.service"])
    }

    /// An earlier router has published the handler, and the system's files have come since.
    private func copyToTheSystem(_ id: String) throws {
        for (directory, name) in [(applications, "\(id).desktop"), (services, "\(id).service")] {
            let text = try #require(try root.read("\(directory)/\(name)"))
            try root.write(text, to: "data1\(directory.dropFirst("home".count))/\(name)")
        }
    }

    @Test func filesThatTheSystemHasTooAreRemoved() throws {
        let handler = try Handler.test("com.acme.app", scope: .system)
        #expect(publish(handler) == [])
        try copyToTheSystem("com.acme.app")
        #expect(publish(handler) == [])
        #expect(try files() == [cache])
        #expect(try cached() == [])
        // The handler of the user has another name for the same program.
        #expect(publish(try .test("com.acme.app") { $0.name = "Mine" }) == [])
        #expect(try cached() == ["x-scheme-handler/todolist=com.acme.app.desktop;"])
    }

    /// Publishes again after a change of the desktop's files alone.
    private func publishAfterAChange(_ handler: Handler) -> [String] {
        publish(registry([handler]), insteadOf: registry([handler]))
    }

    @Test func entryThatSomebodyDeletesComesBack() throws {
        let handler = try Handler.test("com.acme.app")
        #expect(publish(handler) == [])
        let entry = try #require(try root.read("\(applications)/com.acme.app.desktop"))
        #expect(unlink("\(root.path)/\(applications)/com.acme.app.desktop") == 0)
        #expect(publishAfterAChange(handler) == [])
        #expect(try root.read("\(applications)/com.acme.app.desktop") == entry)
    }

    @Test func filesThatTheSystemGetsLaterAreRemoved() throws {
        let handler = try Handler.test("com.acme.app", scope: .system)
        #expect(publish(handler) == [])
        try copyToTheSystem("com.acme.app")
        #expect(publishAfterAChange(handler) == [])
        #expect(try files() == [cache])
    }

    @Test func foreignSystemEntryIsNotShadowed() throws {
        try root.writeEntry("data1/applications/com.acme.app.desktop", opening: ["todolist"])
        let handler = try Handler.test("com.acme.app")
        #expect(
            publish(handler) == [
                "data1/applications/com.acme.app.desktop: is another program's entry, which the desktop uses instead of that of "
                    + "com.acme.app"
            ]
        )
        #expect(try files() == ["\(services)/com.acme.app.service"])
    }

    /// The package's entry starts the router's command, so the registry needs no entry of its own.
    @Test func systemEntryThatStartsTheCommandIsSufficient() throws {
        try root.writeEntry(
            "data1/applications/com.acme.app.desktop",
            opening: ["todolist"],
            command: "\(command) -- %u"
        )
        #expect(publish(try .test("com.acme.app")) == [])
        #expect(try files() == ["\(services)/com.acme.app.service"])
    }

    @Test func systemServiceIsNotShadowed() throws {
        try root.write(foreignService, to: "data2/dbus-1/services/com.acme.app.service")
        #expect(publish(try .test("com.acme.app")) == [])
        #expect(try files() == ["\(applications)/com.acme.app.desktop", cache])
    }

    @Test func otherLinesOfTheCacheStay() throws {
        try root.writeEntry("\(applications)/editor.desktop", opening: [])
        try root.write("[MIME Cache]\ntext/plain=editor.desktop;\n", to: cache)
        let handler = try Handler.test("com.acme.app")
        #expect(publish(handler) == [])
        #expect(publish([], insteadOf: [handler]) == [])
        #expect(try root.read(cache) == "[MIME Cache]\ntext/plain=editor.desktop;\n")
    }

    // MARK: Write errors

    @Test func problemsAreReportedAndTheRestIsWritten() throws {
        try root.makeDirectory("\(services)/com.acme.app.service")
        let problems = publish(try .test("com.acme.app"), try .test("com.acme.other", opening: ["other"]))
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("\(services)/com.acme.app.service: ") == true)
        #expect(
            try files() == [
                "\(applications)/com.acme.app.desktop", "\(applications)/com.acme.other.desktop", cache,
                "\(services)/com.acme.app.service", "\(services)/com.acme.other.service",
            ]
        )
    }

    @Test func fileInPlaceOfADirectoryIsReportedForEachKindOfFile() throws {
        try root.write("", to: "home")
        let problems = publish(try .test("com.acme.app"))
        #expect(problems.count == 3)
        #expect(try root.read("home") == "")
    }
}
