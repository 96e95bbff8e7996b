import Testing
import WebLinks

@testable import SchemeRegistry

struct HandlerManifestTests {
    @Test func everyKeyIsRead() throws {
        let keys: PropertyListValue = [
            "CFBundleIdentifier": "com.acme.todolist", "CFBundleExecutable": "bin/todolist",
            "OUArguments": ["--url", "a b;c"],
            "CFBundleName": "To-Do", "CFBundleDisplayName": "To-Do List", "CFBundleVersion": "1.2",
            "CFBundleIconFile": "Icon",
            "CFBundleURLTypes": [
                ["CFBundleURLName": "com.acme.todolist", "CFBundleURLSchemes": ["todolist", "TODO"]],
                ["CFBundleURLSchemes": ["https"], "OUHosts": ["acme.com", "*.Acme.com"]],
            ],
            "OUAssociatedDomains": ["acme.com/lists/*"],
            "CFBundleDocumentTypes": [
                [
                    "CFBundleTypeName": "To-do list", "CFBundleTypeRole": "Viewer", "LSHandlerRank": "Owner",
                    "LSItemContentTypes": ["com.acme.List"],
                    "CFBundleTypeExtensions": ["todo"], "CFBundleTypeMIMETypes": ["text/x-Todo"],
                ]
            ],
            "UTExportedTypeDeclarations": [
                [
                    "UTTypeIdentifier": "com.acme.list", "UTTypeConformsTo": ["public.text"],
                    "UTTypeTagSpecification": [
                        "public.mime-type": "application/x-list", "public.filename-extension": ["lst", "LIST"],
                    ],
                ]
            ],
            "UILaunchImageFile": "Launch", "UIBackgroundModes": ["audio", "adio", "location"],
            "UIApplicationExitsOnSuspend": true,
            "LSApplicationQueriesSchemes": ["HTTP"], "OULaunchTimeout": 2.5, "OUOpenTimeout": 20,
            "OUSuspendDelay": 0.001,
            "OUTransitionTimeout": 2,
            "OUBackgroundTime": 90, "OUPushURL": "todolist:sync",
            "OUEnvironment": ["LANG": "C", "EMPTY": ""], "OUAllowedSources": ["com.acme.*"], "OUAsk": true,
            "OUAnswersCallbacks": true,
            "OUKeepOldProgram": true,
            "OUObservedChanges": ["clock", "weather", "colorScheme"],
            "OUFixed": true, "OUReach": "listed",
            "CFBundleSomethingElse": .date,
        ]
        let manifest = try #require(HandlerManifest.decode(keys).manifest)

        var expected = HandlerManifest(
            identifier: try BundleIdentifier("com.acme.todolist"),
            executable: .relative("bin/todolist")
        )
        expected.arguments = ["--url", "a b;c"]
        expected.name = "To-Do"
        expected.displayName = "To-Do List"
        expected.version = "1.2"
        expected.icons = ["Icon"]
        expected.associatedDomains = [try AssociatedDomain("acme.com/lists/*")]
        expected.urlTypes = [
            URLType(name: "com.acme.todolist", schemes: [try Scheme("todolist"), try Scheme("todo")]),
            URLType(
                schemes: [try Scheme("https")],
                hosts: [try HostPattern("acme.com"), try HostPattern("*.acme.com")]
            ),
        ]
        var documents = DocumentType(name: "To-do list")
        documents.role = .viewer
        documents.rank = .owner
        documents.contentTypes = [try TypeIdentifier("com.acme.list")]
        documents.filenameExtensions = [try FilenameExtension("todo")]
        documents.mimeTypes = [try mimeType("text/x-todo")]
        expected.documentTypes = [documents]
        var list = TypeDeclaration(try TypeIdentifier("com.acme.list"))
        list.conformsTo = [try TypeIdentifier("public.text")]
        list.mimeTypes = [try mimeType("application/x-list")]
        list.filenameExtensions = [try FilenameExtension("lst"), try FilenameExtension("list")]
        expected.typeDeclarations = [list]
        expected.fileClaims = [
            FileClaim(.type(try mimeType("application/x-list")), .owner),
            FileClaim(.filenameExtension(try FilenameExtension("lst")), .owner),
            FileClaim(.filenameExtension(try FilenameExtension("list")), .owner),
            FileClaim(.type(try mimeType("text/x-todo")), .owner),
            FileClaim(.filenameExtension(try FilenameExtension("todo")), .owner),
        ]
        expected.launchImageFile = "Launch"
        expected.backgroundModes = [.audio, .location]
        expected.observedChanges = [.clock, .colorScheme]
        expected.exitsOnSuspend = true
        expected.queriesSchemes = [try Scheme("http")]
        expected.launchTimeout = .milliseconds(2500)
        expected.openTimeout = .seconds(20)
        expected.suspendDelay = .milliseconds(1)
        expected.transitionTimeout = .seconds(2)
        expected.backgroundTime = .seconds(90)
        expected.pushURL = "todolist:sync"
        expected.environment = ["LANG": "C", "EMPTY": ""]
        expected.allowedSources = [try SourcePattern("com.acme.*")]
        expected.asks = true
        expected.answersCallbacks = true
        expected.keepsOldProgram = true
        expected.isFixed = true
        expected.reach = .listed
        #expect(manifest == expected)
    }

