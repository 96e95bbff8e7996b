import TestSupport
import Testing

@testable import Desktop

@Suite struct ExecTests {
    private func expanded(_ exec: String, _ urls: [String], icon: String? = nil) throws -> [[String]] {
        try ExecCommand(parsing: exec).arguments(opening: urls, name: "The Name", icon: icon, file: "/e/x.desktop")
    }

    private static let commandLines: [(String, [String])] = [
        ("foo", ["foo"]),
        (" /bin/foo  a\tb\nc ", ["/bin/foo", "a", "b", "c"]),
        (#"foo "" 'x y' a"b c"d"#, ["foo", "", "x y", "ab cd"]),
        (#""/opt/my app/foo" "a\"b\`c\$d\\e\f""#, ["/opt/my app/foo", #"a"b`c$d\e\f"#]),
        (#"foo a\ b \"c"#, ["foo", "a b", #""c"#]),
        ("foo 'a\\b' #comment\nd e#f", ["foo", "a\\b", "d", "e#f"]),
        (#"foo %% "100%%" '%%'"#, ["foo", "%", "100%", "%"]),
        // Deprecated codes are removed, both alone and within an argument.
        ("foo %d %D %n %N %v %m a%mb", ["foo", "ab"]),
        ("env A=1 foo", ["env", "A=1", "foo"]),
        // Variables, commands and patterns of a shell have no special meaning.
        ("foo $HOME `id` $(id) * ; | >x", ["foo", "$HOME", "`id`", "$(id)", "*", ";", "|", ">x"]),
    ]

    @Test(arguments: commandLines)
    func commandLinesAreSplitIntoArguments(_ exec: String, _ arguments: [String]) throws {
        #expect(try expanded(exec, []) == [arguments])
    }

    private static let mistakes: [(String, ExecCommand.ParseError)] = [
        ("", .empty), ("  # foo", .empty), ("%m", .empty),
        ("foo \"a", .unterminatedQuote("\"")), ("foo 'a", .unterminatedQuote("'")),
        ("foo \"a\\", .unterminatedQuote("\"")),
        ("foo \\", .trailingBackslash), ("foo %", .trailingPercent), ("foo '%", .trailingPercent),
        ("foo %x", .unknownFieldCode("x")), ("foo % u", .unknownFieldCode(" ")),
        ("foo %\u{202E}", .unknownFieldCode("\u{202E}")),
        ("sh -c \"foo %u\"", .quotedFieldCode("u")), ("foo '%f'", .quotedFieldCode("f")),
        ("foo \"\\%f\"", .quotedFieldCode("f")),
        ("foo %u %U", .secondURLCode("U")), ("foo %u%u", .secondURLCode("u")),
        ("foo %F --x=%f", .secondURLCode("f")),
        ("foo --x=%U", .embeddedFieldCode("U")), ("foo %Fx", .embeddedFieldCode("F")),
        ("foo ''%i", .embeddedFieldCode("i")),
        ("foo %U%i", .embeddedFieldCode("i")),
        ("%u", .program("is a field code")), ("%F foo", .program("is a field code")),
        ("a%k", .program("is a field code")),
        ("'' foo", .program("has no name")), ("A=1 foo", .program("contains '='")),
        ("./foo", .program("is a relative path")),
    ]

    @Test(arguments: mistakes)
    func invalidCommandLinesAreRefused(_ exec: String, _ error: ExecCommand.ParseError) {
        #expect(throws: error) { try ExecCommand(parsing: exec) }
        #expect(error.description.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
    }

    @Test func fieldCodeDecidesBetweenOneProcessAndOnePerURL() throws {
        let urls = ["a:1", "b:2"]
        #expect(try expanded("foo %u x", urls) == [["foo", "a:1", "x"], ["foo", "b:2", "x"]])
        #expect(try expanded("foo --u=%u", urls) == [["foo", "--u=a:1"], ["foo", "--u=b:2"]])
        #expect(try expanded("foo -- %U x", urls) == [["foo", "--", "a:1", "b:2", "x"]])
        #expect(try expanded("foo %F", urls) == [["foo", "a:1", "b:2"]])
        // Without a field code the URL is appended, so that it is not lost.
        #expect(try expanded("foo x", urls) == [["foo", "x", "a:1"], ["foo", "x", "b:2"]])
    }

    @Test func urlCodesAreDroppedWithoutURLs() throws {
        #expect(try expanded("foo %u x", []) == [["foo", "x"]])
        #expect(try expanded("foo %U", []) == [["foo"]])
        #expect(try expanded("foo --u=%u", []) == [["foo", "--u="]])
    }

    @Test func nameIconAndFileCodesAreExpanded() throws {
        #expect(try expanded("foo %c %k %i -n%c", []) == [["foo", "The Name", "/e/x.desktop", "-nThe Name"]])
        #expect(try expanded("foo %i x", [], icon: "pic ture") == [["foo", "--icon", "pic ture", "x"]])
        #expect(try expanded("foo %i", [], icon: "") == [["foo"]])
    }

    /// A URL always becomes a single argument, even if it contains characters with a meaning for a shell.
    @Test func urlStaysASingleArgument() throws {
        let url = "x:a b\"'`$(id)`;|&\n%u%U"
        #expect(try expanded("foo %u", [url]) == [["foo", url]])
        #expect(try expanded("foo -%u-", [url]) == [["foo", "-\(url)-"]])
        #expect(try expanded("foo", [url]) == [["foo", url]])
    }

    private static let fileURLs: [(String, String?)] = [
        ("file:///a%20b/c", "/a b/c"), ("FILE://LocalHost/a", "/a"), ("file:/a", "/a"), ("file:///%C3%A4", "/ä"),
        ("file://host/a", nil), ("file:a", nil), ("file:///a?b", nil), ("file:///a#b", nil), ("file:///%00", nil),
        ("file:///%F", nil), ("file:///%zz", nil), ("file:///%FF", nil), ("file:", nil), ("files:///a", nil),
        ("x:/a", nil),
    ]

    @Test(arguments: fileURLs)
    func fileURLsBecomeLocalPaths(_ url: String, _ path: String?) throws {
        #expect(try expanded("foo %f", [url]) == [["foo", path ?? url]])
        #expect(try expanded("foo", [url]) == [["foo", path ?? url]])
        #expect(try expanded("foo %u", [url]) == [["foo", url]])
    }

    /// The module and GLib split 3,000 random command lines in the same way, and refuse the same ones.
    @Test func splittingAgreesWithGLib() throws {
        let tree = try TemporaryTree()
        var generator = SeededGenerator(seed: 0xE8EC)
        let alphabet = Array(" \t\n\"'\\#$`ab;\u{E9}")
        let lines = (0..<3000).map { _ in
            let line = "p" + Self.random(0...12, of: alphabet, &generator)
            // GLib reads an empty comment as a quotation without an end.
            return line.hasSuffix("#") ? line + "x" : line
        }
        try tree.write(lines.joined(separator: "\0"), to: "lines")
        let script = try pythonProgram("parse_lines")
        let output = try run(["LC_ALL=C.UTF-8", "/usr/bin/python3", "-c", script, "\(tree.path)/lines"])
        let answers = output.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
        try #require(answers.count == lines.count)
        var refused = 0
        for (line, answer) in zip(lines, answers) {
            do {
                let command = try ExecCommand(parsing: line)
                let ours = command.arguments(opening: [], name: "", icon: nil, file: "")[0]
                #expect(ours.joined(separator: "\u{1}") == answer, "\(line.debugDescription)")
            } catch {
                refused += 1
                #expect(answer == "\u{2}", "\(line.debugDescription): \(error)")
            }
        }
        #expect((300..<2000).contains(refused))
    }

    /// The module's reader and GLib both read the written command line back.
    @Test func roundTripKeepsTheCommand() throws {
        let tree = try TemporaryTree()
        var generator = SeededGenerator(seed: 0x0E5C)
        let alphabet = Array(" \t\n\r\"'\\><~|&;$*?#()`%=ab\u{E9}-")
        let directory = "\(tree.path)/home/applications"
        var commands: [[String]] = []
        for number in 0..<300 {
            let arguments = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                Self.random(0...8, of: alphabet, &generator)
            }
            let command = ["installed"] + arguments
            commands.append(command)
            let id = try #require(DesktopFileID(rawValue: "e\(number).desktop"))
            try DesktopEntryFile(name: "n", command: command).write(as: id, in: directory)

            let file = DesktopFile(reading: .init(id: id, file: "\(directory)/\(id)", precedence: 0), languages: [])
            guard case .application(let entry) = file.content else {
                Issue.record("\(file.diagnostics)")
                continue
            }
            let ours = entry.command?.arguments(opening: ["a:b"], name: "", icon: nil, file: "")
            #expect(ours == [command + ["a:b"]])
        }
        let script = try pythonProgram("parse_entries")
        let path = try #require(tree.environment["PATH"])
        let output = try run(
            ["LC_ALL=C.UTF-8", "/usr/bin/python3", "-c", script, directory],
            environment: ["PATH": path]
        )
        let answers = output.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
        #expect(answers == commands.map { ($0 + ["%u"]).joined(separator: "\u{1}") })
    }

    private static func random(
        _ length: ClosedRange<Int>,
        of alphabet: [Character],
        _ generator: inout SeededGenerator
    ) -> String {
        String((0..<Int.random(in: length, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! })
    }
}
