import TestSupport
import Testing
import UserFiles

@testable import Desktop

@Suite struct DesktopFileTests {
    private let tree: TemporaryTree

    init() throws {
        tree = try TemporaryTree()
    }

    private func read(_ text: String, as name: String = "org.x.App.desktop", languages: [String] = []) throws
        -> DesktopFile
    {
        let file = try tree.write(text, to: name)
        let id = try #require(DesktopFileID(rawValue: name))
        return DesktopFile(reading: .init(id: id, file: file, precedence: 3), languages: languages)
    }

    private func entry(_ text: String, languages: [String] = []) throws -> DesktopEntry {
        let file = try read("[Desktop Entry]\nType=Application\n\(text)", languages: languages)
        guard case .application(let entry) = file.content else {
            throw Unexpected(content: file.content, diagnostics: file.diagnostics)
        }
        return entry
    }

    struct Unexpected: Error {
        var content: DesktopFile.Content
        var diagnostics: [Diagnostic]
    }

    @Test func everyKeyIsRead() throws {
        let entry = try entry(
            """
            # A comment, a blank line, and another group are nothing to us.

            Name=Foo\\sBar
            Name[de]=Fu
            Exec=foo --x %U
            TryExec=/opt/foo
            Icon=pic
            Path=/srv
            Terminal=true
            NoDisplay=1
            DBusActivatable=true
            OnlyShowIn=Other;
            MimeType=x-scheme-handler/Foo;text/plain;x-scheme-handler/foo;x-scheme-handler/web+x;
            X-OpenURL-Handler=com.acme.todolist
            X-Other[x]=\u{FF}

            [Desktop Action New]
            Name=Other
            Exec=other
            """
        )
        #expect(entry.id.rawValue == "org.x.App.desktop" && entry.precedence == 3)
        #expect(entry.name == "Foo Bar")
        #expect(entry.command == (try ExecCommand(parsing: "foo --x %U")))
        #expect(entry.tryProgram == "/opt/foo")
        #expect(entry.icon == "pic" && entry.workingDirectory == "/srv")
        #expect(entry.runsInTerminal && entry.isHiddenFromMenus)
        #expect(entry.isDBusActivatable && entry.busName == "org.x.App" && entry.objectPath == "/org/x/App")
        #expect(entry.mimeTypes == ["x-scheme-handler/foo", "text/plain", "x-scheme-handler/web+x"])
        #expect(entry.urlSchemes == ["foo", "web+x"])
        #expect(entry.handler == "com.acme.todolist")
    }

    /// Each place of an entry with a text that Swift compares in a time that grows with the square of its length.
    @Test(arguments: [
        "Name=%", "Name[%]=x\nName=x", "%=x\nName=x", "Name=x\nTerminal=%", "Name=x\nMimeType=%;text/%;", "Name=x\n[%]",
        "Name=x\nExec=%", "Name=x\n%", "Name=x\nX-OpenURL-Handler=%",
    ])
    func textThatIsSlowToCompareIsReadFast(text: String) throws {
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 100_000)
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        let contents = "[Desktop Entry]\nType=Application\n" + parts.joined(separator: marks)
        try tree.write("[Default Applications]\n\(marks)=a.desktop\ntext/plain=\(marks);\n", to: "config/mimeapps.list")
        let time = try threadTime {
            _ = try read(contents, languages: ["de"])
            _ = MimeAssociations(loading: tree.directories)
            let file = try #require(MimeAssociationsFile(in: tree.directories))
            try file.setDefault(try #require(DesktopFileID(rawValue: "b.desktop")), for: ["text/plain"])
        }
        // One comparison takes eight seconds.
        #expect(time < .seconds(5))
    }

    @Test func missingKeysAreFalseOrNil() throws {
        let entry = try entry("Exec=foo\nTryExec=\nIcon=\nPath=\n")
        #expect(entry.name == "org.x.App")
        #expect(entry.tryProgram == nil && entry.icon == nil && entry.workingDirectory == nil && entry.handler == nil)
        #expect(!entry.runsInTerminal && !entry.isHiddenFromMenus && !entry.isDBusActivatable)
        #expect(entry.mimeTypes.isEmpty && entry.objectPath == nil)
    }

    /// The cases come from the table in "Localized values for keys" of the specification.
    @Test func bestTranslationIsUsed() throws {
        let text = "Exec=foo\nName=d\nName[sr_YU]=c\nName[sr@Latn]=b\nName[sr]=a\n"
        func name(_ locale: String) throws -> String {
            try entry(text, languages: DesktopDirectories(environment: ["LANG": locale]).languages).name
        }
        #expect(try name("sr_YU@Latn") == "c")
        #expect(try name("sr@Latn") == "b")
        #expect(try name("sr_RS") == "a")
        #expect(try name("de") == "d")
    }

