import TestSupport
import Testing

@testable import Desktop

/// The module gives the same answers as GLib on random trees.
///
/// The trees avoid three bugs of GLib, because the module follows the specification in these cases. GLib takes a
/// `Hidden` entry for a default; the script then prints the correct answer instead. GLib sees `Hidden` only in entries
/// that are otherwise usable, so all hidden entries are usable. GLib applies the `[Removed Associations]` of a
/// directory to its own `mimeinfo.cache` only if the file also adds an association for the type, so the files always
/// add one.
@Suite struct DifferentialTests {
    private static let types = ["foo", "bar", "baz+1.0-x"].map { "x-scheme-handler/\($0)" }
    private static let ids = ["a", "b", "c", "d", "e", "org.f.F", "sub-g", "ghost"].map { "\($0).desktop" }
    /// Lines that are not as the specification wants them. GLib accepts all but the last.
    private static let oddLines = [
        "Terminal=False", "NoDisplay=TRUE", "Hidden=False", "Hidden=TRUE", "DBusActivatable=no", #"Name=bad\q"#,
        #"Icon=C:\foo\bar"#, #"Path=C:\x"#, "Generic Name=Foo", #"Exec=installed \"x\" %u"#, "Exec=installed %u \\",
        "[Desktop Action \u{DC}ber]\n[Desktop Entry]", "\0", "Name [de]=x",
    ]

