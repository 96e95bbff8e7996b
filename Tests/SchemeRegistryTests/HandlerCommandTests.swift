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
            ([], .empty), (["/bin/%u"], .codeInProgram), (["x", "%U"], .unknownCode(1)),
            (["x", "a", "b%"], .unknownCode(2)),
            (["x", "% u"], .unknownCode(1)),
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
            (["OUCommand": "cat %u"], "is a string, not an array"),
            (["OUCommand": ["cat", "%x"]], "has an unknown code in its word 1; the codes are %u, %f and %%"),
            (["OUCommand": ["../cat"]], "leads out of the handler's directory with '..'; give an absolute path"),
            (["OUCommand": ["cat"], "CFBundleExecutable": "cat"], "stands in the place of CFBundleExecutable"),
        ] as [([String: PropertyListValue], String)]
    )
    func wrongCommandIsAProblem(keys: [String: PropertyListValue], reason: String) {
        let (manifest, problems) = decode(keys)
        #expect(manifest == nil)
        #expect(problems.contains(ManifestProblem(key: "OUCommand", reason: reason)), "\(problems)")
    }

    @Test func urlInTheTextOfAShellIsAWarning() throws {
        let keys: [String: PropertyListValue] = [
            "CFBundleIdentifier": "com.example.app", "CFBundleURLTypes": [["CFBundleURLSchemes": ["a"]]],
        ]
        let check = { (words: PropertyListValue) in
            let list = PropertyListValue.dictionary(keys.merging(["OUCommand": words]) { $1 })
            return ManifestCheck.findings(in: try list.encoded(), of: "m").compactMap(\.key)
        }
        #expect(try check(["sh", "-c", "echo %u"]) == ["OUCommand[2]"])
        #expect(try check(["sh", "-c", "echo \"$1\"", "sh", "%u"]) == [])
    }
}
