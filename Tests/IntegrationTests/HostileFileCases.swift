import Foundation
import Glibc
import Testing

/// One file that is broken, half-written or meant to do harm, and what the router has to say of it.
struct HostileFile: Sendable {
    var name: String
    /// What is wrong; nothing where a rule has the file ignored.
    var problem: String?
    var make: @Sendable (URL) throws -> Void

    private static func bytes(_ name: String, _ bytes: [UInt8], _ problem: String?) -> HostileFile {
        HostileFile(name: name, problem: problem) { try Data(bytes).write(to: $0) }
    }

    private static func link(_ name: String, to target: String, _ problem: String) -> HostileFile {
        HostileFile(name: name, problem: problem) {
            try FileManager.default.createSymbolicLink(atPath: $0.path, withDestinationPath: target)
        }
    }

    /// What can stand in the place of a file, whatever is expected in it.
    private static func placeholders(_ name: (String) -> String, directory: String?) -> [HostileFile] {
        [
            link(name("cycle"), to: name("cycle"), "is part of a cycle of links"),
            link(name("dangling"), to: "../nowhere", "does not exist"),
            link(name("device"), to: "/dev/zero", "is a device, not a file"),
            HostileFile(name: name("fifo"), problem: "is a FIFO, not a file") {
                try #require(mkfifo($0.path, 0o600) == 0)
            },
            HostileFile(name: name("directory"), problem: directory) {
                try FileManager.default.createDirectory(at: $0, withIntermediateDirectories: false)
            },
            HostileFile(name: name("sparse"), problem: "is larger than 1048576 bytes") {
                try Data().write(to: $0)
                try #require(truncate($0.path, 1 << 30) == 0)
            },
        ]
    }

    // MARK: Manifests

