import FoundationEssentials
import TestSupport
import Testing

@testable import SchemeRegistry

/// Files of localised strings, in each of their formats.
struct StringsFileTests {
    private func strings(_ text: String) throws -> [String: String] { try StringsFile(Array(text.utf8)).strings }

    /// Returns the problem of a file, or `nil` if the file is valid.
    private func problem(_ bytes: [UInt8]) throws -> String? {
        do {
            _ = try StringsFile(bytes)
            return nil
        } catch let error as StringsFile.ParseError {
            return error.description
        }
    }

    @Test func textThatIsSlowToCompareIsRefused() throws {
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 100_000)
        let time = try threadTime {
            for text in ["\"\(marks)\" = \"b\";", "\"b\" = \"\(marks)\";"] {
                let problem = try problem(Array(text.utf8))
                #expect(problem == "line 1: expected at most 30 combining marks in a row")
            }
        }
        #expect(time < .seconds(5))
    }

    private func utf16(_ text: String, isBigEndian: Bool, mark: Bool = true) -> [UInt8] {
        let units: [UInt16] = (mark ? [0xFEFF] : []) + Array(text.utf16)
        return units.flatMap { unit -> [UInt8] in
            let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isBigEndian ? bytes : bytes.reversed()
        }
    }

    @Test(
        arguments: [
            ("", [:]), (" \r\n\t", [:]), ("\u{FEFF}", [:]),
            (#""a" = "b";"#, ["a": "b"]), (#""a"="b";"c"="d";"#, ["a": "b", "c": "d"]),
            ("\"a\"\r\n=\r\n\"b\"\r\n;\r\n", ["a": "b"]), (#""a" = "b"; "a" = "c";"#, ["a": "c"]),
            (#""" = "";"#, ["": ""]), ("\"a\" = \"two\nlines\";", ["a": "two\nlines"]),
            ("\u{FEFF}\"ü\" = \"🙂\";", ["ü": "🙂"]),
            // Names of these characters stand without quotes.
            ("CFBundleName = To-Do;", ["CFBundleName": "To-Do"]), ("a.b/c:d$e_f = 1;", ["a.b/c:d$e_f": "1"]),
            // Comments stand wherever white space does, and are none inside of a string.
            ("// one\n\"a\"/* two */=/**/\"b\"// three\n;/* four\n// */", ["a": "b"]),
            (#""// a" = "/* b */";"#, ["// a": "/* b */"]), ("// no end of the line", [:]), ("/* * / */", [:]),
        ] as [(String, [String: String])]
    )
    func keysAndValuesAreRead(_ text: String, _ expected: [String: String]) throws {
        #expect(try strings(text) == expected)
    }

    @Test(
        arguments: [
            (#"\""#, "\""), (#"\\"#, "\\"), (#"\n\r\t"#, "\n\r\t"), (#"\'"#, "'"), (#"\Uu00e4"#, nil),
            (#"\U00e4\u00E4"#, "ää"), (#"\U00412"#, "A2"), (#"\Uffff"#, "\u{FFFF}"),
            (#"\\n"#, #"\n"#), ("\\\n", "\n"),
        ]
    )
    func escapesAreRead(_ escape: String, _ expected: String?) throws {
        let text = #""a\#(escape)" = "\#(escape)b";"#
        guard let expected else {
            #expect(try problem(Array(text.utf8)) == "line 1: expected four digits")
            return
        }
        #expect(try strings(text) == ["a\(expected)": "\(expected)b"])
    }

    @Test(arguments: [true, false]) func utf16IsRead(isBigEndian: Bool) throws {
        let text = "/* ü */ \"a\" = \"🙂 ü\";\n"
        #expect(try StringsFile(utf16(text, isBigEndian: isBigEndian)).strings == ["a": "🙂 ü"])
        #expect(try StringsFile(utf16("", isBigEndian: isBigEndian)).strings == [:])
        // Half of a character that takes two units, and half of a unit.
        for bytes in [
            utf16("\"a\" = \"", isBigEndian: isBigEndian) + (isBigEndian ? [0xD8, 0x3D] : [0x3D, 0xD8])
                + utf16("\";", isBigEndian: isBigEndian, mark: false),
            utf16(text, isBigEndian: isBigEndian) + [0],
        ] {
            #expect(try problem(bytes) == "line 1: expected UTF-8 or UTF-16")
        }
    }

    @Test(
        arguments: [
            ("\"a", "line 1: expected the end of a string"), ("\"a\\", "line 1: expected the end of a string"),
            ("\"a\"", "line 1: expected '='"), ("\"a\" \"b\";", "line 1: expected '='"),
            ("\"a\" = ;", "line 1: expected a string"), ("\"a\" =", "line 1: expected a string"),
            ("\"a\" = \"b\"", "line 1: expected ';'"), ("\"a\" = \"b\"\n\"c\" = \"d\";", "line 2: expected ';'"),
            ("= \"b\";", "line 1: expected a string"), ("; ", "line 1: expected a string"),
            ("\n\n/* a\n", "line 4: expected the end of a comment"), ("/*/", "line 1: expected the end of a comment"),
            ("/", "line 1: expected '='"), ("\"a\" = {b = c;};", "line 1: expected a string"),
            ("\"\\U12\" = b;", "line 1: expected four digits"), ("\"\\U12", "line 1: expected four digits"),
            ("\"\\UD83D\" = b;", "line 1: expected a character, not half of a surrogate pair"),
            ("\"a\" = \"b\";\n\0", "line 2: expected a string"),
            (#""a" = "x\U0000";"#, "line 1: expected a character other than U+0000"),
            (#""x\u0000" = a;"#, "line 1: expected a character other than U+0000"),
            ("\"a\" = \"x\0y\";", "line 1: expected a character other than U+0000"),
            ("\"a\" = \"x\\\0y\";", "line 1: expected a character other than U+0000"),
        ]
    )
    func damageIsReported(_ text: String, _ message: String) throws {
        #expect(try problem(Array(text.utf8)) == message)
    }

    @Test(arguments: [[0xFF], [0x22, 0xC3, 0x22], [0xEF, 0xBB, 0xBF, 0x80], [0xC0, 0x80]] as [[UInt8]])
    func bytesThatAreNotTextAreRefused(_ bytes: [UInt8]) throws {
        #expect(try problem(bytes) == "line 1: expected UTF-8 or UTF-16")
    }

    @Test func stringsOfPropertyListsHoldNoNUL() throws {
        let list: PropertyListValue = ["a": "x\0y", "c\0": "d", "e": "f"]
        #expect(try StringsFile(list.encoded(.binary)).strings == ["e": "f"])
    }

    @Test func propertyListsAreRead() throws {
        let list: PropertyListValue = ["a": "b", "c": 1, "d": ["e"]]
        #expect(try StringsFile(list.encoded(.xml)).strings == ["a": "b"])
        #expect(try StringsFile(list.encoded(.binary)).strings == ["a": "b"])
        #expect(try StringsFile((["a"] as PropertyListValue).encoded()).strings == [:])
        #expect(throws: PropertyListError.self) { try StringsFile(Array("<plist>".utf8)) }
        #expect(throws: PropertyListError.self) { try StringsFile(Array("bplist00".utf8)) }
    }

    /// Whatever bytes there are, they are read or refused, in time that grows with their number.
    @Test func randomBytesDoNotCrashTheReader() throws {
        var generator = SeededGenerator(seed: 7)
        let pieces = ["\"", "\\", "/*", "*/", "//", "=", ";", "\n", "U", "12ab", "a", " ", "ü"].map { Array($0.utf8) }
        var (read, refused) = (0, 0)
        for _ in 0..<2000 {
            let bytes = (0..<generator.count(12)).flatMap { _ in pieces[generator.count(pieces.count - 1)] }
            if try problem(bytes) == nil { read += 1 } else { refused += 1 }
        }
        #expect(read > 0)
        #expect(refused > 0)
    }
}
