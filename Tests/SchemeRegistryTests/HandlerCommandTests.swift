import Testing
import UserFiles

@testable import SchemeRegistry

/// `OUCommand` in a manifest.
@Suite(.timeLimit(.minutes(1))) struct HandlerCommandTests {
    private func arguments(_ words: [String], _ url: String) throws -> [String] {
        try HandlerCommand(["/bin/x"] + words).arguments(opening: url)
    }

    @Test func codesAreReplaced() throws {
        #expect(
            try arguments(["-a", "%u", "<%u>", "100 %%", "%%u"], "a:b%20c") == [
                "-a", "a:b%20c", "<a:b%20c>", "100 %", "%u",
            ]
        )
        #expect(try arguments(["%f"], "file:///tmp/a%20b") == ["/tmp/a b"])
        #expect(try arguments(["%f"], "a:b") == ["a:b"])
        // A URL is no text for a shell, and brings no codes of its own.
        #expect(try arguments(["%u"], "a:$(x)%u%f;'") == ["a:$(x)%u%f;'"])
        #expect(try arguments([], "a:b") == [])
    }

    @Test(
        arguments: [
            ([], .empty), (["/bin/%u"], .codeInProgram("/bin/%u")), (["x", "%U"], .unknownCode(word: "%U")),
            (["x", "a", "b%"], .unknownCode(word: "b%")),
            (["x", "% u"], .unknownCode(word: "% u")),
        ] as [([String], HandlerCommand.ParseError)]
    )
    func otherTextIsRefused(words: [String], error: HandlerCommand.ParseError) {
        #expect(throws: error) { try HandlerCommand(words) }
    }

    private func decode(_ keys: [String: PropertyListValue]) -> (HandlerManifest?, [ManifestProblem]) {
        let list = PropertyListValue.dictionary(keys.merging(["CFBundleIdentifier": "com.example.app"]) { $1 })
        let (manifest, problems) = HandlerManifest.decode(list)
        return (manifest, problems)
    }

    @Test func programOfTheCommandIsTheHandlersProgram() throws {
        let (manifest, problems) = decode(["OUCommand": ["/bin/cat", "%f"]])
        #expect(problems.isEmpty)
        #expect(manifest?.executable == .absolute("/bin/cat"))
        #expect(manifest?.command?.words == ["/bin/cat", "%f"])
    }

    @Test(
        arguments: [
            (["OUCommand": []], "is empty"),
            (["OUCommand": "cat %u"], "is a string, not an array; write <array> and </array> around it"),
            (
                ["OUCommand": ["cat", "%x"]],
                "has an unknown code in '%x'; the codes are %u for the URL and %f for a file, and %% is a percent sign"
            ),
            (["OUCommand": ["../cat"]], "leads out of the handler's directory with '..'; give an absolute path"),
            (
                ["OUCommand": ["cat"], "CFBundleExecutable": "cat"],
                "cannot be used together with CFBundleExecutable; remove one of them"
            ),
        ] as [([String: PropertyListValue], String)]
    )
    func wrongCommandIsAProblem(keys: [String: PropertyListValue], reason: String) {
        let (manifest, problems) = decode(keys)
        #expect(manifest == nil)
        #expect(problems.contains(ManifestProblem(key: "OUCommand", reason: reason)), "\(problems)")
    }

    @Test(arguments: [
        ("sh -c _", 2), ("/usr/bin/bash -lc _", 2), ("dash -ec _", 2), ("bash -ce _", 2), ("bash -c -x _", 3),
        ("bash -O extglob -c _", 4), ("bash +O extglob -o pipefail -c -- _", 7), ("bash --rcfile f -c _", 4),
        ("bash --norc -c _", 3), ("zsh -fc _", 2), ("fish --command _", 2), ("fish --command=_", 1),
        ("busybox sh -c _", 3), ("env A=b sh -c _", 4), ("env -i -u X sh -c _", 6), ("env -S _", 2),
        ("env --split-string=_", 1), ("env -S_", 1), ("nice -n 5 timeout 3 sh -c _", 7),
        ("flatpak-spawn --host bash -c _", 4), ("sh -c 'x' sh bash -c _", 6),
        ("perl -e _", 2), ("perl -we _", 2), ("perl -MFoo -E _", 3), ("perl -e_", 1), ("perl5.36 -n -e x -e _", 5),
        ("python3 -c _", 2), ("python3.13 -Ic _", 2), ("python -W ignore -c _", 4), ("python -c_", 1),
        ("node -e _", 2), ("node --eval _", 2), ("node --eval=_", 1), ("node -r x -pe _", 4), ("nodejs --print _", 2),
        ("ruby -e _", 2), ("ruby -rjson -ne _", 3), ("php -r _", 2), ("lua5.4 -e _", 2), ("Rscript -e _", 2),
        ("awk _ file", 1), ("gawk -e _", 2), ("sed -n _", 2), ("sed --expression=_", 1), ("su -c _ joe", 2),
        ("emacs --eval _", 2), ("emacs -eval _", 2), ("emacsclient -e _", 2), ("vim -c _", 2),
    ])
    func urlInTheTextOfAProgramIsRefused(command: String, index: Int) throws {
        for code in ["%u", "%f", "open('%u')", "%%%u"] {
            let words = command.split(separator: " ").map { String($0).replacing("_", with: code) }
            #expect(throws: HandlerCommand.ParseError.codeInProgramText(index)) { try HandlerCommand(words) }
        }
        let words = command.split(separator: " ").map { String($0).replacing("_", with: "100 %%") }
        #expect(throws: Never.self) { try HandlerCommand(words) }
    }

    @Test(arguments: [
        "sh -c x sh %u", "bash -lc x - %u", "sh script %u", "sh %f", "python3 -m mod %u",
        "python3 -c x %u",
        "sh run -c %u", "perl run -e %u", "perl -e x %u", "node script.js --eval %u", "xdg-open %u", "mail -c %u",
        "grep -e %u file",
        "env A=%u printenv", "env -u A open %u", "awk x %f", "sed -e x %f", "emacsclient -n -c %f", "vim -e %f",
        "nice -n 5 mpv %u",
    ])
    func urlAsAnArgumentIsNoText(command: String) {
        #expect(throws: Never.self) { try HandlerCommand(command.split(separator: " ").map(String.init)) }
    }

    @Test func checkNamesTheTextOfAProgram() throws {
        let keys: [String: PropertyListValue] = [
            "CFBundleIdentifier": "com.example.app", "CFBundleURLTypes": [["CFBundleURLSchemes": ["a"]]],
        ]
        let check = { (words: PropertyListValue) in
            let list = PropertyListValue.dictionary(keys.merging(["OUCommand": words]) { $1 })
            return ManifestCheck.findings(in: try list.encoded(), of: "m").compactMap(\.key)
        }
        #expect(try check(["sh", "-c", "echo %u"]) == ["OUCommand"])
        #expect(try check(["sh", "-c", "echo \"$1\"", "sh", "%u"]) == [])
    }
}
