import Glibc
import Testing

@testable import Desktop

@Suite struct MimeInfoCacheTests {
    private let tree: TemporaryTree
    private let cache: MimeInfoCache
    private let file = "home/applications/mimeinfo.cache"

    init() throws {
        tree = try TemporaryTree()
        _ = try tree.makeParents(of: file)
        cache = MimeInfoCache(directory: "\(tree.path)/home/applications")
    }

    private func id(_ name: String) throws -> DesktopFileID { try #require(DesktopFileID(rawValue: "\(name).desktop")) }

    @Test func aCacheThatIsMissingIsMadeComplete() throws {
        try tree.writeEntry("home/applications/b.desktop", claiming: "x-scheme-handler/foo;text/plain")
        try tree.writeEntry("home/applications/sub/a.desktop", claiming: "x-scheme-handler/foo;")
        try tree.writeEntry("home/applications/hidden.desktop", claiming: "x-scheme-handler/foo;", "Hidden=true")
        try tree.writeEntry("home/applications/try.desktop", claiming: "x-scheme-handler/foo;", "TryExec=/none")
        try cache.add(id("new"), mimeTypes: ["x-scheme-handler/FOO", "bad"])
        #expect(
            try tree.read(file) == """
                [MIME Cache]
                text/plain=b.desktop;
                x-scheme-handler/foo=b.desktop;new.desktop;sub-a.desktop;try.desktop;

                """
        )
        // The same as by the program that everybody uses, which knows nothing of the entry that is to come.
        try cache.remove(id("new"))
        let ours = try tree.read(file)
        _ = try run(["update-desktop-database", cache.directory])
        #expect(try tree.read(file) == ours)
    }

