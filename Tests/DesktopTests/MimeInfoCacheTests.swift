import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Desktop

final class MimeInfoCacheTests {
    private let tree: TemporaryTree
    private var cache: MimeInfoCache
    private let file = "home/applications/mimeinfo.cache"

    init() throws {
        tree = try TemporaryTree()
        _ = try tree.makeParents(of: file)
        cache = MimeInfoCache(directory: "\(tree.path)/home/applications")
    }

    private func id(_ name: String) throws -> DesktopFileID { try #require(DesktopFileID(rawValue: "\(name).desktop")) }

    @Test func missingCacheIsBuiltCompletely() throws {
        try tree.writeEntry("home/applications/b.desktop", claiming: "x-scheme-handler/foo;text/plain")
        try tree.writeEntry("home/applications/sub/a.desktop", claiming: "x-scheme-handler/foo;")
        try tree.writeEntry("home/applications/hidden.desktop", claiming: "x-scheme-handler/foo;", "Hidden=true")
        try tree.writeEntry("home/applications/try.desktop", claiming: "x-scheme-handler/foo;", "TryExec=/none")
        try cache.update(id("new"), claims: ["x-scheme-handler/FOO", "bad"], insteadOf: [])
        #expect(
            try tree.read(file) == """
                [MIME Cache]
                text/plain=b.desktop;
                x-scheme-handler/foo=b.desktop;new.desktop;sub-a.desktop;try.desktop;

                """
        )
        // The result equals the output of `update-desktop-database`, which does not know the new entry yet.
        try cache.update(id("new"), claims: [], insteadOf: ["x-scheme-handler/foo", "bad"])
        let ours = try tree.read(file)
        _ = try run(["update-desktop-database", cache.directory])
        #expect(try tree.read(file) == ours)
    }

