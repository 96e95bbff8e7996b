import Glibc
import OpenURLBus

/// Manifests for the handlers' directory.
extension HostileFile {
    static func id(_ word: String) -> String { "com.hostile.\(word)" }

    static func file(_ word: String) -> String { "\(id(word)).plist" }

    static func xml(_ body: String) -> [UInt8] {
        Array("<?xml version=\"1.0\"?>\n<plist version=\"1.0\">\(body)</plist>".utf8)
    }

    /// Returns the keys of a valid handler.
    static func dictionary(_ word: String, _ keys: String, executable: String = "/bin/true") -> String {
        "<dict><key>CFBundleIdentifier</key><string>\(id(word))</string>"
            + "<key>CFBundleExecutable</key><string>\(executable)</string>\(keys)</dict>"
    }

    static func types(_ keys: String) -> String { "<key>CFBundleURLTypes</key><array><dict>\(keys)</dict></array>" }

    static func schemes(_ schemes: String...) -> String {
        let list = schemes.map { "<string>\($0)</string>" }.joined()
        return types("<key>CFBundleURLSchemes</key><array>\(list)</array>")
    }

    private static func keys(_ word: String, _ keys: String, _ problem: String?) -> HostileFile {
        bytes(file(word), xml(dictionary(word, keys)), problem)
    }

    static func manifests(canary: String) -> [HostileFile] {
        let lost = "leads to ../nowhere, which was moved or removed..."
        return placeholders(file, directory: "is a directory, not a file", lost: lost, limit: 1 << 20)
            + [
                node(file("socket"), S_IFSOCK, "is a socket, not a file"),
                text("unrelated.txt", "not a manifest", nil),
                text(".\(file("hidden"))", "not a manifest", nil),
            ] + badSchemes + badHosts + badIdentifiers + foreignIdentifiers + badPrograms(canary) + wrongTypes
            + wrongValues
    }