    @Test func spacesAndCarriageReturnsAreAccepted() throws {
        let entry = try entry("  Name =  x y \r\nExec\t=\tfoo\r\nTerminal=true \r\n")
        #expect(entry.name == "x y ")
        #expect(entry.command?.program == "foo" && entry.runsInTerminal)
    }

    @Test func hiddenKeyHidesEveryEntry() throws {
        #expect(try read("[Desktop Entry]\nHidden=true\n").content == .hidden)
        #expect(try read("[Desktop Entry]\nType=Application\nExec=foo\nHidden=true\n").content == .hidden)
        #expect(try read("[Desktop Entry]\nType=Link\nHidden=true").content == .hidden)
    }

    @Test func otherTypesAreIgnored() throws {
        for type in ["Link", "Directory", "application", "", "Service"] {
            let file = try read("[Desktop Entry]\nType=\(type)\n")
            #expect(file.content == .other && file.diagnostics.isEmpty)
        }
    }

    private static let start = "[Desktop Entry]\nType=Application\n"

    private static let uselessEntries: [(String, String)] = [
        ("", "[Desktop Entry]: is missing"),
        ("\n# only a comment", "[Desktop Entry]: is missing"),
        ("[Other]\n[Desktop Entry]\nType=Application\nExec=foo", "[Desktop Entry]: is not the first group"),
        ("Type=Application\n[Desktop Entry]", "line 1: is a key before the first group"),
        ("[Desktop Entry]\nExec=foo", "Type: is missing"),
        (start, "Exec: is missing, and DBusActivatable is not true"),
        (start + "Exec=\n", "Exec: is missing, and DBusActivatable is not true"),
        (start + "Exec=foo\nTermin", "line 4: is neither a comment nor a group nor a key with its value"),
        (start + "Exec=foo\n[", "line 4: opens a group header but does not close it"),
        (start + "Exec=foo\n[x", "line 4: opens a group header but does not close it"),
        (start + "Exec=foo\n[]", "line 4: has an invalid group name"),
        (start + "Exec=foo\n[a[b]", "line 4: has an invalid group name"),
        (start + "Exec=foo\n=x", "line 4: has no key before '='"),
        (start + "Exec=foo\nName [de]=x", "line 4: has an invalid key"),
        (start + "Exec=foo\na[b=x", "line 4: has an invalid key"),
        (start + "Exec=foo\na\0b=x", "line 4: has an invalid key"),
        (start + "Exec=fo\0o", "Exec: contains U+0000"),
        (start + "Exec=foo %u %f", "Exec: contains %f after another of %f, %u, %F and %U"),
        (start + "Exec=sh -c \"rm %u\"", "Exec: contains %u within quotes"),
    ]

    @Test(arguments: uselessEntries)
    func unusableEntryHasOneError(_ text: String, _ problem: String) throws {
        let file = try read(text)
        #expect(file.content == .invalid)
        #expect(file.diagnostics.map(tree.text) == ["org.x.App.desktop: \(problem)"])
        #expect(file.diagnostics.map(\.severity) == [.error])
        let kind: Diagnostic.Kind? = problem.hasPrefix("line ") ? .malformedLine : nil
        #expect(file.diagnostics.map(\.kind) == [kind])
    }

    private static let noEscape = #"contains an escape sequence other than \s, \n, \t, \r and \\"#

