import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Desktop

/// The types of files by the shared MIME database of this machine, compared with those of GLib.
@Suite(.enabled(if: access("/usr/share/mime/mime.cache", R_OK) == 0, "there is no shared MIME database"))
struct FileTypeTests {
    private static let system = DesktopDirectories(environment: ["XDG_DATA_DIRS": "/usr/share"])
    private static let database = SharedMimeDatabase(loading: system)

    @Test(
        arguments: [
            ("a.png", "", "image/png"), ("A.PNG", "hello\n", "image/png"), ("text", "hello\n", "text/plain"),
            ("x.c", "", "text/x-csrc"), ("x.C", "", "text/x-c++src"), ("d.tar.gz", "", "application/x-compressed-tar"),
            ("makefile", "", "text/x-makefile"), ("README.txt", "", "text/plain"),
            ("b.txt~", "", "application/x-trash"),
            ("script", "#!/usr/bin/python3\n", "text/x-python3"), ("bytes", "\0\u{1}", "application/octet-stream"),
            ("picture", "\u{89}PNG\r\n\u{1A}\n", "image/png"), ("a.ts", "<?xml version=\"1.0\"?><!DOCTYPE TS>", ""),
            ("entry", "[Desktop Entry]\nType=Application\n", "text/plain"),
            ("entry.desktop", "[Desktop Entry]\n", "application/x-desktop"), (".hidden", "x", "text/plain"),
            ("übung.pdf", "x", "application/pdf"), ("a.sla.gz", "x", ""),
        ]
    )
    func fileHasItsType(_ name: String, _ contents: String, _ type: String) throws {
        let data = contents.unicodeScalars.map { UInt8($0.value) }
        let guess = Self.database.guess(name: Array(name.utf8)) { data }
        if !type.isEmpty { #expect(guess.type.rawValue == type) }
        #expect(try types([(Array(name.utf8), data)]) == [guess.type.rawValue])
    }

    /// Every name of the database, and beginnings of files that its rules look for.
    @Test func typesAgreeWithGLib() throws {
        let globs = try lines(of: "/usr/share/mime/globs2").compactMap { line -> [UInt8]? in
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            return fields.count >= 3 ? Array(fields[2]) : nil
        }
        var generator = SeededGenerator(seed: 0xF11E)
        var files: [(name: [UInt8], contents: [UInt8])] = []
        let values = try magicValues()
        #expect(globs.count > 900 && values.count > 300)
        for glob in globs {
            let name = glob.flatMap { $0 == UInt8(ascii: "*") ? Array("a b".utf8) : [$0] }
                .filter { !"[]?".utf8.contains($0) }
            let upper = name.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }
            let contents = values.randomElement(using: &generator) ?? []
            files += [(name, contents), (upper, [0x20]), (name + Array("~x".utf8), contents)]
        }
        for value in values {
            files += [(Array("noname".utf8), value), (Array("a.ts".utf8), value), (Array("x.dat".utf8), value)]
            files.append((Array("noname".utf8), [0x20] + value))
        }
        for _ in 0..<200 {
            let bytes = (0..<20).map { _ in UInt8.random(in: 0...255, using: &generator) }
            files.append((Array("noname".utf8), bytes))
        }
        let expected = try types(files)
        try #require(expected.count == files.count)
        var differences: [String] = []
        for (file, type) in zip(files, expected) {
            let ours = Self.database.guess(name: file.name) { file.contents }.type.rawValue
            // MIME types are compared without case.
            if ours != asciiLowercased(type) {
                let name = String(decoding: file.name, as: UTF8.self)
                differences.append("\(name) \(file.contents): \(ours), GLib \(type)")
            }
        }
        #expect(differences == [])
    }