    @Test func iconsOfAllKeysAreInTheOrderOfPreference() throws {
        let manifest = try #require(
            HandlerManifest.decode([
                "CFBundleIdentifier": "com.acme.todolist", "CFBundleIconFiles": ["Old", "Old@2x"],
                "CFBundleIcons": [
                    "CFBundlePrimaryIcon": ["CFBundleIconFiles": ["New"], "UIPrerenderedIcon": true],
                    "UINewsstandIcon": ["CFBundleIconFiles": ["Newsstand"]],
                ], "CFBundleIconFile": "Own",
            ]).manifest
        )
        #expect(manifest.icons == ["Own", "New", "Old", "Old@2x"])
    }

    @Test func missingKeysHaveDefaults() throws {
        let manifest = try #require(HandlerManifest.decode(["CFBundleIdentifier": "com.acme.todolist"]).manifest)
        #expect(manifest.launchImageFile == "Default")
        #expect(manifest.allowedSources == nil)
        #expect(manifest.launchTimeout == nil)
        #expect(manifest.urlTypes.isEmpty)
        #expect(!manifest.keepsOldProgram)
        #expect(!manifest.exitsOnSuspend && !manifest.isFixed && !manifest.asks && !manifest.answersCallbacks)
    }

    @Test(
        arguments: [
            ("CFBundleIdentifier", nil, "CFBundleIdentifier", "is missing"),
            ("CFBundleIdentifier", 7, "CFBundleIdentifier", "is an integer, not a string"),
            ("CFBundleIdentifier", "acme", "CFBundleIdentifier", "needs at least two elements, as in com.example.app"),
            ("CFBundleIdentifier", .unreadable, "CFBundleIdentifier", "is a value that cannot be read, not a string"),
            ("CFBundleExecutable", "", "CFBundleExecutable", "is empty"),
            ("CFBundleExecutable", "a\0b", "CFBundleExecutable", "contains U+0000"),
            ("CFBundleExecutable", ["a"], "CFBundleExecutable", "is an array, not a string"),
            ("OUArguments", "-a", "OUArguments", "is a string, not an array; write <array> and </array> around it"),
            ("OUArguments", ["a", 1], "OUArguments[1]", "is an integer, not a string"),
            ("OUArguments", ["a\0"], "OUArguments[0]", "contains U+0000"),
            ("CFBundleName", "a\u{1B}[31m", "CFBundleName", "contains U+001B"),
            ("CFBundleDisplayName", "a\nb", "CFBundleDisplayName", "contains U+000A"),
            ("CFBundleVersion", 1.5, "CFBundleVersion", "is a real number, not a string"),
            (
                "CFBundleURLTypes", [:], "CFBundleURLTypes",
                "is a dictionary, not an array; write <array> and </array> around it"
            ),
            ("CFBundleURLTypes", ["a"], "CFBundleURLTypes[0]", "is a string, not a dictionary"),
            ("CFBundleURLTypes", [[:]], "CFBundleURLTypes[0].CFBundleURLSchemes", "is missing"),
            ("CFBundleURLTypes", [["CFBundleURLSchemes": []]], "CFBundleURLTypes[0].CFBundleURLSchemes", "is empty"),
            (
                "CFBundleURLTypes", [["CFBundleURLSchemes": ["a"]], ["CFBundleURLSchemes": ["b", "a/b"]]],
                "CFBundleURLTypes[1].CFBundleURLSchemes[1]",
                "contains '/'; a scheme is made of letters, digits, '+', '-' and '.'"
            ),
            (
                "CFBundleURLTypes", [["CFBundleURLSchemes": ["a\0"]]], "CFBundleURLTypes[0].CFBundleURLSchemes[0]",
                "contains U+0000"
            ),
            (
                "CFBundleURLTypes", [["CFBundleURLSchemes": ["OpenURL-Reply"]]],
                "CFBundleURLTypes[0].CFBundleURLSchemes[0]", "contains openurl-reply, which belongs to the router"
            ),
            (
                "CFBundleURLTypes", [["CFBundleURLSchemes": ["a"], "OUHosts": []]], "CFBundleURLTypes[0].OUHosts",
                "is empty"
            ),
            (
                "CFBundleURLTypes", [["CFBundleURLSchemes": ["a"], "OUHosts": ["*"]]], "CFBundleURLTypes[0].OUHosts[0]",
                "has a '*' that is not the whole first label of a longer name, as in *.acme.com"
            ),
            (
                "CFBundleURLTypes", [["CFBundleURLSchemes": ["a"], "CFBundleURLName": true]],
                "CFBundleURLTypes[0].CFBundleURLName", "is a boolean, not a string"
            ),
            (
                "CFBundleDocumentTypes", [["LSItemContentTypes": "public.text"]],
                "CFBundleDocumentTypes[0].LSItemContentTypes",
                "is a string, not an array; write <array> and </array> around it"
            ),
            (
                "CFBundleDocumentTypes", [["LSItemContentTypes": ["png"]]],
                "CFBundleDocumentTypes[0].LSItemContentTypes[0]", "needs at least two elements"
            ),
            (
                "CFBundleDocumentTypes", [["LSItemContentTypes": ["public.p/ng"]]],
                "CFBundleDocumentTypes[0].LSItemContentTypes[0]", "contains '/'; a type identifier"
            ),
            (
                "CFBundleDocumentTypes", [["CFBundleTypeMIMETypes": ["image/*"]]],
                "CFBundleDocumentTypes[0].CFBundleTypeMIMETypes[0]", "is 'image/*', which is not a MIME type"
            ),
            (
                "CFBundleDocumentTypes", [["CFBundleTypeMIMETypes": ["x-scheme-handler/http"]]],
                "CFBundleDocumentTypes[0].CFBundleTypeMIMETypes[0]", "is 'x-scheme-handler/http', which is not"
            ),
            (
                "CFBundleDocumentTypes", [["CFBundleTypeExtensions": [".png"]]],
                "CFBundleDocumentTypes[0].CFBundleTypeExtensions[0]", "begins or ends with '.'"
            ),
            (
                "CFBundleDocumentTypes", [["CFBundleTypeExtensions": ["a/b"]]],
                "CFBundleDocumentTypes[0].CFBundleTypeExtensions[0]", "contains '/'"
            ),
            (
                "CFBundleDocumentTypes", [["CFBundleTypeRole": "Owner"]], "CFBundleDocumentTypes[0].CFBundleTypeRole",
                "is 'Owner'; it has to be one of Editor, Viewer, Shell, QLGenerator, None"
            ),
            (
                "CFBundleDocumentTypes", [["LSHandlerRank": "First"]], "CFBundleDocumentTypes[0].LSHandlerRank",
                "is 'First'; it has to be one of Owner, Default, Alternate, None"
            ),
            (
                "CFBundleDocumentTypes",
                [["CFBundleTypeExtensions": .array((0...1024).map { .string("e\($0)") })]], "CFBundleDocumentTypes",
                "claims 1025 types and extensions ("
            ),
            (
                "CFBundleDocumentTypes",
                [
                    [
                        "CFBundleTypeMIMETypes": .array(
                            (0..<600).map { .string("a/\(String(repeating: "x", count: 110))\($0)") }
                        )
                    ]
                ], "CFBundleDocumentTypes", "claims 600 types and extensions ("
            ),
            (
                "CFBundleURLTypes",
                [["CFBundleURLSchemes": .array((0...1024).map { .string("s\($0)") })]], "CFBundleURLTypes",
                "has 1025 schemes; at most 1024 are allowed"
            ),
            (
                "CFBundleDocumentTypes",
                [["LSItemContentTypes": .array(Array(repeating: "a.b", count: 513))]], "CFBundleDocumentTypes",
                "has 513 type identifiers; at most 512 are allowed"
            ),
            (
                "UTImportedTypeDeclarations",
                [["UTTypeIdentifier": "c.d", "UTTypeConformsTo": .array(Array(repeating: "a.b", count: 513))]],
                "UTImportedTypeDeclarations", "and UTExportedTypeDeclarations have 513 elements of UTTypeConformsTo"
            ),
            ("UTExportedTypeDeclarations", [[:]], "UTExportedTypeDeclarations[0].UTTypeIdentifier", "is missing"),
            (
                "UTImportedTypeDeclarations", [["UTTypeIdentifier": "a.b", "UTTypeConformsTo": 1]],
                "UTImportedTypeDeclarations[0].UTTypeConformsTo", "is an integer, not an array"
            ),
            (
                "UTImportedTypeDeclarations", [["UTTypeIdentifier": "a.b", "UTTypeTagSpecification": []]],
                "UTImportedTypeDeclarations[0].UTTypeTagSpecification", "is an array, not a dictionary"
            ),
            (
                "UTImportedTypeDeclarations",
                [["UTTypeIdentifier": "a.b", "UTTypeTagSpecification": ["public.mime-type": ["png"]]]],
                "UTImportedTypeDeclarations[0].UTTypeTagSpecification.public.mime-type[0]",
                "is 'png', which is not a MIME type"
            ),
            ("CFBundleIconFile", "../Icon", "CFBundleIconFile", "is not a file name"),
            (
                "CFBundleIconFiles", "Icon", "CFBundleIconFiles",
                "is a string, not an array; write <array> and </array> around it"
            ),
            ("CFBundleIconFiles", ["Icon", "../Icon"], "CFBundleIconFiles[1]", "is not a file name"),
            ("CFBundleIcons", ["Icon"], "CFBundleIcons", "is an array, not a dictionary"),
            (
                "CFBundleIcons", ["CFBundlePrimaryIcon": ["CFBundleIconFiles": [1]]],
                "CFBundleIcons.CFBundlePrimaryIcon.CFBundleIconFiles[0]", "is an integer, not a string"
            ),
            ("UILaunchImageFile", "../Default", "UILaunchImageFile", "is not a file name"),
            ("UILaunchImageFile", "", "UILaunchImageFile", "is not a file name"),
            ("UILaunchImageFile", "..", "UILaunchImageFile", "is not a file name"),
            ("UIBackgroundModes", [.date], "UIBackgroundModes[0]", "is a date, not a string"),
            ("OUObservedChanges", ["clock", 1], "OUObservedChanges[1]", "is an integer, not a string"),
            ("UIApplicationExitsOnSuspend", 1, "UIApplicationExitsOnSuspend", "is an integer, not a boolean"),
            (
                "LSApplicationQueriesSchemes", ["1a"], "LSApplicationQueriesSchemes[0]",
                "starts with '1'; a scheme starts with a letter"
            ),
            ("OULaunchTimeout", "5", "OULaunchTimeout", "is a string, not a number of seconds"),
            ("OULaunchTimeout", true, "OULaunchTimeout", "is a boolean, not a number of seconds"),
            ("OULaunchTimeout", 0, "OULaunchTimeout", "is 0.0 seconds; it has to be between 0.001 and 86400"),
            ("OUOpenTimeout", -1.5, "OUOpenTimeout", "is -1.5 seconds; it has to be between 0.001 and 86400"),
            ("OUOpenTimeout", .real(.nan), "OUOpenTimeout", "is nan seconds; it has to be between 0.001 and 86400"),
            (
                "OUSuspendDelay", .real(.infinity), "OUSuspendDelay",
                "is inf seconds; it has to be between 0.001 and 86400"
            ),
            ("OUSuspendDelay", 86_401, "OUSuspendDelay", "is 86401.0 seconds; it has to be between 0.001 and 86400"),
            ("OUEnvironment", [["A": "b"]], "OUEnvironment", "is an array, not a dictionary"),
            ("OUEnvironment", ["A": 1], "OUEnvironment.A", "is an integer, not a string"),
            ("OUEnvironment", ["A": "b\0"], "OUEnvironment.A", "contains U+0000"),
            ("OUEnvironment", ["A=B": "c"], "OUEnvironment.A=B", "is not a valid name for an environment variable"),
            ("OUEnvironment", ["": "c"], "OUEnvironment.", "is not a valid name for an environment variable"),
            (
                "OUAllowedSources", "*", "OUAllowedSources",
                "is a string, not an array; write <array> and </array> around it"
            ),
            (
                "OUAllowedSources", ["**"], "OUAllowedSources[0]",
                "contains '*'; a bundle identifier is made of letters, digits, '-', '_' and '.'"
            ),
            ("OUAsk", 1, "OUAsk", "is an integer, not a boolean"),
            ("OUAnswersCallbacks", "yes", "OUAnswersCallbacks", "is a string, not a boolean"),
            ("OUFixed", "yes", "OUFixed", "is a string, not a boolean"),
            ("OUReach", "nobody", "OUReach", "is 'nobody'; it has to be everyone, local or listed"),
            ("OUReach", true, "OUReach", "is a boolean, not a string"),
            ("OUReach", "listed", "OUAllowedSources", "is missing"),
        ] as [(String, PropertyListValue?, String, String)]
    )
    func wrongValueIsReported(_ key: String, _ value: PropertyListValue?, _ path: String, _ reason: String) {
        var list = manifest("com.acme.todolist")
        list[key] = value
        let result = HandlerManifest.decode(list)
        #expect(result.manifest == nil)
        let problems = result.problems.map {
            ManifestProblem(key: $0.key, reason: String($0.reason.prefix(reason.count)))
        }
        #expect(problems == [ManifestProblem(key: path, reason: reason)])
    }

    @Test func everyProblemIsReportedAtOnce() {
        let result = HandlerManifest.decode([
            "CFBundleName": 1, "CFBundleURLTypes": [["CFBundleURLSchemes": ["a b", "1"]], 5], "OUFixed": [],
        ])
        #expect(
            result.problems.map(\.key) == [
                "CFBundleIdentifier", "CFBundleName", "CFBundleURLTypes[0].CFBundleURLSchemes[0]",
                "CFBundleURLTypes[0].CFBundleURLSchemes[1]", "CFBundleURLTypes[1]", "OUFixed",
            ]
        )
    }

    @Test(arguments: [["a"], "a", true] as [PropertyListValue])
    func listThatIsNotADictionaryIsRefused(_ list: PropertyListValue) {
        let result = HandlerManifest.decode(list)
        #expect(result.problems == [ManifestProblem(key: nil, reason: "is \(list.typeName), not a dictionary")])
    }
}