    private static let mistakes: [(String, String)] = [
        ("Exec=foo\nTerminal=False", "Terminal: is neither true nor false, so it is ignored"),
        ("Exec=foo\nNoDisplay=TRUE", "NoDisplay: is neither true nor false, so it is ignored"),
        ("Exec=foo\nHidden=TRUE", "Hidden: is neither true nor false, so it is ignored"),
        ("Exec=foo\nDBusActivatable=no", "DBusActivatable: is neither true nor false, so it is ignored"),
        (#"Exec=foo\#nName=bad\q"#, "Name: \(noEscape)"),
        (#"Exec=foo\#nIcon=C:\foo\bar"#, "Icon: \(noEscape)"),
        (#"Exec=sh -c "echo \"\$0\"""#, "Exec: \(noEscape)"),
        ("Exec=foo\\", #"Exec: ends with a lone '\'"#),
        ("Exec=foo\nName=a\0b", "Name: contains U+0000, so it is ignored"),
        (#"Exec=foo\#nMimeType=a/b;c\q/d"#, "MimeType: \(noEscape), so it is ignored"),
        ("Exec=foo\nPath=x/y", "Path: is a relative path, so it is ignored"),
        ("Exec=foo\nExec=foo", "Exec: appears twice"),
        ("Exec=foo\n[Desktop Entry]\nName=x", "[Desktop Entry]: appears twice"),
        ("Exec=foo\nMimeType=x-scheme-handler/;", "MimeType: contains 'x-scheme-handler/', which is not a MIME type"),
        (
            "Exec=foo\nMimeType=x-scheme-handler/1a",
            "MimeType: contains 'x-scheme-handler/1a', which is not a MIME type"
        ),
        (
            "Exec=foo\nMimeType=x-scheme-handler/a/b",
            "MimeType: contains 'x-scheme-handler/a/b', which is not a MIME type"
        ),
        (
            "Exec=foo\nMimeType=x-scheme-handler/a_b",
            "MimeType: contains 'x-scheme-handler/a_b', which is not a MIME type"
        ),
        // The Kelvin sign becomes an ASCII k in Unicode's lower case, but not in ASCII's.
        (
            "Exec=foo\nMimeType=x-scheme-handler/\u{212A}",
            #"MimeType: contains 'x-scheme-handler/\u{212A}', which is not a MIME type"#
        ),
        ("Exec=foo\nMimeType=text", "MimeType: contains 'text', which is not a MIME type"),
        (
            "Exec=foo %x\nDBusActivatable=true",
            "Exec: contains '%' before 'x', which is not a field code, so only D-Bus activation is left"
        ),
    ]

    @Test(arguments: mistakes)
    func minorMistakeIsAWarning(_ text: String, _ problem: String) throws {
        let file = try read(Self.start + text)
        guard case .application = file.content else {
            Issue.record("\(file.content)")
            return
        }
        #expect(file.diagnostics.map(tree.text) == ["org.x.App.desktop: \(problem)"])
        #expect(file.diagnostics.map(\.severity) == [.warning])
        let kind: Diagnostic.Kind? = problem.hasSuffix(": appears twice") ? .repetition : nil
        #expect(file.diagnostics.map(\.kind) == [kind])
    }

    /// GLib reads these values in the same way.
    @Test func unusualTextIsReadAsInGLib() throws {
        let entry = try entry(
            #"""
            Generic Name=Foo
            Name=bad\q
            Exec=foo \"a\" x\
            Icon=C:\foo\bar
            Path=C:\x
            Terminal=True
            MimeType=text/plain ;x-scheme-handler/foo\#u{20}
            [Desktop Action Über]
            """#
        )
        #expect(entry.name == #"bad\q"# && entry.icon == #"C:\foo\bar"# && entry.workingDirectory == nil)
        #expect(entry.command == (try ExecCommand(parsing: #"foo \"a\" x"#)))
        #expect(!entry.runsInTerminal && entry.mimeTypes == ["text/plain", "x-scheme-handler/foo"])
    }

    @Test func schemesAreLimitedTo64Bytes() throws {
        let longest = "x" + String(repeating: "+", count: 63)
        let file = try entry("Exec=foo\nMimeType=x-scheme-handler/\(longest);x-scheme-handler/\(longest)+;")
        #expect(file.urlSchemes == [longest])
    }

    @Test func laterValueReplacesTheEarlierValue() throws {
        #expect(try entry("Exec=foo\nName=a\nName=b\n[Other]\nName=c\n[Desktop Entry]\nName=d\n").name == "d")
    }

    @Test func activationRequiresAFileNameThatIsABusName() throws {
        for name in ["app.desktop", "1.b.desktop", "a..b.desktop", "a.b c.desktop", "a.é.desktop"] {
            let file = try read(Self.start + "DBusActivatable=true\nExec=foo\n", as: name)
            guard case .application(let entry) = file.content else {
                Issue.record("\(file.content)")
                continue
            }
            #expect(!entry.isDBusActivatable)
            #expect(
                file.diagnostics.map(\.reason) == ["is ignored: the file's name without .desktop is not a bus name"]
            )
        }
        let file = try read(Self.start + "DBusActivatable=true\n", as: "a.b-c.desktop")
        guard case .application(let entry) = file.content else {
            Issue.record("\(file.content)")
            return
        }
        #expect(entry.command == nil && entry.objectPath == "/a/b_c")
    }

    @Test func manyProblemsAreCountedAboveTheLimit() throws {
        let types = (0..<1000).map { "\($0)" }.joined(separator: ";")
        let file = try read(Self.start + "Exec=foo\nMimeType=\(types)\n")
        #expect(file.diagnostics.count == Problems.limit + 1)
        #expect(file.diagnostics.last?.reason == "has 980 more problems")
    }
}
