import Foundation
import Glibc
import OpenURLBus
import Testing

/// Desktop entries for the applications' directory. No entry may make a shell evaluate the text that creates `canary`.
extension HostileFile {
    static func entries(canary: String) -> [HostileFile] {
        placeholders({ "hostile-\($0).desktop" }, directory: nil, lost: "does not exist", limit: 1 << 20)
            + [node("hostile-socket.desktop", S_IFSOCK, "is a socket, not a file")]
            + commands(canary) + badCommands + badEntries(canary) + halfEntries + badNames
    }

    private static func contents(_ scheme: String, _ exec: String, _ keys: String = "") -> String {
        """
        [Desktop Entry]
        Type=Application
        Name=\(scheme)
        Exec=\(exec)
        MimeType=x-scheme-handler/\(scheme);
        \(keys)

        """
    }

    /// Returns an entry that claims the scheme `entry-` with the word.
    private static func claim(
        _ word: String,
        _ exec: String,
        _ keys: String,
        _ problem: String?,
        _ outcome: Outcome
    ) -> HostileFile {
        text("hostile-\(word).desktop", contents("entry-\(word)", exec, keys), problem).opening([
            "entry-\(word)": outcome
        ])
    }

    private static func claim(_ word: String, _ exec: String, _ problem: String?, _ outcome: Outcome) -> HostileFile {
        claim(word, exec, "", problem, outcome)
    }

    /// Returns valid commands that would create a canary if a shell evaluated them.
    private static func commands(_ canary: String) -> [HostileFile] {
        func runs(_ word: String, _ exec: String) -> HostileFile { claim(word, exec, nil, .opened) }
        return [
            runs("semicolon", "echo %u; touch \(canary)"), runs("substitution", "echo $(touch \(canary)) %u"),
            runs("backticks", "echo `touch \(canary)` %u"), runs("quoted", "echo \"$(touch \(canary))\" %u"),
            runs("escaped", "echo \"\\\\$(touch \(canary))\" %u"), runs("pipe", "echo %u | tee \(canary)"),
            runs("redirection", "echo %u > \(canary)"), runs("append", "echo %u >>\(canary)"),
            runs("and", "true && touch \(canary)"), runs("or", "echo %u || touch \(canary)"),
            runs("background", "echo %u & touch \(canary)"), runs("newline", "echo %u\\ntouch \(canary)"),
            runs("return", "echo %u\\rtouch \(canary)"), runs("variable", "echo ${IFS}touch${IFS}\(canary) %u"),
            runs("glob", "echo /dev/* ~ {touch,\(canary)} %u"), runs("heredoc", "echo <<EOF %u"),
            runs("process", "echo <(touch \(canary)) %u"), runs("comment", "echo # %u ; touch \(canary)"),
            runs("argument", "sh -c \"exit 0\" %u"), runs("positional", "sh -c \"test -n \\\\\"\\\\$0\\\\\"\" %u"),
            runs("several", "echo %U ; touch \(canary)"), runs("file", "echo %f ; touch \(canary)"),
            runs("codeless", "echo ; touch \(canary)"), runs("name", "echo %c %k %i ; touch \(canary)"),
            runs("percent", "echo %%u ; touch \(canary)"),
            claim(
                "shellname",
                "\"sh -c touch\" %u",
                "Exec: is sh -c touch, which is not a program here, so the entry is ignored",
                .failed(.noHandler)
            ),
        ]
    }

    private static let badCommands: [HostileFile] = {
        func bad(_ word: String, _ exec: String, _ reason: String) -> HostileFile {
            claim(word, exec, "Exec: \(reason)", .failed(.noHandler))
        }
        let isGone = "which is not a program here, so the entry is ignored"
        return [
            bad("quote", "echo \"%u", "contains %u within quotes"),
            bad("open", "echo \"x", "has an unmatched \""),
            bad("single", "echo 'x", "has an unmatched '"),
            bad("inner", "sh -c \"echo %u\"", "contains %u within quotes"),
            bad("apostrophe", "sh -c 'echo %u'", "contains %u within quotes"),
            bad("code", "echo %y", "contains '%' before 'y', which is not a field code"),
            bad("upper", "echo %C", "contains '%' before 'C', which is not a field code"),
            bad("accent", "echo %é", "contains '%' before U+00E9, which is not a field code"),
            bad("urls", "echo %u %U", "contains %U after another of %f, %u, %F and %U"),
            bad("twice", "echo %u %u", "contains %u after another of %f, %u, %F and %U"),
            bad("files", "echo %F %u", "contains %u after another of %f, %u, %F and %U"),
            bad("embedded", "echo x%U", "contains %U as only part of an argument"),
            bad("icon", "echo --icon=%i", "contains %i as only part of an argument"),
            bad("trailing", "echo %", "ends with a lone '%'"), bad("backslash", "echo \\\\", "ends with a lone '\\'"),
            bad("nothing", "", "is missing, and DBusActivatable is not true"), bad("hash", "#true", "is empty"),
            bad("blank", "\\s", "is empty"), bad("urlonly", "%u", "has a program that is a field code"),
            bad("listonly", "%U", "has a program that is a field code"),
            bad("nameless", "\"\" %u", "has a program that has no name"),
            bad("assignment", "A=b true %u", "has a program that contains '='"),
            bad("relative", "./hostile %u", "has a program that is a relative path"),
            bad("parent", "../../bin/sh %u", "has a program that is a relative path"),
            bad("missing", "/nowhere/hostile %u", "is /nowhere/hostile, \(isGone)"),
            bad("folder", "/etc %u", "is /etc, \(isGone)"), bad("plain", "/etc/passwd %u", "is /etc/passwd, \(isGone)"),
            bad("nulldevice", "/dev/null %u", "is /dev/null, \(isGone)"), bad("dots", ".. %u", "is .., \(isGone)"),
            bad("nul", "true \u{0}%u", "contains U+0000"),
        ]
    }()