    /// GLib finds only what the cache lists, so an entry that this module does not accept has to stay in the cache.
    @Test(arguments: [
        "Terminal=False", "NoDisplay=TRUE", "Hidden=False", "Hidden=TRUE", "Hidden=true", "DBusActivatable=no",
        #"Name=bad\q"#, #"Icon=C:\foo\bar"#, #"Path=C:\x"#, "Generic Name=Foo", "Type=Link", "Type=Other", "Exec=",
        #"Exec="a"#, "Exec=a %y", #"Exec=a \q"#, #"TryExec=C:\q"#, "Name [de]=x", "junk", "[Desktop Action \u{DC}ber]",
        #"MimeType=text/plain;a\q/b"#, "MimeType=text/plain ;text/html\t",
        "[Other]\n[Desktop Entry]\nMimeType=text/html",
    ])
    func everyEntryOfTheToolIsListed(_ line: String) throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/foo;text/plain;", line)
        try cache.rebuild()
        let ours = try tree.read(file)
        _ = try run(["update-desktop-database", "-q", cache.directory])
        #expect(try tree.read(file) == ours)
    }

    private static let unusual =
        [
            "", "junk", "[MIME Cache]", "[MIME Cache]\r\na/b=c.desktop;\r\n", "[Other]\na/b=c.desktop;\n",
            "a/b=x.desktop;\n",
        ]
        + [
            // These files are unordered, or have a duplicate, a missing key, sign or end, a comment, or another group.
            "b/b=a.desktop;\na/b=c.desktop;\n", "a/b=c.desktop;\na/b=d.desktop;\n", "=c.desktop;\n", "junk\n",
            "a/b=c.desktop;",
            "# a=b\na/b=c.desktop;\n", "\na/b=c.desktop;\n", "a/b=c.desktop;\n[x=y]\nb/b=c.desktop\n", "a/b=c.desk\0\0",
        ].map { "[MIME Cache]\n" + $0 }

    @Test(arguments: unusual)
    func malformedCacheIsRebuilt(_ text: String) throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/x")
        try tree.write(text, to: file)
        try cache.update(id("none"), claims: [], insteadOf: [])
        #expect(try tree.read(file) == "[MIME Cache]\nx-scheme-handler/x=a.desktop;\n")
    }

    /// The contents are possible results of a power failure before the file was on the disk.
    @Test(arguments: ["", "\0\0\0\0", "[MIME Cache]\na/b=c.desk\0\0"])
    func damagedCacheDoesNotAgree(_ text: String) throws {
        try tree.write(text, to: file)
        #expect(try !cache.agrees(with: []) { _ in true })
    }

    @Test func missingCacheAgreesWithoutEntries() throws {
        #expect(try cache.agrees(with: []) { _ in true })
        try tree.write("[MIME Cache]\nx-scheme-handler/y=other.desktop;\n", to: file)
        #expect(try cache.agrees(with: []) { _ in true })
        #expect(try !cache.agrees(with: []) { _ in false })
    }

    private static let agreements: [(String, Bool)] = [
        ("a/a=m.desktop;\nb/b=a.desktop;m.desktop;z.desktop;\n", true), ("a/a=m.desktop;\nb/b=m.desktop\n", true),
        ("a/a=m.desktop;\nb/b=m.desktop;\nc/c=m.desktop;\n", false), ("a/a=m.desktop;\n", false),
        ("b/b=m.desktop;\n", false), ("a/a=m.desktop;\nb/b=a.desktop;\n", false), ("", false),
        ("a/a=m.desktop;\nb/b=m.desktop;m.desktop;\n", false), ("a/a=gone.desktop;m.desktop;\nb/b=m.desktop;\n", false),
        ("b/b=m.desktop;\na/a=m.desktop;\n", false),
    ]

    private func entry(_ name: String, claiming types: String) throws -> DesktopEntry {
        let file = try tree.writeEntry("home/applications/\(name).desktop", claiming: types)
        let location = DesktopFile.Location(id: try id(name), file: file, precedence: 0)
        guard case .application(let entry) = DesktopFile(reading: location, languages: []).content else {
            throw FileError("is no entry")
        }
        return entry
    }

    @Test(arguments: agreements) func agreementChecksTheLinesOfAnEntry(_ lines: String, _ isRight: Bool) throws {
        let entry = try entry("m", claiming: "b/b;a/a")
        #expect(try !cache.agrees(with: [entry]) { _ in true })
        try tree.write("[MIME Cache]\n\(lines)", to: file)
        #expect(try cache.agrees(with: [entry]) { !$0.rawValue.hasPrefix("gone") } == isRight)
    }

    /// The names contain separators and spaces.
    @Test func rebuiltCacheAgrees() throws {
        let entries = try ["m", "z;z", "a b"].map { try entry($0, claiming: "b/b;a/\($0.utf8.count)") }
        try cache.rebuild()
        #expect(try cache.agrees(with: entries) { _ in false })
    }

    private static let changes: [(String, from: [String], to: [String], String)] = [
        // The change adds a new line, or an element at the start, in the middle or at the end of a line.
        ("a/a=a;\nc/c=x;\n", [], ["b/b"], "a/a=a;\nb/b=m;\nc/c=x;\n"),
        ("b/b=a;\n", [], ["a/a", "c/c", "c/d"], "a/a=m;\nb/b=a;\nc/c=m;\nc/d=m;\n"),
        ("b/b=a;z;\n", [], ["b/b"], "b/b=a;m;z;\n"), ("b/b=z;\n", [], ["b/b"], "b/b=m;z;\n"),
        ("b/b=a\n", [], ["b/b"], "b/b=a;m;\n"), ("b/b=a;;c;\n", [], ["b/b"], "b/b=a;c;m;\n"),
        ("", [], ["b/b", "a/a"], "a/a=m;\nb/b=m;\n"),
        // The file already has the requested state.
        ("b/b=m;\n", [], ["b/b"], "b/b=m;\n"), ("b/b=m;a;m;\n", ["b/b"], [], "b/b=a;\n"),
        ("b/b=m;a\n", ["b/b", "c/c"], ["b/b"], "b/b=m;a\n"),
        // The entry leaves the lines of types that it no longer claims. Other names that contain its name stay.
        ("a/a=m;\nb/b=am;m;mm;\nc/c=mm;\n", ["a/a", "b/b", "c/c"], [], "b/b=am;mm;\nc/c=mm;\n"),
        ("a/a=a;m;\nb/b=m;\n", ["a/a", "b/b"], ["b/b", "c/c"], "a/a=a;\nb/b=m;\nc/c=m;\n"),
        // A type is a prefix of another type, or sorts next to the separator.
        ("a/a=a;\na/a+x=b;\n", [], ["a/a+w", "a/aa"], "a/a=a;\na/a+w=m;\na/a+x=b;\na/aa=m;\n"),
    ]

    @Test(arguments: changes)
    func editChangesOnlyTheEntrysLines(_ before: String, from: [String], to types: [String], _ after: String) throws {
        func lines(_ text: String) -> String {
            // The table uses short names instead of IDs.
            text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                guard let sign = line.firstIndex(of: "=") else { return String(line) }
                let ids = line[sign...].dropFirst().split(separator: ";", omittingEmptySubsequences: false)
                return line[...sign] + ids.map { $0.isEmpty ? "" : "\($0).desktop" }.joined(separator: ";")
            }.joined(separator: "\n")
        }
        try tree.write("[MIME Cache]\n" + lines(before), to: file)
        try cache.update(id("m"), claims: types, insteadOf: from)
        #expect(try tree.read(file) == "[MIME Cache]\n" + lines(after))
    }

    /// Makes 300 random changes, some of them by another program, and compares each result with a model.
    @Test func manyChangesKeepTheCacheCorrect() throws {
        var generator = SeededGenerator(seed: 0xCAC4E)
        let types = (0..<40).map { "x-scheme-handler/s\($0)" }
        let ids = try ["a", "aa", "b", "b.b", "org.x.Y", "z;z"].map(id)
        var model: [DesktopFileID: Set<String>] = [:]
        try tree.write("[MIME Cache]\n", to: file)
        for _ in 0..<300 {
            let changed = ids.randomElement(using: &generator)!
            let claims = Set(generator.chance(20) ? [] : types.filter { _ in generator.chance(15) })
            if generator.chance(20) {
                // Another program makes this change.
                model[changed] = claims
                try tree.write(text(of: model), to: file)
            } else {
                try cache.update(changed, claims: claims, insteadOf: model[changed] ?? [])
                model[changed] = claims
            }
            #expect(try tree.read(file) == text(of: model))
        }
    }

    private func text(of claims: [DesktopFileID: Set<String>]) -> String {
        let lines = Set(claims.values.joined()).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { type in
            "\(type)=\(KeyFileText.strings(claims.filter { $0.value.contains(type) }.keys.sorted().map(\.rawValue)))\n"
        }
        return "[MIME Cache]\n" + lines.joined()
    }

    @Test func cacheOfAnotherProgramIsReadAgain() throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/x")
        try cache.update(id("a"), claims: ["x-scheme-handler/x"], insteadOf: [])
        try tree.write("[MIME Cache]\nx-scheme-handler/y=b.desktop;\nx-scheme-handler/x=b.desktop;\n", to: file)
        try cache.update(id("c"), claims: ["x-scheme-handler/x"], insteadOf: [])
        #expect(try tree.read(file) == "[MIME Cache]\nx-scheme-handler/x=a.desktop;c.desktop;\n")
    }

    /// `update-desktop-database` puts a new file in place while the router still writes its own.
    @Test(arguments: [false, true]) func cacheThatIsReplacedMeanwhileStays(_ wasThere: Bool) throws {
        var version: FileVersion?
        if wasThere {
            try tree.write("[MIME Cache]\na/a=a.desktop;\n", to: file)
            version = try MimeCacheFile(cache.path, limit: 1 << 20).version
        }
        let (path, other) = (cache.path, try tree.write("[MIME Cache]\nb/b=b.desktop;\n", to: "other"))
        let isReplaced = try cache.replace(version, size: 1) { (output) throws(FileError) in
            try write([0], to: output)
            guard rename(other, path) == 0 else { throw FileError(code: errno) }
        }
        #expect(!isReplaced)
        #expect(try tree.read(file) == "[MIME Cache]\nb/b=b.desktop;\n")
        #expect(try names(inDirectory: cache.directory)?.count == 1)
        // The next change starts from the new file.
        try cache.update(id("c"), claims: ["b/b"], insteadOf: [])
        #expect(try tree.read(file) == "[MIME Cache]\nb/b=b.desktop;c.desktop;\n")
    }

    /// Every file can be edited. An ordered file stays ordered, and a second edit with the same claims changes nothing.
    @Test func anyFileCanBeEdited() throws {
        var generator = SeededGenerator(seed: 0xB17E5)
        let alphabet = Array("ab/=;\n\\\r#[\0\u{E9}".utf8)
        for _ in 0..<1000 {
            var bytes = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            if generator.chance(50) { bytes = MimeCacheFile.heading + bytes }
            let changed = try noted(in: bytes)
            guard MimeCacheFile.areOrdered(bytes) else { continue }
            #expect(MimeCacheFile.areOrdered(changed))
            #expect(try noted(in: changed) == changed)
        }
    }

    /// Returns the contents after an edit that changes the claims of an entry.
    private func noted(in bytes: [UInt8]) throws -> [UInt8] {
        try tree.write(bytes, to: file)
        let old = try MimeCacheFile(cache.path, limit: 1 << 20)
        let edits = try old.edits(noting: id("a"), claims: ["a/a", "b/b"], insteadOf: ["a/b"])
        let version = try replaceDerivedFile(cache.path, size: old.size(with: edits)) { (output) throws(FileError) in
            try old.copy(to: output, with: edits)
        }
        let new = try MimeCacheFile(cache.path, limit: 1 << 20)
        #expect(new.version == version)
        return try new.contents()
    }

    /// The line is longer than the part that is read first, and the file is longer than one block.
    @Test func longLinesAndFilesAreEdited() throws {
        let ids = (0..<50_000).map { "app\(100_000 + $0).desktop" }
        let line = "a/b=\(ids.joined(separator: ";"));\n"
        try tree.write("[MIME Cache]\na/a=a.desktop;\n\(line)c/c=a.desktop;\n", to: file)
        try cache.update(id("app100000x"), claims: ["a/b", "a/c"], insteadOf: [])
        let after = line.replacing("app100001.", with: "app100000x.desktop;app100001.")
        #expect(
            try tree.read(file)
                == "[MIME Cache]\na/a=a.desktop;\n\(after)a/c=app100000x.desktop;\nc/c=a.desktop;\n"
        )
    }

    /// Another program changes the file in place instead of replacing it.
    @Test(arguments: [10, 990, 1010]) func fileChangedDuringReadingIsReported(_ size: Int) throws {
        try tree.write(String(repeating: "a", count: 1000), to: file)
        let open = try MimeCacheFile(cache.path, limit: 1 << 20)
        try tree.write(String(repeating: "b", count: size), to: file)
        let changed = FileError("was changed while it was being read")
        let null = Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        #expect(throws: changed) { try open.contents() }
        #expect(throws: changed) { try open.copy(to: null, with: []) }
        let lines = [MimeCacheFile.Edit(range: 5..<6, line: []), MimeCacheFile.Edit(range: 3..<4, line: [])]
        #expect(throws: changed) { try open.copy(to: null, with: lines) }
    }

    /// GLib looks for the lower-case form only, so another spelling changes the applications that GLib finds.
    @Test func linesOfOtherProgramsKeepTheirSpelling() throws {
        try tree.writeEntry("home/applications/other.desktop", claiming: "X-Scheme-Handler/Foo;text/Plain;text/plain")
        try cache.rebuild()
        #expect(
            try tree.read(file)
                == "[MIME Cache]\nX-Scheme-Handler/Foo=other.desktop;\ntext/Plain=other.desktop;\ntext/plain=other.desktop;\n"
        )
        try cache.update(id("own"), claims: ["x-scheme-handler/foo"], insteadOf: [])
        #expect(try tree.read(file).hasSuffix("text/plain=other.desktop;\nx-scheme-handler/foo=own.desktop;\n"))
    }

    @Test func failedWriteKeepsTheFile() throws {
        let before = "[MIME Cache]\na/a=a.desktop;\n"
        try tree.write(before, to: file)
        let open = try MimeCacheFile(cache.path, limit: 1 << 20)
        let problem = FileWriteError(cache.path, "cannot be written: No space left on device")
        #expect(throws: problem) {
            try replaceDerivedFile(cache.path, size: 100) { (_) throws(FileError) in
                let full = Glibc.open("/dev/full", O_WRONLY | O_CLOEXEC)
                defer { close(full) }
                try open.copy(to: full, with: [])
            }
        }
        #expect(try tree.read(file) == before)
        #expect(try names(inDirectory: cache.directory)?.count == 1)
    }

    @Test func tooLargeFileIsReported() throws {
        try tree.write("", to: file)
        #expect(truncate(cache.path, off_t(MimeInfoCache.limit) + 1) == 0)
        let problem = FileWriteError(cache.path, "is larger than \(MimeInfoCache.limit) bytes")
        #expect(throws: problem) { try cache.update(id("a"), claims: ["a/a"], insteadOf: []) }
    }

    /// GLib finds an application that was added to a cache of 100,000 schemes.
    @Test func glibFindsAnAdditionInALargeCache() throws {
        let many = (0..<100_000).map { "\($0)" }.sorted().map { "x-scheme-handler/scheme\($0)=other.desktop;" }
        try tree.write("[MIME Cache]\n" + many.joined(separator: "\n") + "\n", to: file)
        try tree.writeEntry(
            "home/applications/new.desktop",
            claiming: "x-scheme-handler/scheme5x;x-scheme-handler/scheme7"
        )
        try cache.update(id("new"), claims: ["x-scheme-handler/scheme5x", "x-scheme-handler/scheme7"], insteadOf: [])
        #expect(
            try tree.read(file).contains("\nx-scheme-handler/scheme5=other.desktop;\nx-scheme-handler/scheme50=other")
        )
        #expect(try tree.read(file).contains("\nx-scheme-handler/scheme7=new.desktop;other.desktop;\n"))
        let lines = try tree.read(file).split(separator: "\n")
        #expect(lines.count == 100_002)
        let types = ["x-scheme-handler/scheme5x", "x-scheme-handler/scheme7"]
        let script = try pythonProgram("default_applications")
        let answer = try run(["/usr/bin/python3", "-c", script] + types, environment: tree.environment)
        #expect(answer == "new.desktop\nnew.desktop\n")
    }

    @Test func entryThatTheDeviceCannotReadIsLeftOutForNow() throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/x")
        // Reading the memory of this process from its start fails with the error of a device.
        let bad = "\(tree.path)/home/applications/b.desktop"
        #expect(symlink("/proc/self/mem", bad) == 0)
        #expect(try !cache.rebuild())
        #expect(try tree.read(file) == "[MIME Cache]\nx-scheme-handler/x=a.desktop;\n")
        // The desktop reads every new cache, so the same contents are not written again.
        let version = try MimeCacheFile(cache.path, limit: 1 << 20).version
        #expect(try !cache.rebuild())
        #expect(try MimeCacheFile(cache.path, limit: 1 << 20).version == version)
        #expect(unlink(bad) == 0)
        #expect(try cache.rebuild())
    }

    @Test func unreadableFileIsNotReplaced() throws {
        let place = "\(tree.path)/\(file)"
        #expect(mkfifo(place, 0o600) == 0)
        #expect(throws: FileWriteError(place, "is a FIFO, not a file")) {
            try cache.update(id("a"), claims: [], insteadOf: [])
        }
        #expect(throws: FileWriteError(place, "is a FIFO, not a file")) { try cache.rebuild() }
    }
}