    @Test func widerTypesFollowTheTypeItself() throws {
        func lineage(_ type: String) throws -> [String] {
            Self.database.lineage(of: try #require(MimeType(type))).map(\.rawValue)
        }
        #expect(try lineage("image/png") == ["image/png", "application/octet-stream"])
        let script = try lineage("text/x-python3")
        #expect(script.suffix(3) == ["application/x-executable", "text/plain", "application/octet-stream"])
        #expect(try lineage("inode/directory") == ["inode/directory", "x-directory/normal"])
        let svg = try lineage("image/svg+xml")
        #expect(svg.first == "image/svg+xml" && svg.contains("application/xml") && svg.contains("text/plain"))
        // An old name leads to the current one, which comes with its old names.
        #expect(try lineage("application/x-pdf").prefix(2).contains("application/pdf"))
        #expect(try lineage("application/pdf").contains("application/x-pdf"))
        #expect(try lineage("a/b") == ["a/b", "application/octet-stream"])
    }

    @Test func fileOfThisMachineIsNeverWaitedFor() throws {
        let tree = try TemporaryTree()
        var types = LocalFileTypes(Self.system)
        types.update()
        func type(_ path: String) throws -> String { try types.type(ofFile: Array(path.utf8)).type.rawValue }
        try tree.write([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], to: "picture")
        #expect(try type("\(tree.path)/picture") == "image/png")
        try #require(symlink("picture", "\(tree.path)/link.txt") == 0)
        #expect(try type("\(tree.path)/link.txt") == "text/plain")
        try #require(mkfifo("\(tree.path)/fifo.png", 0o600) == 0)
        #expect(try type("\(tree.path)/fifo.png") == "inode/fifo")
        #expect(try type(tree.path) == "inode/directory")
        #expect(try type("/dev/null") == "inode/chardevice")
        #expect(throws: FileError(code: ENOENT)) { try type("\(tree.path)/missing.png") }
        #expect(throws: FileError(code: ENOTDIR)) { try type("\(tree.path)/picture/a.png") }
        #expect(types.type(ofName: Array("/missing/a.png".utf8)).type.rawValue == "image/png")
        #expect(types.type(ofName: Array("/missing/x".utf8)).type.rawValue == "application/octet-stream")
        #expect(types.type(ofName: Array("/missing/".utf8)).type == .directory)
    }

    @Test func changedDatabaseIsReadAgain() throws {
        let tree = try TemporaryTree()
        var types = LocalFileTypes(tree.directories)
        func type() -> String { types.type(ofName: Array("/x/a.acme".utf8)).type.rawValue }
        types.update()
        #expect(type() == "application/octet-stream")
        try tree.write(
            """
            <?xml version="1.0"?>
            <mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
            <mime-type type="application/x-acme"><glob pattern="*.acme"/></mime-type>
            </mime-info>
            """,
            to: "home/mime/packages/acme.xml"
        )
        _ = try run(["/usr/bin/update-mime-database", "\(tree.path)/home/mime"])
        types.update()
        #expect(type() == "application/x-acme")
    }

    /// A damaged database knows fewer types, and does not end the process.
    @Test func damagedDatabaseIsHarmless() throws {
        let bytes = try contents(ofFile: "/usr/share/mime/mime.cache", limit: 1 << 24, followingLinks: true)
        #expect(SharedMimeCache([]) == nil && SharedMimeCache([0, 2] + bytes.dropFirst(2)) == nil)
        var generator = SeededGenerator(seed: 7)
        for round in 0..<60 {
            var damaged = round % 2 == 0 ? bytes : Array(bytes[..<Int.random(in: 40..<bytes.count, using: &generator)])
            for _ in 0..<(round == 1 ? 0 : 2000) {
                let place = Int.random(in: 4..<damaged.count, using: &generator)
                damaged[place] = UInt8.random(in: 0...255, using: &generator)
            }
            for offset in 4..<40 where round > 50 { damaged[offset] = .random(in: 0...255, using: &generator) }
            let database = SharedMimeDatabase([try #require(SharedMimeCache(damaged))])
            for name in ["a.png", "x", "README", "a.tar.gz"] {
                let guess = database.guess(name: Array(name.utf8)) { Array("%PDF-1.4 hello".utf8) }
                #expect(!guess.types.isEmpty)
            }
        }
    }

    /// Rules within rules, which are all tried again at each depth, compare many bytes at many positions.
    @Test(.timeLimit(.minutes(2))) func rulesThatTakeLongAreGivenUp() throws {
        let list = 40
        let match = list + 12
        let rules = match + 16
        let value = rules + 34 * 32
        // The first two rules hold, and all rules are below both. The others find almost their value everywhere.
        let records = (0..<34).flatMap {
            $0 < 2 ? [0, 1, 0, 1, value, 0, 34, rules] : [0, 4096, 0, 64, value, 0, 0, 0]
        }
        let header = [0x1_0002, 0, 0, 0, 0, 0, list, 0, 0, 0]
        let numbers = header + [1, 1 << 13, match] + [80, 0, 34, rules] + records
        let bytes = numbers.flatMap { number in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
        let cache = try #require(SharedMimeCache(bytes + Array(repeating: UInt8(ascii: "a"), count: 63) + [0]))
        #expect(cache.type(ofContents: Array(repeating: UInt8(ascii: "a"), count: 1 << 13)) == nil)
    }

    /// Returns GLib's types of files.
    private func types(_ files: [(name: [UInt8], contents: [UInt8])]) throws -> [String] {
        let tree = try TemporaryTree()
        let text = files.map { "\(hexadecimal($0.name)) \(hexadecimal($0.contents))\n" }.joined()
        let list = try tree.write(text, to: "files")
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        return try run(["/usr/bin/python3", "/\(folder)/GuessTypes.py", list]).split(separator: "\n").map(String.init)
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func lines(of file: String) throws -> [ArraySlice<UInt8>] {
        try contents(ofFile: file, limit: 1 << 20, followingLinks: true).split(separator: UInt8(ascii: "\n"))
    }

    /// Returns beginnings of files for the rules of the text form of the database, which stand at the beginning of a file.
    private func magicValues() throws -> [[UInt8]] {
        let bytes = try contents(ofFile: "/usr/share/mime/magic", limit: 1 << 20, followingLinks: true)
        var values: [[UInt8]] = []
        var rest = bytes[...]
        let mark = Array("\n>0=".utf8)
        while let place = rest.indices.first(where: { rest[$0...].starts(with: mark) }) {
            rest = rest[(place + mark.count)...]
            guard rest.count > 2 else { break }
            let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            values.append(Array(rest.dropFirst(2).prefix(length)) + Array(" and more".utf8))
            rest = rest.dropFirst(2 + length)
        }
        return values
    }
}