    private static func badEntries(_ canary: String) -> [HostileFile] {
        func bad(_ word: String, _ contents: String, _ problem: String?) -> HostileFile {
            text("hostile-\(word).desktop", contents, problem)
        }
        let right = contents("entry-bytes", "true %u")
        let touch = "touch \(canary)"
        let noLine = "is neither a comment nor a group nor a key with its value"
        let lines = (1...20).map { "line \($0): \(noLine)" }
        return [
            bytes("hostile-empty.desktop", [], "[Desktop Entry]: is missing"),
            bytes("hostile-noise.desktop", noise, "line 2: has an invalid key"),
            bytes("hostile-zero.desktop", [UInt8](repeating: 0, count: 4096), "[Desktop Entry]: is missing"),
            bytes("hostile-latin.desktop", Array("\(right)Comment=caf".utf8) + [0xE9, 0x0A], nil)
                .opening(["entry-bytes": .opened]),
            bytes("hostile-latinline.desktop", Array(right.utf8) + [0xE9, 0x0A], "line 7: \(noLine)"),
            bytes(
                "hostile-latinexec.desktop",
                Array("[Desktop Entry]\nType=Application\nExec=tr".utf8) + [0xE9, 0x0A],
                "Exec: is not UTF-8"
            ),
            bytes(
                "hostile-utf16.desktop",
                [0xFF, 0xFE] + Array(right.utf8).flatMap { [$0, 0] },
                "line 1: \(noLine)"
            ),
            bad("groupless", "Type=Application\nExec=\(touch)\n", "line 1: is a key before the first group"),
            bad(
                "wronggroup",
                "[Desktop Action x]\nExec=\(touch)\n[Desktop Entry]\nType=Application\n",
                "[Desktop Entry]: is not the first group"
            ),
            bad(
                "action",
                "[Desktop Entry]\nType=Application\nName=x\n[Desktop Action x]\nExec=\(touch)\n",
                "Exec: is missing, and DBusActivatable is not true"
            ),
            bad("othergroup", "[Application]\nType=Application\nExec=\(touch)\n", "[Desktop Entry]: is missing"),
            bad(
                "opengroup",
                "[Desktop Entry\nType=Application\nExec=\(touch)\n",
                "line 1: opens a group header but does not close it"
            ),
            bad(
                "controlgroup",
                "[Desktop\u{7} Entry]\nExec=\(touch)\n",
                "line 1: has an invalid group name"
            ),
            bad("line", contents("entry-line", touch, "this is no line"), "line 6: \(noLine)"),
            bad("keyless", contents("entry-keyless", touch, "=x"), "line 6: has no key before '='"),
            bad("lines", String(repeating: "x\n", count: 50_000), lines[0]),
            claim("keytwice", "false", "Exec=true %u", "Exec: appears twice", .opened),
            claim(
                "grouptwice",
                "false",
                "[Desktop Entry]\nExec=true %u",
                "[Desktop Entry]: appears twice\nExec: appears twice",
                .opened
            ),
            claim("hidden", touch, "Hidden=true", nil, .failed(.noHandler)),
            claim("maybe", "true %u", "Hidden=perhaps", "Hidden: is neither true nor false, so it is ignored", .opened),
            claim(
                "terminal",
                "true %u",
                "Terminal=perhaps",
                "Terminal: is neither true nor false, so it is ignored",
                .opened
            ),
            claim("lone", "echo \\", "Exec: ends with a lone '\\'", .opened),
            claim(
                "escape",
                "true \\x %u",
                "Exec: contains an escape sequence other than \\s, \\n, \\t, \\r and \\\\",
                .opened
            ),
            claim("path", "true %u", "Path=../..", "Path: is a relative path, so it is ignored", .opened),
            claim("nowhere", "true %u", "Path=/nowhere", nil, .failed(.launchFailed)),
            claim(
                "tryexec",
                touch,
                "TryExec=/nowhere/hostile",
                "TryExec: is /nowhere/hostile, which is not a program here, so the entry is ignored",
                .failed(.noHandler)
            ),
            claim(
                "tryshell",
                touch,
                "TryExec=true; \(touch)",
                "TryExec: is true; \(touch), which is not a program here, so the entry is ignored",
                .failed(.noHandler)
            ),
            claim(
                "activatable",
                "true",
                "DBusActivatable=true",
                "DBusActivatable: is ignored: the file's name without .desktop is not a bus name",
                .opened
            ),
            bad(
                "busonly",
                "[Desktop Entry]\nType=Application\nName=x\nDBusActivatable=true\n",
                "DBusActivatable: is ignored: the file's name without .desktop is not a bus name\n"
                    + "Exec: is missing, and DBusActivatable is not true"
            ),
            bad("link", "[Desktop Entry]\nType=Link\nName=x\nURL=https://example.com\n", nil),
            bad("typeless", "[Desktop Entry]\nName=x\nExec=\(touch)\n", "Type: is missing"),
            bad("othertype", "[Desktop Entry]\nType=Shell\nName=x\nExec=\(touch)\n", nil),
            bad(
                "schemes",
                contents("a/b;x-scheme-handler/;x-scheme-handler/ü;x-scheme-handler/../x", "true %u"),
                "MimeType: contains 'x-scheme-handler/a/b', which is not a MIME type\n"
                    + "MimeType: contains 'x-scheme-handler/', which is not a MIME type\n"
                    + "MimeType: contains 'x-scheme-handler/\\u{00FC}', which is not a MIME type\n"
                    + "MimeType: contains 'x-scheme-handler/../x', which is not a MIME type"
            ),
            claim("length", "true %u", "X-Long=\(String(repeating: "x", count: 900_000))", nil, .opened),
            claim("longexec", "true \(String(repeating: "x", count: 900_000)) %u", nil, .failed(.launchFailed)),
            claim("manyargs", "true \(String(repeating: "x ", count: 400_000)) %u", nil, .failed(.launchFailed)),
        ]
    }