    private static let badSchemes: [HostileFile] = {
        func bad(_ word: String, _ scheme: String, _ reason: String) -> HostileFile {
            keys(word, schemes("fine-\(word)", scheme), "CFBundleURLTypes[0].CFBundleURLSchemes[1]: \(reason)")
                .opening(["fine-\(word)": .failed(.noHandler)])
        }
        let allowed = "a scheme is made of letters, digits, '+', '-' and '.'"
        return [
            bad("slash", "a/b", "contains '/'; \(allowed)"),
            bad("colon", "a:", "contains ':'; write only the part of a URL before the ':'"),
            bad("space", "a b", "contains U+0020; \(allowed)"),
            bad("newline", "a&#10;b", "contains U+000A"),
            bad("escape", "a\u{9B}b", "contains U+009B"),
            bad("umlaut", "ü", "contains U+00FC; \(allowed)"),
            bad("kelvin", "\u{212A}", "contains U+212A; \(allowed)"),
            bad("override", "a\u{202E}b", "contains U+202E; \(allowed)"),
            bad("underscore", "a_b", "contains '_'; \(allowed)"),
            bad("digit", "1a", "starts with '1'; a scheme starts with a letter"),
            bad("plus", "+a", "starts with '+'; a scheme starts with a letter"),
            bad("blank", "", "is empty"),
            bad("long", String(repeating: "a", count: 65), "has 65 bytes; a scheme may have at most 64"),
            bad("huge", String(repeating: "a", count: 900_000), "has 900000 bytes; at most 1024 are allowed"),
            keys("none", types(""), "CFBundleURLTypes[0].CFBundleURLSchemes: is missing"),
            keys(
                "empty",
                types("<key>CFBundleURLSchemes</key><array/>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes: is empty"
            ),
        ]
            + ["http", "HTTPS", "mailto", "tel", "sms"].enumerated().map { number, scheme in
                let owner = ["browser", "browser", "mail", "telephone", "messages"][number]
                return keys(
                    "fixed\(number)",
                    schemes(scheme, "fixed-\(number)"),
                    "CFBundleURLTypes[0].CFBundleURLSchemes[0]: \(scheme.lowercased()) is a fixed scheme and stays with "
                        + "org.openurl.system.\(owner)"
                ).opening([scheme: .failed(.noHandler), "fixed-\(number)": .failed(.launchFailed)])
            }
    }()

    private static let badHosts: [HostileFile] = {
        func bad(_ word: String, _ host: String, _ reason: String) -> HostileFile {
            let hosts = "<key>OUHosts</key><array><string>\(host)</string></array>"
            let claim = "<key>CFBundleURLSchemes</key><array><string>host-\(word)</string></array>"
            return keys("host\(word)", types(claim + hosts), "CFBundleURLTypes[0].OUHosts[0]: \(reason)")
                .opening(["host-\(word)": .failed(.noHandler)])
        }
        return [
            bad("empty", "", "is empty"),
            bad("dots", "a..b", "has an empty label"),
            bad("star", "a.*.b", "has a '*' that is not the whole first label of a longer name, as in *.acme.com"),
            bad("slash", "a/b", "contains '/'; a host is made of letters, digits, '-', '_' and '.'"),
            bad("long", String(repeating: "a", count: 254), "has 254 bytes; a host may have at most 253"),
        ]
    }()

    private static let badIdentifiers: [HostileFile] = {
        func bad(_ word: String, _ identifier: String, _ reason: String) -> HostileFile {
            text(
                file("id\(word)"),
                "<plist><dict><key>CFBundleIdentifier</key><string>\(identifier)</string>"
                    + "<key>CFBundleExecutable</key><string>/bin/true</string>\(schemes("id-\(word)"))</dict></plist>",
                "CFBundleIdentifier: \(reason)"
            ).opening(["id-\(word)": .failed(.noHandler)])
        }
        let allowed = "a bundle identifier is made of letters, digits, '-', '_' and '.'"
        return [
            bad("dots", "../../etc/x", "contains '/'; \(allowed)"),
            bad("parent", "..", "has an empty element"),
            bad("single", "hostile", "needs at least two elements, as in com.example.app"),
            bad("empty", "", "needs at least two elements, as in com.example.app"),
            bad("digit", "com.1hostile", "has an element that starts with a digit: 1hostile"),
            bad("unique", ":1.5", "contains ':'; \(allowed)"),
            bad("umlaut", "com.hostilé", "contains U+00E9; \(allowed)"),
            bad("newline", "com.a&#10;b", "contains U+000A"),
            bad(
                "long",
                "com." + String(repeating: "a", count: 252),
                "has 256 bytes; a bundle identifier may have at most 255"
            ),
            bad(
                "other",
                "com.hostile.another",
                "is com.hostile.another, so the file has to be called \(file("another"))"
            ),
            bad(
                "good",
                "com.example.good",
                "is com.example.good, which com.example.good.plist already declares; remove one of the two"
            ),
            text(
                file("anonymous"),
                "<plist><dict><key>CFBundleExecutable</key><string>/bin/true</string></dict></plist>",
                "CFBundleIdentifier: is missing"
            ),
        ]
    }()

    /// Bus names that belong to other programs.
    private static let foreignIdentifiers = ["org.freedesktop.DBus", "org.openurl.Router1"].map { identifier in
        let scheme = "foreign-\(identifier.split(separator: ".").last ?? "")"
        return text(
            "\(identifier).plist",
            "<plist><dict><key>CFBundleIdentifier</key><string>\(identifier)</string>"
                + "<key>CFBundleExecutable</key><string>/bin/true</string>\(schemes(scheme))</dict></plist>",
            "CFBundleIdentifier: is the bus name of the bus itself or of the router"
        ).opening([scheme: .failed(.noHandler)])
    }

    /// Returns executables that cannot run, and arguments with a meaning for a shell.
    private static func badPrograms(_ canary: String) -> [HostileFile] {
        func refused(_ word: String, _ executable: String, _ reason: String) -> HostileFile {
            bytes(
                file(word),
                xml(dictionary(word, schemes(word), executable: executable)),
                "CFBundleExecutable: \(reason)"
            ).opening([word: .failed(.noHandler)])
        }
        func fails(_ word: String, _ executable: String, _ keys: String = "") -> HostileFile {
            bytes(file(word), xml(dictionary(word, schemes(word) + keys, executable: executable)), nil)
                .opening([word: .failed(.launchFailed)])
        }
        let leavesBundle = "leads out of the handler's directory with '..'; give an absolute path"
        return [
            refused("up", "../../../bin/sh", leavesBundle),
            refused("down", "a/../../x", leavesBundle),
            refused("parent", "..", "is a directory, not a program; give the file in it"),
            refused("folder", "bin/", "is a directory, not a program; give the file in it"),
            refused("nothing", "", "is empty"),
            fails("quits", "/bin/true"),
            fails("nowhere", "/nowhere/hostile"),
            fails("relative", "bin/hostile"),
            fails("unknown", "no-such-program-anywhere"),
            fails("folders", "/etc"),
            fails("notexecutable", "/etc/passwd"),
            fails("devicefile", "/dev/null"),
            fails("shell", "/bin/sh -c 'touch \(canary)'"),
            fails("substitution", "$(touch \(canary))"),
            fails(
                "arguments",
                "/bin/echo",
                "<key>OUArguments</key><array><string>; touch \(canary)</string><string>`touch \(canary)`</string></array>"
            ),
            fails(
                "environment",
                "/bin/true",
                "<key>OUEnvironment</key><dict><key>A</key><string>() { :; }; touch \(canary)</string></dict>"
            ),
        ]
    }

    /// Each key with each type that the key must not have.
    private static let wrongTypes: [HostileFile] = {
        let values = [
            "a string": "<string>x.y</string>", "an integer": "<integer>7</integer>",
            "a real number": "<real>1.5</real>",
            "a boolean": "<true/>", "an array": "<array/>", "a dictionary": "<dict/>",
            "a date": "<date>2008-06-23T13:00:00Z</date>", "data": "<data>AAEC</data>",
        ]
        let keys = [
            "CFBundleIdentifier": ["a string"], "CFBundleExecutable": ["a string"], "CFBundleName": ["a string"],
            "CFBundleDisplayName": ["a string"], "CFBundleVersion": ["a string"], "UILaunchImageFile": ["a string"],
            "OUArguments": ["an array"], "CFBundleURLTypes": ["an array"], "CFBundleDocumentTypes": ["an array"],
            "UIBackgroundModes": ["an array"], "LSApplicationQueriesSchemes": ["an array"],
            "OUAllowedSources": ["an array"], "UIApplicationExitsOnSuspend": ["a boolean"], "OUFixed": ["a boolean"],
            "OULaunchTimeout": ["a number of seconds", "an integer", "a real number"],
            "OUOpenTimeout": ["a number of seconds", "an integer", "a real number"],
            "OUSuspendDelay": ["a number of seconds", "an integer", "a real number"], "OUEnvironment": ["a dictionary"],
        ]
        return keys.flatMap { key, right in
            values.filter { !right.contains($0.key) }.map { type, value in
                let word = "\(key)-\(type.replacing(" ", with: "-"))"
                var pairs = ["CFBundleIdentifier": "<string>\(id(word))</string>"]
                pairs["CFBundleExecutable"] = "<string>/bin/true</string>"
                pairs[key] = value
                let body = pairs.map { "<key>\($0)</key>\($1)" }.joined()
                let isAlone = right == ["an array"] && ["a string", "a dictionary"].contains(type)
                let advice = isAlone ? "; write <array> and </array> around it" : ""
                return bytes(file(word), xml("<dict>\(body)</dict>"), "\(key): is \(type), not \(right[0])\(advice)")
            }
        }
    }()

    private static let wrongValues: [HostileFile] = {
        func bad(_ word: String, _ body: String, _ problem: String) -> HostileFile { keys(word, body, problem) }
        return [
            bad(
                "element",
                types("<key>CFBundleURLSchemes</key><array><dict/></array>"),
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]: is a dictionary, not a string"
            ),
            bad(
                "type",
                "<key>CFBundleURLTypes</key><array><string>x</string></array>",
                "CFBundleURLTypes[0]: is a string, not a dictionary"
            ),
            bad(
                "negative",
                "<key>OUSuspendDelay</key><real>-1</real>",
                "OUSuspendDelay: is -1.0 seconds; it has to be between 0.001 and 86400"
            ),
            bad(
                "endless",
                "<key>OUOpenTimeout</key><real>+infinity</real>",
                "OUOpenTimeout: is inf seconds; it has to be between 0.001 and 86400"
            ),
            bad(
                "nan",
                "<key>OULaunchTimeout</key><real>nan</real>",
                "OULaunchTimeout: is nan seconds; it has to be between 0.001 and 86400"
            ),
            bad(
                "variable",
                "<key>OUEnvironment</key><dict><key>A=B</key><string>x</string></dict>",
                "OUEnvironment.A=B: is not a valid name for an environment variable"
            ),
            bad(
                "variables",
                "<key>OUEnvironment</key><dict><key>A</key><integer>1</integer></dict>",
                "OUEnvironment.A: is an integer, not a string"
            ),
            bad(
                "image",
                "<key>UILaunchImageFile</key><string>../../etc/passwd</string>",
                "UILaunchImageFile: is not a file name"
            ),
            bad(
                "sources",
                "<key>OUAllowedSources</key><array><string>*.com</string></array>",
                "OUAllowedSources[0]: contains '*'; a bundle identifier is made of letters, digits, '-', '_' and '.'"
            ),
            bad("fixed", "<key>OUFixed</key><true/>", "OUFixed: is ignored outside the system's directories"),
            bad(
                "several",
                "<key>CFBundleName</key><true/><key>OUFixed</key><string>x</string>",
                "CFBundleName: is a boolean, not a string\nOUFixed: is a string, not a boolean"
            ),
        ]
    }()
}