struct ExecutableTests {
    @Test(
        arguments: [
            ("/usr/bin/todolist", .absolute("/usr/bin/todolist")), ("bin/todolist", .relative("bin/todolist")),
            ("./todolist", .relative("./todolist")), ("todolist", .name("todolist")),
            ("todo list; rm -rf", .name("todo list; rm -rf")), ("/opt/../bin/x", .absolute("/opt/../bin/x")),
            ("...", .name("...")), ("a/..b", .relative("a/..b")),
        ] as [(String, Executable)]
    )
    func validExecutablesAreAccepted(_ text: String, _ executable: Executable) throws {
        #expect(try Executable(text) == executable)
        #expect(executable.description == text)
    }

    @Test(
        arguments: [
            ("", .empty), (".", .directory), ("..", .directory), ("/", .directory), ("bin/", .directory),
            ("a/.", .directory),
            ("../todolist", .leavesBundle), ("a/../../b", .leavesBundle), ("a/../b", .leavesBundle),
            ("../\u{301}x", .leavesBundle), ("a/../\u{301}x", .leavesBundle), ("bin/\u{301}/.", .directory),
        ] as [(String, Executable.ParseError)]
    )
    func invalidExecutablesAreRefused(_ text: String, _ error: Executable.ParseError) {
        #expect(throws: error) { try Executable(text) }
    }
}