    /// The starts of an entry that is still being written. Each start is either valid or has a diagnostic.
    private static let halfEntries: [HostileFile] = {
        let whole = Array(contents("entry-half", "true %u").utf8)
        let noLine = "is neither a comment nor a group nor a key with its value"
        let cuts: [(Int, String?)] = [
            (1, "line 1: opens a group header but does not close it"),
            (14, "line 1: opens a group header but does not close it"),
            (15, "Type: is missing"), (18, "line 2: \(noLine)"), (20, "line 2: \(noLine)"), (21, nil), (25, nil),
            (31, nil),
            (32, "Exec: is missing, and DBusActivatable is not true"), (35, "line 3: \(noLine)"),
            (40, "Exec: is missing, and DBusActivatable is not true"), (50, "line 4: \(noLine)"),
        ]
        return cuts.map { bytes("hostile-half\($0).desktop", Array(whole.prefix($0)), $1) }
    }()

    /// File names that are not names of entries, or that belong to other entries.
    private static let badNames: [HostileFile] = {
        func named(_ name: String, _ exec: String, _ problem: String?, _ keys: String = "") -> HostileFile {
            HostileFile(name: name, problem: problem) {
                let directory = $0.deletingLastPathComponent()
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                try Data(contents("entry-name", exec, keys).utf8).write(to: $0)
            }
        }
        let noID = "has a name that is not a desktop file ID"
        let bus = "[Desktop Entry]\nType=Application\nName=x\nDBusActivatable=true\nMimeType=x-scheme-handler/"
        return [
            named("hostile\nname.desktop", "false", noID), named("hostile\u{1B}[2Jname.desktop", "false", noID),
            named("hostile.txt", "false", nil), named(".hostile.desktop", "false", nil),
            named("hostile.desktop~", "false", nil),
            HostileFile(name: "deep/1/2/3/4/5/6/7/8", problem: "is a directory nested too deeply to be searched") {
                try FileManager.default.createDirectory(at: $0, withIntermediateDirectories: true)
                try Data(contents("entry-deep", "false").utf8).write(to: $0.appending(path: "hostile.desktop"))
            }.opening(["entry-deep": .failed(.noHandler)]),
            HostileFile(name: "hostile-\u{FFFD}.desktop", problem: "has a name that is not UTF-8") { url in
                let path =
                    Array(url.deletingLastPathComponent().path.utf8) + Array("/hostile-".utf8) + [0xFF]
                    + Array(".desktop".utf8)
                let descriptor = path.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { buffer in
                    open(Array(buffer) + [0], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
                }
                try #require(descriptor >= 0)
                close(descriptor)
            },
            link("hostile-here", to: ".", nil),
            // The entries name the bus itself, which is not an application, a name without an owner, and a name of the
            // router.
            text("org.freedesktop.DBus.desktop", "\(bus)entry-bus;\n", nil).opening([
                "entry-bus": .failed(.launchFailed)
            ]),
            text("com.hostile.Nobody.desktop", "\(bus)entry-nobody;\n", nil)
                .opening(["entry-nobody": .failed(.launchFailed)]),
            text("org.openurl.Router1.desktop", "\(bus)entry-router;\n", nil)
                .opening(["entry-router": .failed(.noHandler)]),
        ]
    }()
}
