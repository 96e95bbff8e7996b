import FoundationEssentials
import Glibc
import SQLite
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// Repeated loading, within one process and from one process to the next.
@Suite(.timeLimit(.minutes(10))) struct ManifestCacheTests {
    private let root: TemporaryDirectory
    private let directories: RegistryDirectories
    private let cache: ManifestCache
    /// A time long after all writes of the test.
    private let later = currentTime() + 3_600_000_000_000

    init() throws {
        root = try TemporaryDirectory()
        directories = RegistryDirectories(user: "\(root.path)/user", system: ["\(root.path)/one"])
        cache = ManifestCache(path: "\(root.path)/cache/openurl/registry.sqlite", writer: "test")
    }

    private func write(_ id: String, schemes: [String], to directory: String = "user") throws {
        try root.write(try manifest(id, schemes: schemes).encoded(), to: "\(directory)/\(id).plist")
    }

    private func schemes(_ loader: RegistryLoader) -> [String] { loader.registry.schemes.map(\.rawValue) }

    private func update(_ loader: inout RegistryLoader, now: Int64) -> Bool { loader.update(now: now) }

    /// Loads the registry as a start of the program does.
    private func start(_ cache: ManifestCache) throws -> RegistryLoader {
        var loader = RegistryLoader(directories)
        try loader.restore(from: cache)
        _ = loader.update(now: later)
        try loader.save(to: cache)
        return loader
    }

    // MARK: Within a process

    @Test func onlyChangedFilesAreReadAgain() throws {
        for name in ["a", "b", "c"] { try write("com.acme.\(name)", schemes: [name]) }
        try root.write([], to: "user/com.acme.bad.plist")
        var loader = RegistryLoader(directories)
        #expect(update(&loader, now: later))
        #expect(loader.readCount == 4)
        #expect(!update(&loader, now: later))
        #expect(loader.readCount == 4)

        try write("com.acme.b", schemes: ["b", "more"])
        #expect(update(&loader, now: later))
        #expect(loader.readCount == 5)
        #expect(schemes(loader) == ["a", "b", "c", "more"])

        try root.write(try manifest("com.acme.bad", schemes: ["good"]).encoded(), to: "user/com.acme.bad.plist")
        try write("com.acme.d", schemes: ["d"], to: "one")
        try #require(unlink("\(root.path)/user/com.acme.a.plist") == 0)
        #expect(update(&loader, now: later))
        #expect(loader.readCount == 7)
        #expect(schemes(loader) == ["b", "c", "d", "good", "more"])
        #expect(loader.registry.diagnostics.isEmpty)
    }

    @Test func recentlyChangedFilesAreReadAgain() throws {
        try write("com.acme.app", schemes: ["a"])
        var loader = RegistryLoader(directories)
        #expect(update(&loader, now: currentTime() - 3_600_000_000_000))
        #expect(!update(&loader, now: later))
        #expect(loader.readCount == 2)
    }

    @Test func cacheThatOthersCanChangeIsNotUsed() throws {
        try write("com.acme.a", schemes: ["a"])
        var first = RegistryLoader(directories)
        _ = update(&first, now: later)
        try first.save(to: cache)
        try #require(chmod(cache.path, 0o666) == 0)
        var second = RegistryLoader(directories)
        var error = #expect(throws: ManifestCacheError.self) { try second.restore(from: cache) }
        #expect(error?.reason == "can be changed by every user; run `chmod o-w \(cache.path)`")
        let target = "\(root.path)/target"
        try #require(chmod(cache.path, 0o600) == 0 && rename(cache.path, target) == 0)
        try #require(symlink(target, cache.path) == 0)
        error = #expect(throws: ManifestCacheError.self) { try second.restore(from: cache) }
        #expect(error?.reason == "it is a link, not a file")
    }

    @Test func registrationUpdatesOnlyItsHandler() throws {
        try write("com.acme.present", schemes: ["present"])
        try root.write(try manifest("com.acme.app", schemes: ["one"]).encoded(), to: "opt/one.plist")
        try root.write(try manifest("com.acme.app", schemes: ["two"]).encoded(), to: "opt/Two.app/Info.plist")
        try root.write(try manifest("com.acme.other", schemes: ["other"]).encoded(), to: "user/Other.app/Info.plist")
        var loader = RegistryLoader(directories)
        _ = update(&loader, now: later)
        let id = try BundleIdentifier("com.acme.app")

        /// Expects that an update for one change gives the same registry as a complete reload.
        func expectTakenUp(_ isAnother: Bool, _ schemes: [String], _ registered: Registration? = nil) {
            let changed =
                if let registered { loader.update(registrationOf: registered.handler) } else {
                    loader.update(unregistrationOf: id)
                }
            #expect(changed == isAnother)
            #expect(self.schemes(loader) == schemes)
            let paths = loader.paths
            let everything = Registry(loading: directories)
            #expect(loader.registry.handlers == everything.handlers)
            #expect(loader.registry.diagnostics == everything.diagnostics)
            let changedOtherwise = update(&loader, now: later)
            #expect(!changedOtherwise)
            #expect(loader.paths == paths)
        }
        expectTakenUp(false, ["other", "present"])
        let one = try directories.register("\(root.path)/opt/one.plist", in: loader.registry, isReplacing: true)
        expectTakenUp(true, ["one", "other", "present"], one)
        expectTakenUp(false, ["one", "other", "present"], one)
        let two = try directories.register("\(root.path)/opt/Two.app", in: loader.registry, isReplacing: true)
        expectTakenUp(true, ["other", "present", "two"], two)
        try directories.unregister(id, from: loader.registry)
        expectTakenUp(true, ["other", "present"])
        // The link has another name than the handler, and is removed again.
        try root.link("user/A.app", to: "../opt/Two.app")
        let link = try directories.register("\(root.path)/user/A.app", in: loader.registry, isReplacing: true)
        expectTakenUp(true, ["other", "present", "two"], link)
        try #require(unlink("\(root.path)/user/A.app") == 0)
        expectTakenUp(true, ["other", "present"])
        try root.link("user/com.acme.app.plist", to: "../opt/nothing.plist")
        expectTakenUp(true, ["other", "present"])

        // An update for one handler leaves other changes to the next complete update.
        try write("com.acme.present", schemes: ["more"])
        let changed = loader.update(unregistrationOf: id)
        #expect(!changed)
        let changedOtherwise = update(&loader, now: later)
        #expect(changedOtherwise)
        #expect(schemes(loader) == ["more", "other"])
    }

    @Test func pathsListEveryDependency() throws {
        try write("com.acme.plain", schemes: ["plain"])
        try root.write(try manifest("com.acme.app").encoded(), to: "opt/Acme.app/Info.plist")
        try root.link("user/com.acme.app.app", to: "../opt/Acme.app")
        try root.link("user/com.acme.broken.plist", to: "../opt/nothing.plist")
        try root.write(try manifest("com.acme.in").encoded(), to: "one/In.app/Info.plist")
        var loader = RegistryLoader(directories)
        #expect(loader.paths == ["\(root.path)/user", "\(root.path)/one"])
        _ = loader.update(now: later)
        #expect(
            Set(loader.paths.map { String($0.dropFirst(root.path.count + 1)) }) == [
                "user", "one", "user/com.acme.app.app/Info.plist", "user/com.acme.broken.plist",
                "one/In.app/Info.plist",
            ]
        )
    }

    // MARK: From one process to the next

    @Test func nextProcessReadsOnlyTheCache() throws {
        try write("com.acme.a", schemes: ["a"])
        try root.write(try manifest("com.acme.app", schemes: ["b"]).encoded(), to: "opt/Acme.app/Info.plist")
        try root.link("user/com.acme.app.app", to: "../opt/Acme.app")
        try root.write([1, 2], to: "user/com.acme.bad.plist")
        let first = try start(cache)
        #expect(first.readCount == 3)
        #expect(first.registry.diagnostics.count == 1)
        let second = try start(cache)
        #expect(second.readCount == 0)
        #expect(second.registry.handlers == first.registry.handlers)
        #expect(second.registry.diagnostics == first.registry.diagnostics)
    }

    @Test func filesThatChangedMeanwhileAreRead() throws {
        try write("com.acme.a", schemes: ["a"])
        try write("com.acme.b", schemes: ["b"])
        _ = try start(cache)
        // The new file has the same size and the same time stamps.
        let file = "user/com.acme.a.plist"
        let status = try status("\(root.path)/\(file)")
        try write("com.acme.a", schemes: ["x"])
        try root.setDate(file, seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
        try #require(unlink("\(root.path)/user/com.acme.b.plist") == 0)
        let second = try start(cache)
        #expect(second.readCount == 1)
        #expect(schemes(second) == ["x"])
        #expect(try cache.read().keys.sorted() == ["\(root.path)/\(file)"])
    }

    @Test func cacheOfAnotherBuildIsIgnored() throws {
        try write("com.acme.a", schemes: ["a"])
        _ = try start(cache)
        #expect(try start(ManifestCache(path: path, writer: "another")).readCount == 1)
        #expect(try start(ManifestCache(path: path, writer: "another")).readCount == 0)
    }

    /// While no descriptor is free, nothing says which manifests in the cache are in use.
    @Test func cacheStaysWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let directories = RegistryDirectories(user: "\(root.path)/user", system: [])
            let cache = ManifestCache(path: "\(root.path)/cache/openurl/registry.sqlite", writer: "test")
            let later = currentTime() + 3_600_000_000_000
            try root.write(try manifest("com.acme.a").encoded(), to: "user/com.acme.a.plist")
            let elsewhere = try root.write(try manifest("com.acme.b").encoded(), to: "opt/b.plist")
            try root.link("user/com.acme.b.plist", to: elsewhere)
            var first = RegistryLoader(directories)
            _ = first.update(now: later)
            try first.save(to: cache)
            var second = RegistryLoader(directories)
            try second.restore(from: cache)
            let taken = TakenDescriptors()
            _ = second.update(now: later)
            taken.giveBack()
            #expect(second.registry.handlers.isEmpty && second.isStale)
            _ = second.update(now: later)
            #expect(second.registry.handlers.count == 2 && second.readCount == 0)
            withExtendedLifetime(root) {}
        }
    }

    private var path: String { "\(root.path)/cache/openurl/registry.sqlite" }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status
    }

    // MARK: Invalid cache files

    /// Returns the reason why a start ignores the cache.
    private func reason(of body: () throws -> Void) throws -> String {
        do {
            try body()
        } catch let error as ManifestCacheError {
            #expect(error.description == "the cache \(path) is not used: \(error.reason)")
            return error.reason
        }
        return try #require(nil)
    }

    @Test func damagedCacheIsRebuilt() throws {
        try write("com.acme.a", schemes: ["a"])
        for damage in ["text", "truncated", "overwritten", "table"] {
            _ = try start(cache)
            switch damage {
            case "text": try root.write(Array(repeating: 0x41, count: 9000), to: "cache/openurl/registry.sqlite")
            case "truncated": try #require(truncate(path, 5000) == 0)
            case "overwritten":
                var bytes = Array(try Data(contentsOf: URL(filePath: path)))
                for index in 4096..<bytes.count { bytes[index] = 0xFF }
                try root.write(bytes, to: "cache/openurl/registry.sqlite")
            default: try Database(path: path, .existing).execute("DROP TABLE manifests")
            }
            var loader = RegistryLoader(directories)
            #expect(try reason { try loader.restore(from: cache) }.hasSuffix("; it will be rebuilt"), "\(damage)")
            _ = loader.update(now: later)
            #expect(schemes(loader) == ["a"])
            try loader.save(to: cache)
            #expect(try start(cache).readCount == 0)
        }
    }

    @Test func damagedRowIsReadAgain() throws {
        for name in ["a", "b"] { try write("com.acme.\(name)", schemes: [name]) }
        _ = try start(cache)
        // The byte may already be 0xFF.
        try Database(path: path, .existing).execute(
            """
            UPDATE manifests SET manifest = substr(manifest, 1, 20)
            || CASE substr(manifest, 21, 1) WHEN x'ff' THEN x'00' ELSE x'ff' END || substr(manifest, 22)
            WHERE path LIKE '%.a.plist'
            """
        )
        let second = try start(cache)
        #expect(second.readCount == 1)
        #expect(schemes(second) == ["a", "b"])
        #expect(try start(cache).readCount == 0)
    }

    @Test(arguments: [
        ("CREATE TABLE mail (x)", "it belongs to another program"),
        (
            "CREATE TABLE manifests (x); PRAGMA application_id = 7; PRAGMA user_version = 1",
            "it belongs to another program"
        ),
        ("PRAGMA application_id = 0x6F55524C; PRAGMA user_version = 2", "it belongs to a later version"),
    ])
    func foreignDatabaseIsKept(_ sql: String, _ expected: String) throws {
        try root.makeDirectory("cache/openurl")
        try Database(path: path, .created).execute(sql)
        let before = try Data(contentsOf: URL(filePath: path))
        try write("com.acme.a", schemes: ["a"])
        var loader = RegistryLoader(directories)
        #expect(try reason { try loader.restore(from: cache) } == expected)
        _ = loader.update(now: later)
        #expect(try reason { try loader.save(to: cache) } == expected)
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        #expect(schemes(loader) == ["a"])
    }

    /// The file system of a directory may respond only after the start.
    @Test func manifestsOfASilentDirectoryStayCached() throws {
        for name in ["a", "b"] { try write("com.acme.\(name)", schemes: [name]) }
        _ = try start(cache)
        var files = ManifestFiles()
        try files.restore(from: cache)
        let place = DirectoryPlace(path: "\(root.path)/user", scope: .user, precedence: 0)
        let silent = DirectoryContents().silent(at: place, files: &files)
        files.endPass()
        #expect(silent.isStale && silent.handlers.isEmpty)
        try files.save(to: cache)
        #expect(try start(cache).readCount == 0)
        let contents = DirectoryContents(of: place, before: silent, files: &files, now: later)
        #expect(!contents.isStale && contents.handlers.count == 2)
        #expect(files.readCount == 0)

        // Later, the entries are known, and no other manifest stays.
        try #require(unlink("\(root.path)/user/com.acme.b.plist") == 0)
        let known = DirectoryContents(of: place, before: contents, files: &files, now: later)
        var next = ManifestFiles()
        try next.restore(from: cache)
        let silentAgain = known.silent(at: place, files: &next)
        next.endPass()
        #expect(silentAgain.isStale && silentAgain.handlers.count == 1)
        try next.save(to: cache)
        #expect(try cache.read().keys.sorted() == ["\(root.path)/user/com.acme.a.plist"])
    }

    /// An entry may lead to a file system that responds only after the start, or that stops responding.
    @Test func manifestOfASilentEntryStaysCached() throws {
        for name in ["a", "b"] { try write("com.acme.\(name)", schemes: [name]) }
        _ = try start(cache)
        var files = ManifestFiles()
        try files.restore(from: cache)
        let place = DirectoryPlace(path: "\(root.path)/user", scope: .user, precedence: 0)
        let silent: Set<String> = ["com.acme.a.plist"]
        var contents = DirectoryContents()
        for count in [1, 2] {
            contents = DirectoryContents(of: place, before: contents, files: &files, now: later, leavingOut: silent)
            files.endPass()
            #expect(contents.isStale && contents.handlers.count == count)
            try files.save(to: cache)
            #expect(try start(cache).readCount == 0)
            contents = DirectoryContents(of: place, before: contents, files: &files, now: later)
            files.endPass()
            #expect(!contents.isStale && contents.handlers.count == 2)
        }
        #expect(files.readCount == 0)
    }

    @Test func lockedCacheFailsAtOnce() throws {
        try write("com.acme.a", schemes: ["a"])
        _ = try start(cache)
        let other = try Database(path: path, .existing)
        try other.execute("BEGIN EXCLUSIVE")
        var loader = RegistryLoader(directories)
        #expect(try reason { try loader.restore(from: cache) } == "database is locked")
        _ = loader.update(now: later)
        #expect(try reason { try loader.save(to: cache) } == "database is locked")
        try other.execute("COMMIT")
        // A later save succeeds.
        try loader.save(to: cache)
        #expect(try start(cache).readCount == 0)
    }

    @Test func cachePathThatIsNotAFileIsKept() throws {
        try write("com.acme.a", schemes: ["a"])
        var loader = RegistryLoader(directories)
        _ = loader.update(now: later)
        try root.makeFIFO("cache/openurl/registry.sqlite")
        #expect(try reason { try loader.restore(from: cache) } == "it is a FIFO, not a file")
        #expect(try reason { try loader.save(to: cache) } == "it is a FIFO, not a file")
        let nowhere = ManifestCache(path: "\(root.path)/user/com.acme.a.plist/x/registry.sqlite", writer: "test")
        #expect(throws: ManifestCacheError.self) { try loader.save(to: nowhere) }
    }

    @Test func environmentDeterminesThePathOfTheCache() throws {
        func path(_ environment: [String: String]) -> String? { ManifestCache(environment: environment)?.path }
        #expect(path(["XDG_CACHE_HOME": "/c", "HOME": "/h"]) == "/c/openurl/registry.sqlite")
        #expect(path(["XDG_CACHE_HOME": "relative", "HOME": "/h"]) == "/h/.cache/openurl/registry.sqlite")
        #expect(path(["HOME": "/h"]) == "/h/.cache/openurl/registry.sqlite")
        #expect(path([:]) == nil)
    }
}
