import Desktop
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

@Suite(.timeLimit(.minutes(1))) struct ManifestCheckTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
    }

    private func findings(_ body: String) -> [String] {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0">
            <dict>
            \(body)
            </dict>
            </plist>
            """
        return ManifestCheck.findings(in: Array(text.utf8), of: "m.plist").map {
            "\($0.severity == .error ? "E" : "W") \($0.description)"
        }
    }

    /// The keys of a handler that claims a scheme. They take lines 4 to 8.
    private let claims = """
        <key>CFBundleIdentifier</key> <string>com.example.app</string>
        <key>CFBundleExecutable</key> <string>/bin/true</string>
        <key>CFBundleURLTypes</key>
        <array>
        <dict><key>CFBundleURLSchemes</key><array><string>app</string></array></dict></array>
        """

    @Test func goodManifestHasNoFindings() {
        #expect(findings(claims).isEmpty)
        #expect(
            findings(
                claims + "<key>CFBundleName</key><string>App</string><key>LSMinimumSystemVersion</key><real>1</real>"
            ).isEmpty
        )
        #expect(findings(claims + "<key>NSPrincipalClass</key><string/><key>CFBundleIconName</key><string/>").isEmpty)
    }

    @Test(arguments: [
        ("OUReech", "OUReach"), ("CFBundleURLType", "CFBundleURLTypes"), ("CFBundleIdentifer", "CFBundleIdentifier"),
        ("OUarguments", "OUArguments"), ("CFBundleexecutable", "CFBundleExecutable"),
        ("CFBundleUrlTypes", "CFBundleURLTypes"), ("LSApplicationQuerySchemes", "LSApplicationQueriesSchemes"),
        ("Executable", "CFBundleExecutable"), ("URLTypes", "CFBundleURLTypes"), ("OUDelay", "OUSuspendDelay"),
        ("OUTimeout", "OULaunchTimeout or OUOpenTimeout or OUTransitionTimeout"),
    ])
    func misspeltKeyHasItsLineAndTheNearestKey(key: String, known: String) {
        let reason = "is not a known key and is ignored; did you mean \(known)?"
        #expect(findings(claims + "\n\n<key>\(key)</key><string>x</string>") == ["W m.plist:10: \(key): \(reason)"])
    }

    @Test func unknownKeyOfThisSystemIsAWarning() {
        #expect(
            findings(claims + "<key>OUPolka</key><true/>") == [
                "W m.plist:8: OUPolka: is not a known key and is ignored"
            ]
        )
    }

    @Test func keyInTheWrongDictionaryIsAWarning() {
        #expect(
            findings(claims + "\n<key>OUHosts</key><array><string>a</string></array>")
                == ["W m.plist:9: OUHosts: is ignored here; it belongs in an entry of CFBundleURLTypes"]
        )
        let inner = claims.replacing(
            "<dict>",
            with: "<dict>\n<key>OUAsk</key><true/>\n<key>CFBundleTypeRole</key><string/>"
        )
        #expect(
            findings(inner)
                == ["W m.plist:9: CFBundleURLTypes[0].OUAsk: is ignored here; it belongs in the manifest itself"]
        )
    }

    @Test func keyThatIsNeitherOwnNorApplesIsAWarning() {
        #expect(
            findings(claims + "<key>MimeType</key><string>x</string>") == [
                "W m.plist:8: MimeType: is not a known key and is ignored"
            ]
        )
    }

    @Test func filesAreAlwaysOpenedInTheirPlace() {
        #expect(
            findings(claims + "<key>LSSupportsOpeningDocumentsInPlace</key><true/>") == [
                "W m.plist:8: LSSupportsOpeningDocumentsInPlace: has no effect here; a handler opens every file where it is"
            ]
        )
    }

    @Test func keysOfTheGuideWithoutEffectAreWarnings() {
        let body = """

            <key>UIRequiredDeviceCapabilities</key><array><string>wifi</string></array>
            <key>CFBundleDocumentTypes</key><array><dict>
            <key>CFBundleTypeIconFiles</key><array/>
            </dict></array>
            """
        #expect(
            findings(claims + body) == [
                "W m.plist:9: UIRequiredDeviceCapabilities: has no effect here; "
                    + "a handler runs on every machine that it is installed on",
                "W m.plist:11: CFBundleDocumentTypes[0].CFBundleTypeIconFiles: has no effect here; "
                    + "the desktop's theme provides the icons for files",
            ]
        )
    }

    @Test func backgroundModesWithoutEffectAreWarnings() {
        let words = ["audio", "adio", "location", "jumping", "voip", "fetch"]
        let modes = words.map { "<string>\($0)</string>\n" }.joined()
        #expect(
            findings(claims + "\n<key>UIBackgroundModes</key><array>\n\(modes)</array>") == [
                "W m.plist:11: UIBackgroundModes[1]: is 'adio', which is not a mode and is ignored; did you mean audio?",
                "W m.plist:12: UIBackgroundModes[2]: is location, which has no effect here: the handler will be suspended anyway",
                "W m.plist:13: UIBackgroundModes[3]: is 'jumping', which is not a mode and is ignored",
            ]
        )
    }

    @Test func unknownKindsOfChangesAreWarnings() {
        let kinds = ["clock", "timezone", "weather"].map { "<string>\($0)</string>\n" }.joined()
        #expect(
            findings(claims + "\n<key>OUObservedChanges</key><array>\n\(kinds)</array>") == [
                "W m.plist:11: OUObservedChanges[1]: is 'timezone', which is not a kind of change and is ignored; "
                    + "did you mean timeZone?",
                "W m.plist:12: OUObservedChanges[2]: is 'weather', which is not a kind of change and is ignored",
            ]
        )
    }

    @Test func misspeltKeysOfTypeDeclarationsAreFound() {
        let declarations = """

            <key>UTExportedTypeDeclarations</key><array><dict>
            <key>UTTypeIdentifier</key><string>com.example.x</string>
            <key>UTTypeTagSpecification</key><dict>
            <key>public.mimetype</key><string>text/x-x</string>
            </dict></dict></array>
            """
        let key = "UTExportedTypeDeclarations[0].UTTypeTagSpecification.public.mimetype"
        let reason = "is not a known key and is ignored; did you mean public.mime-type?"
        #expect(findings(claims + declarations) == ["W m.plist:12: \(key): \(reason)"])
    }

    @Test func problemsOfTheReadingHaveLines() {
        let body = """
            <!-- A comment <key>CFBundleURLTypes</key>
            of two lines -->
            <key>CFBundleIdentifier</key><string>com.example.app</string>
            <key>CFBundleURLTypes</key><array>
            <dict><key>CFBundleURLSchemes</key><array><string>ok</string>
            <string>1bad</string></array></dict>
            <dict><key>CFBundleURLName</key><string/></dict></array>
            <key>OUAsk</key><string>yes</string>
            """
        let found = findings(body)
        #expect(found.count == 3)
        #expect(found[0].hasPrefix("E m.plist:9: CFBundleURLTypes[0].CFBundleURLSchemes[1]: "))
        #expect(found[1] == "E m.plist:10: CFBundleURLTypes[1].CFBundleURLSchemes: is missing")
        #expect(found[2] == "E m.plist:11: OUAsk: is a string, not a boolean")
    }

    @Test func emptySchemesAreAnError() {
        let body = claims.replacing("<string>app</string>", with: "")
        #expect(findings(body) == ["E m.plist:8: CFBundleURLTypes[0].CFBundleURLSchemes: is empty"])
    }

    @Test func handlerWithoutClaimsIsAWarning() {
        let body = "<key>CFBundleIdentifier</key><string>com.example.app</string>"
        let reason =
            "the handler claims nothing to open; unless it only has tasks, notifications or pushes, "
            + "add CFBundleURLTypes or CFBundleDocumentTypes"
        #expect(findings(body) == ["W m.plist: \(reason)"])
    }

    @Test func textThatIsNoManifestIsAnError() {
        #expect(findings("<key>").count == 1)
        let found = ManifestCheck.findings(in: Array("hello".utf8), of: "m.plist")
        #expect(
            found.map(\.description) == [
                "m.plist: is neither an XML nor a binary property list; 'openurl new' writes a manifest that you can start from"
            ]
        )
    }

    /// The decoder itself names line 1 for each of these.
    @Test(arguments: [
        ("<key>a</key>\n<string>x</sting>", 5, "Close tag does not match open tag string"),
        ("<key>a</key>\n<key>b</key>\n<true/>\n<true/>", 6, "Non key string used as key in dictionary"),
        ("<key>a</key>\n\n<foo>x</foo>\n", 6, "Encountered unknown tag foo"),
        ("<key>a</key>\n<string>\n&bogus;</string>", 6, "Encountered unknown ampersand-escape sequence"),
        ("<key>a</key>\n<true/>\n<!-- a comment\nwithout an end", 6, "Unterminated comment started"),
        ("<key>a</key>\n<true/>\ntext\n", 6, "Encountered unexpected character t while looking for open tag"),
        ("<key>a</key>\n", 6, "Value missing for key inside <dict>"),
        ("<key>a</key>\n<array>\n<true/>\n", 8, "Close tag does not match open tag array"),
    ])
    func brokenXMLHasItsLine(body: String, line: Int, reason: String) {
        let reason = "is not a property list: \(reason)"
        #expect(findings(body).first?.hasPrefix("E m.plist:\(line): \(reason)") == true, "\(findings(body))")
        // Lines before the property list and a long list after the fault change nothing else.
        let text = "\n\n<plist>\n<dict>\n\(body)\n</dict>\n</plist>" + String(repeating: "\n<!-- -->", count: 1000)
        let moved = ManifestCheck.findings(in: Array(text.utf8), of: "m.plist")
        // A comment without an end begins a comment that ends later.
        if !body.contains("without an end") { #expect(moved.first?.line == line + 1, "\(moved)") }
    }

    @Test(arguments: [
        ("<key>a</key><string>R & D</string>", "write '&' as &amp; and '<' as &lt;"),
        ("<key>a<key><string/>", "a tag before it is not closed"),
        ("<key>a</key><true/><true/>", "each value must follow a <key>"),
        ("<key>a</key><text>b</text>", "a value is a <string>, an <array>, "),
    ])
    func brokenXMLHasAdvice(body: String, advice: String) {
        #expect(findings(body).first?.contains("; \(advice)") == true, "\(findings(body))")
    }

    @Test(arguments: [("", "but empty"), ("{\"a\": 1}", "but JSON")])
    func otherFormatIsNamed(text: String, kind: String) {
        let found = ManifestCheck.findings(in: Array(text.utf8), of: "m.plist").map(\.reason)
        let advice = "'openurl new' writes a manifest that you can start from"
        #expect(found == ["is neither an XML nor a binary property list, \(kind); \(advice)"])
    }

    @Test func brokenTextHasItsLine() {
        let found = { (bytes: [UInt8]) in ManifestCheck.findings(in: bytes, of: "m.plist").first?.line }
        #expect(found(Array("<plist>\n<dict>\n<key>a</key>\n\n".utf8)) == 3)
        #expect(found(Array("<plist>\n<dict>\n<key>a\0".utf8)) == 3)
        #expect(found(Array("<plist>\n<dict>".utf8) + [0xFF, 0x0A]) == 2)
        #expect(found(Array("\n\nhello".utf8)) == nil)
        #expect(found(Array("bplist00\n\n".utf8)) == nil)
    }

    @Test func binaryManifestHasFindingsWithoutLines() throws {
        var list = manifest("com.example.app")
        list["OUReech"] = "everyone"
        let found = ManifestCheck.findings(in: try list.encoded(.binary), of: "m.plist")
        let key = "m.plist: OUReech: is not a known key and is ignored; did you mean OUReach?"
        #expect(found.map(\.description) == [key])
    }

    /// Many elements below a long key must not need memory for their paths.
    @Test func numberOfFindingsIsLimited() {
        let keys = (0..<500).map { "<key>OUNothing\($0)</key><true/>" }.joined()
        #expect(findings(claims + keys).count == 100)
        let long = String(repeating: "k", count: 200_000)
        let many = String(repeating: "<true/>", count: 50_000)
        #expect(findings(claims + "<key>\(long)</key><array>\(many)</array>").isEmpty)
    }

    /// Every key that the decoder reads is known, and every known key is read: a wrong value of it is an error.
    @Test func knownKeysAreThoseThatAreRead() {
        for key in ManifestKeys.manifest.known {
            let (_, problems) = HandlerManifest.decode(
                .dictionary(
                    ["CFBundleIdentifier": "com.example.app", "CFBundleExecutable": "/bin/true"].merging([key: .date]) {
                        $1
                    }
                )
            )
            #expect(problems.contains { $0.key == key }, "\(key)")
        }
        let inner: [(ManifestKeys, [String: PropertyListValue])] = [
            (.urlType, ["CFBundleURLSchemes": ["a"]]), (.documentType, [:]),
            (.exportedType, ["UTTypeIdentifier": "a.b"]),
        ]
        for (place, required) in inner {
            for key in place.known {
                let entry = PropertyListValue.dictionary(required.merging([key: .date]) { $1 })
                let (_, problems) = HandlerManifest.decode(
                    ["CFBundleIdentifier": "com.example.app", .init(place.rawValue): [entry]]
                )
                #expect(problems.contains { $0.key == "\(place.rawValue)[0].\(key)" }, "\(key)")
            }
        }
    }

    // MARK: Programs and files

    private func check(_ name: String, searchPath: String = "/usr/bin:/bin") throws -> (found: [String], isGood: Bool) {
        let directories = RegistryDirectories(user: "\(root.path)/handlers", system: [])
        let (findings, handler) = try directories.check(
            "\(root.path)/\(name)",
            in: Registry(loading: directories),
            services: DBusServiceNames(),
            searchPath: searchPath
        )
        return (findings.map { "\($0.key ?? ""): \($0.reason)" }, handler != nil)
    }

    private func install(_ executable: String) throws {
        try root.write(try manifest("com.example.app", executable: executable).encoded(), to: "com.example.app.plist")
    }

    @Test func missingProgramIsAWarning() throws {
        try install("\(root.path)/nothing")
        let (found, isGood) = try check("com.example.app.plist")
        #expect(isGood)
        #expect(found == ["CFBundleExecutable: \(root.path)/nothing does not exist; build it, or correct the path"])
    }

    @Test func programThatIsNotExecutableIsAWarning() throws {
        let file = try root.write(Array("#!/bin/sh\n".utf8), to: "program")
        try install(file)
        let reason = "\(file) is not executable; run: chmod +x \(file)"
        #expect(try check("com.example.app.plist").found == ["CFBundleExecutable: \(reason)"])
        try #require(chmod(file, 0o755) == 0)
        #expect(try check("com.example.app.plist").found.isEmpty)
    }

    @Test func directoryIsNoProgram() throws {
        try install(try root.makeDirectory("program"))
        let found = try check("com.example.app.plist").found
        #expect(
            found == ["CFBundleExecutable: \(root.path)/program is a directory, not a program; name the program itself"]
        )
    }

    @Test(arguments: [
        ("#!/nowhere/no-such-tool\n", "/nowhere/no-such-tool, which does not exist"),
        ("#!/usr/bin/env no-such-tool\n", "no-such-tool, which is not in any directory on PATH"),
    ])
    func scriptWithoutItsInterpreterIsAWarning(line: String, reason: String) throws {
        let file = try root.write(Array(line.utf8), to: "program")
        try #require(chmod(file, 0o755) == 0)
        try install(file)
        let advice = "install no-such-tool, or correct its first line"
        #expect(
            try check("com.example.app.plist").found == [
                "CFBundleExecutable: \(file) is a script for \(reason); \(advice)"
            ]
        )
    }

    @Test func nameThatNoDirectoryHasIsAWarning() throws {
        try install("no-such-program")
        let found = try check("com.example.app.plist").found
        #expect(
            found == ["CFBundleExecutable: no-such-program is not in any directory on PATH; give an absolute path"]
        )
        let file = try root.write(Array("#!/bin/sh\n".utf8), to: "bin/no-such-program")
        try #require(chmod(file, 0o755) == 0)
        #expect(try check("com.example.app.plist", searchPath: "\(root.path)/bin:/bin").found.isEmpty)
    }

    /// The advice is about the text in the manifest, because the program is nowhere.
    @Test(arguments: [
        ("~/handler", "does not exist; no shell reads this text, so write the whole path"),
        ("$HOME/handler", "does not exist; no shell reads this text, so write the whole path"),
        (
            "python3 handler.py",
            "is not in any directory on PATH; the spaces count as part of the name, so write the arguments as OUArguments"
        ),
        ("/bin/sh -e", "does not exist; the spaces count as part of the name, so write the arguments as OUArguments"),
        ("run", "is not in any directory on PATH; the manifest's folder has it, so write ./run"),
        ("/old/project/run", "does not exist; the manifest's folder has it, so write ./run"),
        ("build/nothing", "does not exist; build it, or correct the path"),
    ])
    func textThatNamesNoProgramHasAdvice(text: String, sentence: String) throws {
        try root.write("#!/bin/sh\n", to: "run", mode: 0o755)
        try install(text)
        let found = try check("com.example.app.plist").found
        #expect(found.count == 1 && found[0].hasSuffix("\(text) \(sentence)"), "\(found)")
    }

    @Test func entryOfTheDirectoryIsCheckedAsOne() throws {
        let list = try manifest("com.example.app", executable: "/bin/sh").encoded()
        try root.write(list, to: "handlers/com.example.app.plist")
        #expect(try check("handlers/com.example.app.plist").found.isEmpty)
        try root.write(list, to: "handlers/other.plist")
        let (found, isGood) = try check("handlers/other.plist")
        #expect(!isGood)
        let fact = "is com.example.app, which com.example.app.plist already declares; remove one of the two"
        #expect(found == ["CFBundleIdentifier: \(fact)"])
        try #require(unlink("\(root.path)/handlers/com.example.app.plist") == 0)
        let alone = try check("handlers/other.plist").found
        #expect(alone == ["CFBundleIdentifier: is com.example.app, so the file has to be called com.example.app.plist"])
    }

    @Test func entryWhoseProgramEveryUserMayChangeIsAnError() throws {
        let program = try root.write("#!/bin/sh\n", to: "program", mode: 0o755)
        let list = try manifest("com.example.app", executable: program).encoded()
        try root.write(list, to: "handlers/com.example.app.plist")
        #expect(try check("handlers/com.example.app.plist").found.isEmpty)
        try #require(chmod(program, 0o757) == 0)
        let (found, isGood) = try check("handlers/com.example.app.plist")
        #expect(!isGood)
        #expect(found.count == 1 && found[0].hasPrefix("CFBundleExecutable: \(program) "), "\(found)")
    }

    /// The check says of a fixed scheme what the registration says, and does not advise to choose the handler.
    @Test func fixedSchemeStaysWithItsOwner() throws {
        var owner = manifest("com.example.owner", schemes: ["fixed"])
        owner["OUFixed"] = true
        try root.write(try owner.encoded(), to: "system/com.example.owner.plist")
        let claimant = manifest("com.example.app", schemes: ["own", "fixed"], executable: "/bin/sh")
        try root.write(try claimant.encoded(), to: "app.plist")
        let directories = RegistryDirectories(user: "\(root.path)/handlers", system: ["\(root.path)/system"])
        let registry = Registry(loading: directories)
        let (findings, handler) = try directories.check(
            "\(root.path)/app.plist",
            in: registry,
            services: DBusServiceNames(),
            searchPath: nil
        )
        let key = "CFBundleURLTypes[0].CFBundleURLSchemes[1]"
        let reason = "fixed is a fixed scheme and stays with com.example.owner"
        let found = try #require(findings.first)
        #expect(findings.count == 1 && found.severity == .warning && found.key == key && found.reason == reason)
        #expect(found.line != nil)
        #expect(handler?.schemes.map(\.rawValue) == ["own"])
        #expect(try directories.register("\(root.path)/app.plist", in: registry).warnings.map(\.reason) == [reason])
    }

    @Test func invalidManifestHasItsErrorsOnce() throws {
        var list = manifest("com.example.app", executable: "/bin/sh")
        list["OUAsk"] = "yes"
        list["OUFixd"] = true
        try root.write(try list.encoded(), to: "com.example.app.plist")
        let (found, isGood) = try check("com.example.app.plist")
        #expect(!isGood)
        #expect(
            found == [
                "OUAsk: is a string, not a boolean", "OUFixd: is not a known key and is ignored; did you mean OUFixed?",
            ]
        )
    }

    @Test func missingFileAndTextOfAnotherKindAreErrors() throws {
        for name in ["nothing.plist", "x.txt"] {
            #expect(throws: RegistrationError.missing("\(root.path)/\(name)")) { try check(name) }
        }
        try root.write([], to: "x.txt")
        #expect(throws: RegistrationError.notAHandler("\(root.path)/x.txt", containing: [])) { try check("x.txt") }
        // A link without a target is there, and its fault is one of the manifest.
        try #require(symlink("nothing.plist", "\(root.path)/lost.plist") == 0)
        let reason = "leads to nothing.plist, which was moved or removed; register it where it is now, or unregister it"
        #expect(try check("lost.plist") == ([": \(reason)"], false))
    }
}
