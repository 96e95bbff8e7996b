import Testing
import UserFiles

@testable import SchemeRegistry

/// Words in manifests that only a shell would understand.
@Suite struct ShellSyntaxTests {
    private func findings(_ body: String) -> [String] {
        let text = """
            <plist><dict><key>CFBundleIdentifier</key><string>com.example.app</string>
            <key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key><array><string>app</string></array></dict>
            </array>
            \(body)
            </dict></plist>
            """
        return ManifestCheck.findings(in: Array(text.utf8), of: "m.plist").map { "\($0.key ?? ""): \($0.reason)" }
    }

    private func command(_ words: [String]) -> [String] {
        let escaped = words.map { $0.replacing("&", with: "&amp;").replacing("<", with: "&lt;") }
        return findings("<key>OUCommand</key><array>\(escaped.map { "<string>\($0)</string>" }.joined())</array>")
    }

    @Test(arguments: ["|", "&&", ";", ">", ">>", ">out.txt", "2>&1", "2>/dev/null", "<", "&"])
    func operatorOfAShellIsAWarning(_ word: String) {
        let advice = #"to use one, write the strings sh, -c, the script with "$1" in place of the URL, sh and %u"#
        #expect(
            command(["cat", "%u", word]) == ["OUCommand[2]: is '\(word)', but no shell reads this command; \(advice)"]
        )
    }

    @Test(arguments: [
        ("~/notes", "~"), ("~", "~"), ("$HOME/notes", "$HOME"), ("a=${HOME}", "${HOME}"), ("$(date)", "$(date)"),
        ("`date`", "`date`"),
    ])
    func textThatAShellReplacesIsAWarning(_ word: String, _ part: String) {
        let reason = "has '\(part)', but no shell reads it; write what it stands for"
        #expect(command(["cat", word, "%u"]) == ["OUCommand[1]: \(reason)"])
        let arguments =
            "<key>CFBundleExecutable</key><string>/bin/cat</string><key>OUArguments</key><array><string>x</string>"
        #expect(findings("\(arguments)<string>\(word)</string></array>") == ["OUArguments[1]: \(reason)"])
        let variable = "<key>OUEnvironment</key><dict><key>A</key><string>\(word)</string></dict>"
        #expect(
            findings("<key>CFBundleExecutable</key><string>/bin/cat</string>\(variable)") == [
                "OUEnvironment.A: \(reason)"
            ]
        )
    }

    @Test(arguments: [
        ["cat", "%u"], ["cat", "100$", "%u"], ["cat", "a~b", "<b>bold</b>", "%u"], ["cat", "$1", "%u"],
        ["sh", "-c", #"echo "$1" > ~/notes && cat $HOME/notes | wc"#, "sh", "%u"], ["awk", "{ print $NF }", "%u"],
        ["env", "A=b", "bash", "-lc", #"exec cat "$1" 2>&1"#, "bash", "%u"],
    ])
    func otherWordsAreNot(_ words: [String]) {
        #expect(command(words) == [])
    }

    @Test(arguments: [["true"], ["echo", "hello"], ["echo", "%%u"]])
    func commandWithoutTheURLIsAWarning(_ words: [String]) {
        let reason = "has neither %u nor %f, so its program never gets the URL; add %u as a separate string"
        #expect(command(words) == ["OUCommand: \(reason)"])
    }

    @Test(arguments: [
        (
            ["%u"],
            "has '%u' in place of its program; name the program in the first string, and write %u as a string after it"
        ),
        (["/bin/%u", "x"], "has '/bin/%u' in place of its program; "),
        (
            ["xdg-open %u"],
            "has the whole command in its first string, 'xdg-open %u'; write each word as a separate string"
        ),
    ])
    func programWithACodeIsExplained(_ words: [String], _ reason: String) {
        let found = command(words)
        #expect(found.count == 1 && found[0].hasPrefix("OUCommand: \(reason)"), "\(found)")
    }
}