    @Test(arguments: ["", "junk", "[Other]\na/b=c.desktop;\n", "a/b=x.desktop;\n"])
    func somethingThatIsNoCacheIsMadeAnew(_ text: String) throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/x")
        try tree.write(text, to: file)
        try cache.remove(id("none"))
        #expect(try tree.read(file) == "[MIME Cache]\nx-scheme-handler/x=a.desktop;\n")
    }

    /// What a loss of power may leave of a file that was not waited for.
    @Test(arguments: ["", "\0\0\0\0", "[MIME Cache]\na/b=c.desk\0\0"])
    func aCacheThatIsDamagedIsMadeAnew(_ text: String) throws {
        try tree.writeEntry("home/applications/a.desktop", claiming: "x-scheme-handler/x")
        try tree.write(text, to: file)
        try cache.repair()
        #expect(try tree.read(file) == "[MIME Cache]\nx-scheme-handler/x=a.desktop;\n")
    }

    @Test func aCacheThatIsMissingOrWholeIsLeftAlone() throws {
        try cache.repair()
        #expect(throws: (any Error).self) { try tree.read(file) }
        try tree.write("[MIME Cache]\nx-scheme-handler/y=gone.desktop;\n", to: file)
        try cache.repair()
        #expect(try tree.read(file) == "[MIME Cache]\nx-scheme-handler/y=gone.desktop;\n")
    }

    private static let changes: [(String, [String], String)] = [
        // In order: a new line, an element, at the start, in the middle and at the end.
        ("a/a=a;\nc/c=x;\n", ["b/b"], "a/a=a;\nb/b=m;\nc/c=x;\n"),
        ("b/b=a;\n", ["a/a", "c/c"], "a/a=m;\nb/b=a;\nc/c=m;\n"),
        ("b/b=a;z;\n", ["b/b"], "b/b=a;m;z;\n"), ("b/b=z;\n", ["b/b"], "b/b=m;z;\n"),
        ("b/b=a", ["b/b"], "b/b=a;m;\n"),
        ("b/b=m;\n", ["b/b"], "b/b=m;\n"), ("b/b=m;a", ["b/b"], "b/b=m;a"),
        // It is taken from what it does not claim; a part of another name is none of it.
        ("a/a=m;\nb/b=am;m;mm;\nc/c=mm;\n", [], "b/b=am;mm;\nc/c=mm;\n"),
        ("a/a=a;m;\nb/b=m;\n", ["b/b", "c/c"], "a/a=a;\nb/b=m;\nc/c=m;\n"),
        // Out of order, twice, with comments and groups around it.
        ("c/c=a;\na/a=a;\n", ["a/a", "b/b"], "b/b=m;\nc/c=a;\na/a=a;m;\n"),
        ("a/a=a;\na/a=b;\n", ["a/a"], "a/a=a;m;\na/a=b;m;\n"),
        ("# m\na/a=a;\n\n[X]\na/a=m;\nb/b=m;\n", ["b/b"], "# m\na/a=a;\nb/b=m;\n\n[X]\na/a=m;\nb/b=m;\n"),
        ("", ["b/b", "a/a"], "a/a=m;\nb/b=m;\n"),
        ("junk\na/a=a;;b;\n", ["a/a"], "junk\na/a=a;b;m;\n"),
    ]

    @Test(arguments: changes)
    func edits(_ before: String, _ types: [String], _ after: String) throws {
        func lines(_ text: String) -> String {
            // Short names stand for IDs.
            text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                guard let sign = line.firstIndex(of: "=") else { return String(line) }
                let ids = line[sign...].dropFirst().split(separator: ";", omittingEmptySubsequences: false)
                return line[...sign] + ids.map { $0.isEmpty ? "" : "\($0).desktop" }.joined(separator: ";")
            }.joined(separator: "\n")
        }
        try tree.write("[MIME Cache]\n" + lines(before), to: file)
        try cache.add(id("m"), mimeTypes: types)
        #expect(try tree.read(file) == "[MIME Cache]\n" + lines(after))
    }

    @Test func linesOfOtherSystems() throws {
        try tree.write("[MIME Cache]\r\na/a=m.desktop\r\nb/b=m.desktop;x.desktop\r\n", to: file)
        try cache.add(id("m"), mimeTypes: ["a/a"])
        #expect(try tree.read(file) == "[MIME Cache]\r\na/a=m.desktop\r\nb/b=x.desktop;\n")
    }

    /// 300 random changes, each compared with a table that is changed alike.
    @Test func manyChangesInARow() throws {
        var generator = SeededGenerator(seed: 0xCAC4E)
        let types = (0..<40).map { "x-scheme-handler/s\($0)" }
        let ids = try ["a", "aa", "b", "b.b", "org.x.Y", "z;z"].map(id)
        var model: [String: Set<DesktopFileID>] = [:]
        try tree.write("[MIME Cache]\n", to: file)
        for _ in 0..<300 {
            let changed = ids.randomElement(using: &generator)!
            let claims = types.filter { _ in generator.chance(15) }
            if generator.chance(20) {
                try cache.remove(changed)
                for type in types { model[type]?.remove(changed) }
            } else {
                try cache.add(changed, mimeTypes: claims)
                for type in types {
                    if claims.contains(type) {
                        model[type, default: []].insert(changed)
                    } else {
                        model[type]?.remove(changed)
                    }
                }
            }
            let expected = model.filter { !$0.value.isEmpty }
                .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                .map { "\($0.key)=\(KeyFileText.strings($0.value.sorted().map(\.rawValue)))\n" }.joined()
            #expect(try tree.read(file) == "[MIME Cache]\n" + expected)
        }
    }

    /// GLib finds an application that was added to a cache of 100,000 schemes.
    @Test func oneMoreAmongManySchemes() throws {
        let many = (0..<100_000).map { "\($0)" }.sorted().map { "x-scheme-handler/scheme\($0)=other.desktop;" }
        try tree.write("[MIME Cache]\n" + many.joined(separator: "\n") + "\n", to: file)
        try tree.writeEntry(
            "home/applications/new.desktop",
            claiming: "x-scheme-handler/scheme5x;x-scheme-handler/scheme7"
        )
        try cache.add(id("new"), mimeTypes: ["x-scheme-handler/scheme5x", "x-scheme-handler/scheme7"])
        #expect(
            try tree.read(file).contains("\nx-scheme-handler/scheme5=other.desktop;\nx-scheme-handler/scheme50=other")
        )
        #expect(try tree.read(file).contains("\nx-scheme-handler/scheme7=new.desktop;other.desktop;\n"))
        let lines = try tree.read(file).split(separator: "\n")
        #expect(lines.count == 100_002)
        let script = """
            from gi.repository import Gio
            for name in ['5x', '7']:
                print(Gio.AppInfo.get_default_for_type('x-scheme-handler/scheme' + name, False).get_id())
            """
        let answer = try run(["/usr/bin/python3", "-c", script], environment: tree.environment)
        #expect(answer == "new.desktop\nnew.desktop\n")
    }

    @Test func whatCannotBeReadIsNotReplaced() throws {
        let place = "\(tree.path)/\(file)"
        #expect(mkfifo(place, 0o600) == 0)
        #expect(throws: DesktopWriteError(place, "is a FIFO, not a file")) { try cache.remove(id("a")) }
        #expect(throws: DesktopWriteError(place, "is a FIFO, not a file")) { try cache.rebuild() }
    }
}