    @Test func defaultsAndCandidatesAgreeWithGLib() throws {
        let tree = try TemporaryTree()
        var generator = SeededGenerator(seed: 0x0DE5)
        for number in 0..<400 {
            try makeTree("trees/\(number)", in: tree, &generator)
        }
        let script = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        let output = try run([
            "/usr/bin/python3", "/\(script)/Differential.py", "\(tree.path)/trees",
            Self.types.joined(separator: ","),
        ])

        var hidden = 0
        var chosen = 0
        var several = 0
        let lines = output.split(separator: "\n")
        #expect(lines.count == 400 * Self.types.count)
        var number = ""
        var entries = DesktopEntries(of: [], in: tree.directories)
        var associations = MimeAssociations(loading: tree.directories)
        for line in lines {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            try #require(fields.count == 6)
            if fields[0] != number {
                number = fields[0]
                let directories = DesktopDirectories(environment: try environment("trees/\(number)", in: tree))
                entries = DesktopEntries(loading: directories)
                associations = MimeAssociations(loading: directories)
            }
            let type = fields[1]

            let candidates = associations.candidates(for: type, in: entries).map(\.id.rawValue)
            let associated = associations.associated(with: type, in: entries).map(\.id.rawValue)
            let ours = associations.defaultApplication(for: type, in: entries)?.id.rawValue ?? "-"
            #expect(ours == fields[3], "tree \(fields[0]), \(type)")
            if fields[2] == "hidden" { hidden += 1 } else { #expect(ours == fields[2], "tree \(fields[0]), \(type)") }
            #expect(associated.joined(separator: ",") == fields[4], "tree \(fields[0]), \(type)")
            // A scheme's type has no parent types, so GLib offers no further applications.
            #expect(fields[4] == fields[5])
            let defaults = Set(associations.defaults(for: type).map(\.rawValue))
            #expect(candidates.filter { !defaults.contains($0) } == associated.filter { !defaults.contains($0) })
            if candidates.first != associated.first { chosen += 1 }
            if associated.count > 1 { several += 1 }
        }
        // The random trees cover enough interesting cases.
        #expect(hidden > 20 && chosen > 100 && several > 300, "\(hidden) \(chosen) \(several)")
    }

    @Test func malformedLinesAgreeWithGLib() throws {
        let tree = try TemporaryTree()
        var generator = SeededGenerator(seed: 0x11E5)
        let parts = [
            "[", "]", "=", " ", "\t", "\r", "\n", "\n[G]\n", "\n[", "\nName[", "k=v\n", "a", "de", "a\0", "\n\0", "#",
            "-", "@", "\u{1}", "\u{B}", "\u{C}", "\u{7F}", "\u{E9}",
        ]
        var texts: [String] = []
        for number in 0..<4000 {
            let count = Int.random(in: 0..<8, using: &generator)
            let rest = (0..<count).map { _ in parts.randomElement(using: &generator)! }.joined()
            texts.append((generator.chance(80) ? "[G]\n" : "") + rest)
            try tree.write(texts[number], to: "files/\(number)")
        }
        let script = try pythonProgram("load_key_files")
        let output = try run(["/usr/bin/python3", "-c", script, "\(tree.path)/files", "\(texts.count)"])
        let answers = output.split(separator: "\n").map(String.init)
        try #require(answers.count == texts.count)
        for (text, answer) in zip(texts, answers) {
            let isAccepted = KeyFile(Array(text.utf8), groups: []).malformed.isEmpty
            #expect((isAccepted ? "accepted" : "malformed") == answer, "\(text.debugDescription)")
        }
        // The random files cover enough of both.
        #expect((500..<3500).contains(answers.filter { $0 == "accepted" }.count))
    }

    private func makeTree(_ name: String, in tree: TemporaryTree, _ generator: inout SeededGenerator) throws {
        for directory in ["home", "data1", "data2"] where generator.chance(85) {
            let place = "\(name)/\(directory)/applications"
            for id in Self.ids.dropLast() where generator.chance(45) {
                let path = id.hasPrefix("sub-") ? "sub/\(id.dropFirst(4))" : id
                try writeEntry("\(place)/\(path)", in: tree, &generator)
            }
            try writeLists(to: place, withEntries: true, in: tree, &generator)
        }
        for directory in ["config", "etc1", "etc2"] where generator.chance(70) {
            try writeLists(to: "\(name)/\(directory)", withEntries: false, in: tree, &generator)
        }
        var environment = TemporaryTree.environment(below: "\(tree.path)/\(name)")
        environment["PATH"] = tree.environment["PATH"]
        environment["XDG_CURRENT_DESKTOP"] = ["GNOME", "KDE", "ubuntu:GNOME", ""].randomElement(using: &generator)
        try tree.write(environment.map { "\($0.key)=\($0.value)\n" }.joined(), to: "\(name)/environment")
    }

    private func environment(_ name: String, in tree: TemporaryTree) throws -> [String: String] {
        let lines = try tree.read("\(name)/environment").split(separator: "\n")
        return Dictionary(
            uniqueKeysWithValues: lines.map { line in
                let sign = line.firstIndex(of: "=") ?? line.endIndex
                return (String(line[..<sign]), String(line[line.index(after: sign)...]))
            }
        )
    }

    private func writeEntry(_ path: String, in tree: TemporaryTree, _ generator: inout SeededGenerator) throws {
        if generator.chance(4) {
            try tree.write(
                ["", "[Other]\n", "Name=x\n", "[Desktop Entry]\nhalf"].randomElement(using: &generator)!,
                to: path
            )
            return
        }
        var lines = ["[Desktop Entry]"]
        let isHidden = generator.chance(12)
        let isLink = !isHidden && generator.chance(5)
        lines.append(isLink ? "Type=Link\nURL=x" : "Type=Application")
        lines.append("Name=x")
        lines.append(!isHidden && generator.chance(7) ? "Exec=/nonexistent/program %u" : "Exec=installed %u")
        if isHidden { lines.append("Hidden=true") }
        if generator.chance(20) { lines.append("NoDisplay=true") }
        if generator.chance(20) { lines.append("OnlyShowIn=Nowhere;") }
        if generator.chance(20) { lines.append("DBusActivatable=true") }
        if generator.chance(20) {
            let programs = isHidden ? ["installed"] : ["installed", "missing", "/missing"]
            lines.append("TryExec=\(programs.randomElement(using: &generator)!)")
        }
        if generator.chance(30) { lines.append(Self.oddLines.randomElement(using: &generator)!) }
        let types = Self.types.filter { _ in !isLink && generator.chance(55) }
        let separator = generator.chance(10) ? " ;" : ";"
        lines.append("MimeType=\(types.joined(separator: separator))\(generator.chance(80) ? separator : "")")
        try tree.write(lines.joined(separator: "\n") + "\n", to: path)
    }

    private func writeLists(
        to place: String,
        withEntries: Bool,
        in tree: TemporaryTree,
        _ generator: inout SeededGenerator
    ) throws {
        func list(_ type: String, _ generator: inout SeededGenerator) -> String {
            let ids = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                Self.ids.randomElement(using: &generator)!
            }
            return "\(type)=\(ids.joined(separator: ";"))\(generator.chance(70) ? ";" : "")"
        }
        func group(_ name: String, _ types: [String], _ generator: inout SeededGenerator) -> String {
            "[\(name)]\n" + types.map { list($0, &generator) + "\n" }.joined()
        }
        func some(_ percent: Int, _ generator: inout SeededGenerator) -> [String] {
            Self.types.filter { _ in generator.chance(percent) }
        }
        for desktop in ["gnome", "kde"] where generator.chance(25) {
            var text = group("Default Applications", some(50, &generator), &generator)
            if generator.chance(10) { text += group("Added Associations", some(50, &generator), &generator) }
            try tree.write(text, to: "\(place)/\(desktop)-mimeapps.list")
        }
        if generator.chance(75) {
            let removed = some(35, &generator)
            let added =
                withEntries ? Self.types.filter { removed.contains($0) || generator.chance(20) } : some(30, &generator)
            let groups = [
                group("Default Applications", some(20, &generator), &generator),
                group("Added Associations", added, &generator),
                group("Removed Associations", removed, &generator),
            ]
            try tree.write(
                groups.shuffled(using: &generator).joined(separator: "\n# next\n"),
                to: "\(place)/mimeapps.list"
            )
        }
        if withEntries, generator.chance(20) {
            let text = group("Default Applications", some(40, &generator), &generator)
            try tree.write(text, to: "\(place)/defaults.list")
        }
    }
}