    /// Manifests for the handlers' directory; `number` keeps their names apart.
    static func manifests(_ number: Int) -> [HostileFile] {
        func id(_ word: String) -> String { "com.hostile.\(word)\(number)" }
        func file(_ word: String) -> String { "\(id(word)).plist" }
        func xml(_ body: String) -> [UInt8] {
            Array("<?xml version=\"1.0\"?>\n<plist version=\"1.0\">\(body)</plist>".utf8)
        }
        func keys(_ word: String, _ keys: String, executable: String = "/bin/true") -> [UInt8] {
            xml(
                "<dict><key>CFBundleIdentifier</key><string>\(id(word))</string>"
                    + "<key>CFBundleExecutable</key><string>\(executable)</string>\(keys)</dict>"
            )
        }
        func schemes(_ word: String, _ schemes: String) -> [UInt8] {
            keys(
                word,
                "<key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key><array>\(schemes)</array></dict></array>"
            )
        }
        let whole = schemes("whole", "<string>hostile</string>")
        let entities = "<!DOCTYPE plist [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>"
        return placeholders(file, directory: "is a directory, not a file") + [
            bytes(file("empty"), [], "is neither an XML nor a binary property list"),
            bytes(
                file("noise"),
                (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167) },
                "is neither an XML nor a binary property list"
            ),
            bytes(
                file("half"),
                Array(whole.prefix(whole.count / 2)),
                "is not a property list: Encountered unexpected EOF"
            ),
            bytes(file("nearly"), Array(whole.dropLast(3)), "is not a property list: Encountered unexpected EOF"),
            bytes(file("binary"), Array("bplist00".utf8), "is a damaged binary property list: it is too short"),
            bytes(
                file("nul"),
                xml("<dict><key>CFBundleIdentifier</key><string>com.\u{0}</string></dict>"),
                "holds a NUL byte"
            ),
            bytes(
                file("latin"),
                xml("<dict><key>a</key><string>") + [0xE9] + Array("</string></dict>".utf8),
                "is not UTF-8"
            ),
            bytes(
                file("deep"),
                xml(String(repeating: "<array>", count: 5000)),
                "nests or holds more than 256 arrays and dictionaries"
            ),
            bytes(
                file("entities"),
                Array(entities.utf8) + xml("<dict><key>&b;</key><string>&b;</string></dict>"),
                "is not a property list: Encountered unexpected character [ on line 1 while parsing DTD"
            ),
            bytes(file("array"), xml("<array/>"), "is an array, not a dictionary"),
            bytes(
                file("anonymous"),
                xml("<dict><key>CFBundleExecutable</key><string>/bin/true</string></dict>"),
                "CFBundleIdentifier: is missing"
            ),
            bytes(
                file("dots"),
                xml("<dict><key>CFBundleIdentifier</key><string>../../etc/x</string></dict>"),
                "CFBundleIdentifier: holds '/'; a bundle identifier is made of letters, digits, '-', '_' and '.'"
            ),
            bytes(
                file("other"),
                keys("another", ""),
                "CFBundleIdentifier: is com.hostile.another\(number), so the file has to be called com.hostile.another\(number).plist"
            ),
            bytes(
                file("number"),
                xml("<dict><key>CFBundleIdentifier</key><integer>7</integer></dict>"),
                "CFBundleIdentifier: is an integer, not a string"
            ),
            bytes(
                file("away"),
                keys("away", "", executable: "../../../bin/sh"),
                "CFBundleExecutable: leads out of the handler's directory with '..'; give an absolute path"
            ),
            bytes(
                file("slash"),
                schemes("slash", "<string>a/b</string>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: holds '/'; a scheme is made of letters, digits, '+', '-' and '.'"
            ),
            bytes(
                file("space"),
                schemes("space", "<string>a b</string>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: holds U+0020; a scheme is made of letters, digits, '+', '-' and '.'"
            ),
            bytes(
                file("umlaut"),
                schemes("umlaut", "<string>ü</string>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: holds U+00FC; a scheme is made of letters, digits, '+', '-' and '.'"
            ),
            bytes(
                file("blank"),
                schemes("blank", "<string></string>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: is empty"
            ),
            bytes(
                file("long"),
                schemes("long", "<string>\(String(repeating: "a", count: 65))</string>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: has 65 bytes; a scheme has at most 64"
            ),
            bytes(
                file("fixed"),
                schemes("fixed", "<string>https</string>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: https is a fixed scheme and stays with org.openurl.system.browser"
            ),
            bytes(
                file("dictionary"),
                schemes("dictionary", "<dict/>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: is a dictionary, not a string"
            ),
            bytes(
                file("modes"),
                keys("modes", "<key>UIBackgroundModes</key><true/>"),
                "UIBackgroundModes: is a boolean, not an array"
            ),
            bytes(
                file("delay"),
                keys("delay", "<key>OUSuspendDelay</key><real>-1</real>"),
                "OUSuspendDelay: is -1.0 seconds; it has to be between 0.001 and 86400"
            ),
            bytes(
                file("environment"),
                keys("environment", "<key>OUEnvironment</key><array/>"),
                "OUEnvironment: is an array, not a dictionary"
            ),
            bytes(
                file("sources"),
                keys("sources", "<key>OUAllowedSources</key><string>*</string>"),
                "OUAllowedSources: is a string, not an array"
            ),
            bytes("unrelated\(number).txt", Array("not a manifest".utf8), nil),
        ]
    }

    // MARK: Desktop entries

    /// Entries for the applications' directory, of which none may ever have a shell look at `canary`.
    static func entries(_ number: Int, canary: String) -> [HostileFile] {
        func file(_ word: String) -> String { "hostile-\(word)\(number).desktop" }
        func entry(_ word: String, _ exec: String, _ keys: String = "") -> [UInt8] {
            Array(
                """
                [Desktop Entry]
                Type=Application
                Name=\(word)
                Exec=\(exec)
                MimeType=x-scheme-handler/hostile-\(word)\(number);
                \(keys)

                """.utf8
            )
        }
        func shell(_ word: String, _ exec: String, _ problem: String?) -> HostileFile {
            bytes(file(word), entry(word, exec), problem)
        }
        let whole = entry("whole", "true %u")
        // A directory is looked into, whatever it is called.
        return placeholders(file, directory: nil) + [
            shell("semicolon", "echo %u; touch \(canary)", nil),
            shell("substitution", "echo $(touch \(canary)) %u", nil),
            shell("backticks", "echo `touch \(canary)` %u", nil),
            shell("quoted", "echo \"$(touch \(canary))\" %u", nil),
            shell("pipe", "echo %u | tee \(canary)", nil),
            shell("redirection", "echo %u > \(canary)", nil),
            shell("and", "true && touch \(canary)", nil),
            shell("newline", "echo %u\\ntouch \(canary)", nil),
            shell("quote", "echo \"%u", "Exec: holds %u within quotes"),
            shell("code", "echo %y", "Exec: holds '%' before 'y', which is no field code"),
            shell("urls", "echo %u %U", "Exec: holds %U after another of %f, %u, %F and %U"),
            shell("percent", "echo %", "Exec: ends with a lone '%'"),
            shell("nothing", "", "Exec: is missing, and DBusActivatable is not true"),
            shell("relative", "./hostile %u", "Exec: has a program that is a relative path"),
            shell(
                "missing",
                "/nowhere/hostile %u",
                "Exec: is /nowhere/hostile, which is no program here, so the entry is ignored"
            ),
            bytes(file("empty"), [], "[Desktop Entry]: is missing"),
            bytes(
                file("noise"),
                (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167) },
                "line 1: has a key with blanks or control characters"
            ),
            bytes(file("half"), Array(whole.prefix(30)), nil),
            bytes(
                file("groupless"),
                Array("Type=Application\nName=x\nExec=true\n".utf8),
                "line 1: is a key before the first group"
            ),
            bytes(file("nul"), entry("nul", "true \u{0}%u"), "Exec: holds U+0000"),
            bytes(
                file("latin"),
                entry("latin", "true %u", "Comment=") + [0xE9, 0x0A],
                "line 7: is neither a comment nor a group nor a key with its value"
            ),
            bytes(
                file("latinexec"),
                Array("[Desktop Entry]\nType=Application\nName=x\nExec=tr".utf8) + [0xE9, 0x0A],
                "Exec: is not UTF-8"
            ),
            bytes(file("twice"), entry("twice", "true %u", "Exec=false"), "Exec: is there twice"),
            bytes(
                file("groups"),
                entry("groups", "true %u", "[Desktop Entry]\nExec=false"),
                "[Desktop Entry]: is there twice\nExec: is there twice"
            ),
            bytes(
                file("line"),
                entry("line", "true %u", "this is no line"),
                "line 6: is neither a comment nor a group nor a key with its value"
            ),
            bytes(
                file("escape"),
                entry("escape", "true \\x %u"),
                "Exec: holds an escape sequence other than \\s, \\n, \\t, \\r and \\\\"
            ),
            bytes(file("link"), Array("[Desktop Entry]\nType=Link\nName=x\nURL=https://example.com\n".utf8), nil),
            bytes(file("typeless"), Array("[Desktop Entry]\nName=x\nExec=true\n".utf8), "Type: is missing"),
            bytes(file("hidden"), entry("hidden", "touch \(canary)", "Hidden=true"), nil),
            bytes(
                file("tryexec"),
                entry("tryexec", "touch \(canary)", "TryExec=/nowhere/hostile"),
                "TryExec: is /nowhere/hostile, which is no program here, so the entry is ignored"
            ),
            bytes(
                file("activatable"),
                entry("activatable", "true", "DBusActivatable=true"),
                "DBusActivatable: is ignored: the file's name without .desktop is no bus name"
            ),
            bytes(
                file("schemes"),
                entry("schemes", "true %u", "X-Foo=1").replacing(
                    "schemes\(number);",
                    "a/b;x-scheme-handler/;x-scheme-handler/ü;"
                ),
                "MimeType: holds 'x-scheme-handler/hostile-a/b', which is no MIME type\n"
                    + "MimeType: holds 'x-scheme-handler/', which is no MIME type\n"
                    + "MimeType: holds 'x-scheme-handler/\\u{00FC}', which is no MIME type"
            ),
            bytes(file("length"), entry("length", "true %u", "X-Long=\(String(repeating: "x", count: 900_000))"), nil),
            bytes("hostile\(number).txt", Array("not an entry".utf8), nil),
        ]
    }
}

extension HostileFile {
    /// Associations that lead out of every directory, to themselves and to nothing.
    static func associations(_ name: String) -> HostileFile {
        let text = """
            [Default Applications]
            x-scheme-handler/good=../../etc/passwd;hostile-cycle1.desktop;\u{0};
            x-scheme-handler/hostile-quote1=hostile-quote1.desktop;

            [Added Associations
            x-scheme-handler/good=
            =x
            """
        let problem = """
            line 5: is the start of a group without its end
            line 7: has no key before '='
            [Default Applications] x-scheme-handler/good: holds U+0000
            """
        return HostileFile(name: name, problem: problem) { try Data(text.utf8).write(to: $0) }
    }
}

extension [UInt8] {
    fileprivate func replacing(_ text: String, _ replacement: String) -> [UInt8] {
        Array(String(decoding: self, as: UTF8.self).replacing(text, with: replacement).utf8)
    }
}
