import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// The localised names and the images of a bundle.
struct BundleResourcesTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
        try root.makeDirectory("Todo.app")
    }

    private func handler(_ path: String = "Todo.app", image: String = "Default", icons: [String] = []) throws -> Handler
    {
        var manifest = HandlerManifest(identifier: try BundleIdentifier("com.acme.todolist"), executable: .name("x"))
        manifest.urlTypes = [
            URLType(name: "com.acme.todolist", schemes: [try Scheme("todolist")]),
            URLType(name: "com.acme.other", schemes: [try Scheme("other")]), URLType(schemes: [try Scheme("none")]),
        ]
        manifest.launchImageFile = image
        manifest.documentTypes = [DocumentType(name: "To-do list"), DocumentType(name: "Other"), DocumentType()]
        manifest.icons = icons
        return Handler(
            manifest: manifest,
            path: "\(root.path)/\(path)",
            entry: "\(root.path)/\(path)",
            program: .path("/bin/true"),
            scope: .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
    }

    private func resources(_ languages: String...) throws -> BundleResources {
        BundleResources(of: try handler(), languages: languages)
    }

    private func write(_ text: String, _ language: String) throws {
        try root.write(text, to: "Todo.app/\(language).lproj/InfoPlist.strings")
    }

    private func problems(_ resources: BundleResources) -> [String] {
        resources.diagnostics.map { $0.description.replacing("\(root.path)/", with: "") }
    }

    // MARK: Names

    @Test func namesOfSchemesAndBundleAreRead() throws {
        try write(
            #""com.acme.todolist" = "Aufgabe"; "com.acme.unknown" = "?"; CFBundleName = "Liste"; other = "?";"#,
            "de"
        )
        let resources = try resources("de_DE", "de")
        #expect(resources.urlNames == ["com.acme.todolist": "Aufgabe"])
        #expect(resources.name == "Liste")
        #expect(resources.diagnostics.isEmpty)
        try write(#"CFBundleName = "Liste"; CFBundleDisplayName = "Aufgabenliste";"#, "de")
        #expect(try self.resources("de").name == "Aufgabenliste")
    }

    @Test func kindsOfFilesHaveLocalisedNames() throws {
        try write(#""To-do list" = "Aufgabenliste"; "Unknown" = "?";"#, "de")
        #expect(try resources("de").typeNames == ["To-do list": "Aufgabenliste"])
        #expect(try resources("de").urlNames == [:])
    }

    /// A text that D-Bus cannot pass on, and one that no list has room for, are no names.
    @Test(arguments: [#"a\U0001b"#, String(repeating: "x", count: 1025), ""]) func unfitNameIsReported(_ name: String)
        throws
    {
        try write(#""com.acme.todolist" = "\#(name)"; "com.acme.other" = "Andere";"#, "de")
        let resources = try resources("de")
        #expect(resources.urlNames == ["com.acme.other": "Andere"])
        #expect(
            problems(resources) == [
                "Todo.app/de.lproj/InfoPlist.strings: com.acme.todolist: is empty, has a control character, or has more than "
                    + "1024 bytes"
            ]
        )
    }

    @Test func everyLanguageHasAName() throws {
        for (language, text) in [
            ("de", "CFBundleName = Liste;"), ("pt-BR", "CFBundleDisplayName = Lista; CFBundleName = L;"),
            ("Base", "CFBundleName = Base;"), ("fr", "other = x;"), ("it", "CFBundleName = \"broken\n"),
            ("es", "CFBundleName = \"\(String(repeating: "x", count: 1025))\";"),
            ("nl", "CFBundleDisplayName = \"a\u{1}b\"; CFBundleName = Lijst;"), ("sv", "CFBundleName = \"\";"),
        ] {
            try write(text, language)
        }
        #expect(try resources("de").localizedNames() == ["de": "Liste", "nl": "Lijst", "pt_BR": "Lista"])
        #expect(BundleResources(of: try handler("Todo.plist"), languages: []).localizedNames() == [:])
    }

    @Test func iconIsAnImageOfTheBundleOrAName() throws {
        func icon(_ icons: String..., of path: String = "Todo.app") throws -> String? {
            BundleResources(of: try handler(path, icons: icons), languages: []).icon
        }
        for name in ["Plain", "Icon.png", "Drawing.svg"] { try root.write("", to: "Todo.app/\(name)") }
        #expect(try icon("Plain") == "\(root.path)/Todo.app/Plain")
        #expect(try icon("Icon") == "\(root.path)/Todo.app/Icon.png")
        #expect(try icon("Icon.png") == "\(root.path)/Todo.app/Icon.png")
        #expect(try icon("Drawing") == "\(root.path)/Todo.app/Drawing.svg")
        for name in ["com.acme.todolist", "/usr/share/pixmaps/todolist.png"] {
            #expect(try icon(name) == name)
            #expect(try icon(name, of: "Todo.plist") == name)
        }
        #expect(try icon() == nil)
        // The first icon that the bundle has is preferred to a name that only the theme may have.
        #expect(try icon("Missing", "Icon", "Plain") == "\(root.path)/Todo.app/Icon.png")
        #expect(try icon("Missing", "com.acme.todolist") == "Missing")
    }

    @Test func bundleWithoutStringsHasNoNames() throws {
        #expect(try resources("de").urlNames == [:])
        #expect(try resources("de").name == nil)
        #expect(try resources("de").diagnostics.isEmpty)
    }

    /// The user's languages come in their order, each also in the spelling of bundle directories. The bundle's own
    /// language comes last.
    @Test(
        arguments: [
            (["de_DE", "de", "fr"], "de_DE"), (["de", "de_DE"], "de"), (["pt_BR", "pt"], "pt-BR"),
            (["it", "fr"], "fr"), (["it"], "en"), ([], "en"),
        ]
    )
    func firstAvailableLanguageIsUsed(_ languages: [String], _ expected: String) throws {
        for language in ["de_DE", "de", "pt-BR", "fr", "en", "Base"] {
            try write("CFBundleName = \(language);", language)
        }
        #expect(BundleResources(of: try handler(), languages: languages).name == expected)
    }

    @Test func languagesAreNotMixed() throws {
        try write("CFBundleName = Base;", "Base")
        #expect(try resources("de").name == "Base")
        try write(#""com.acme.todolist" = "Task";"#, "en")
        #expect(try resources("de").urlNames == ["com.acme.todolist": "Task"])
        #expect(try resources("de").name == nil)
    }

    @Test func damagedLanguageIsReportedAndTheNextOneIsUsed() throws {
        try write("CFBundleName = \"Liste\n", "de")
        try write("CFBundleName = Base;", "Base")
        try root.makeSparseFile("Todo.app/fr.lproj/InfoPlist.strings", size: StringsFile.limit + 1)
        try root.makeDirectory("Todo.app/it.lproj/InfoPlist.strings")
        let resources = try resources("de", "fr", "it")
        #expect(resources.name == "Base")
        #expect(
            problems(resources) == [
                "Todo.app/de.lproj/InfoPlist.strings: line 2: expected the end of a string",
                "Todo.app/fr.lproj/InfoPlist.strings: is larger than 1048576 bytes",
                "Todo.app/it.lproj/InfoPlist.strings: is a directory, not a file",
            ]
        )
        #expect(resources.diagnostics.allSatisfy { $0.severity == .warning })
    }

    @Test func linkOutOfTheBundleIsRefused() throws {
        try root.write("CFBundleName = Outside;", to: "secret.strings")
        try root.link("Todo.app/de.lproj/InfoPlist.strings", to: "\(root.path)/secret.strings")
        try root.makeDirectory("elsewhere")
        try root.write("CFBundleName = Outside;", to: "elsewhere/InfoPlist.strings")
        try root.link("Todo.app/fr.lproj", to: "../elsewhere")
        try root.link("Todo.app/it.lproj", to: "Base.lproj")
        try write("CFBundleName = Base;", "Base")
        let resources = try resources("de", "fr", "it")
        #expect(resources.name == "Base")
        #expect(
            problems(resources)
                == ["de", "fr"].map {
                    "Todo.app/\($0).lproj/InfoPlist.strings: is a link that leads out of the bundle"
                }
        )
    }

    // MARK: Launch images

    /// The order is the guide's: the image of the scheme before the image for all schemes, and the plain file before
    /// the file for a high-resolution screen.
    @Test(
        arguments: [
            ([], nil, nil), (["Default.png"], "Default.png", "Default.png"),
            (["Default@2x.png"], "Default@2x.png", "Default@2x.png"),
            (["Default.png", "Default@2x.png"], "Default.png", "Default.png"),
            (["Default-todolist.png"], "Default-todolist.png", nil),
            (["Default-todolist@2x.png", "Default.png"], "Default-todolist@2x.png", "Default.png"),
            (["Default-todolist@2x.png", "Default-todolist.png"], "Default-todolist.png", nil),
            (["Default-other.png"], nil, nil), (["Default-todolist.jpg", "Other.png", "default.png"], nil, nil),
        ] as [([String], String?, String?)]
    )
    func launchImagesAreFound(_ files: [String], _ ofScheme: String?, _ ofAll: String?) throws {
        for file in files { try root.write("", to: "Todo.app/\(file)") }
        let resources = try resources()
        let directory = "\(root.path)/Todo.app"
        #expect(try resources.launchImage(for: Scheme("TODOLIST")) == ofScheme.map { "\(directory)/\($0)" })
        #expect(resources.launchImage() == ofAll.map { "\(directory)/\($0)" })
    }

    @Test func manifestNamesTheImage() throws {
        for file in ["Default.png", "Launch.png", "Launch-todolist.png"] { try root.write("", to: "Todo.app/\(file)") }
        let resources = BundleResources(of: try handler(image: "Launch"), languages: [])
        #expect(resources.launchImage() == "\(root.path)/Todo.app/Launch.png")
        #expect(
            try resources.launchImage(for: Scheme("todolist")) == "\(root.path)/Todo.app/Launch-todolist.png"
        )
    }

    @Test func imageOfTheUsersLanguageReplacesTheBundles() throws {
        for file in [
            "Default.png", "Default-todolist.png", "de.lproj/Default-todolist.png", "pt-BR.lproj/Default.png",
            "en.lproj/Default-todolist.png", "fr.lproj/Other.png",
        ] {
            try root.write("", to: "Todo.app/\(file)")
        }
        func image(_ languages: String...) throws -> String? {
            try BundleResources(of: try handler(), languages: languages).launchImage(for: Scheme("todolist"))
                .map { String($0.dropFirst("\(root.path)/Todo.app/".count)) }
        }
        #expect(try image("de_DE", "de", "fr") == "de.lproj/Default-todolist.png")
        #expect(try image("pt_BR", "pt") == "en.lproj/Default-todolist.png")
        #expect(try resources("pt_BR").launchImage() == "\(root.path)/Todo.app/pt-BR.lproj/Default.png")
        #expect(try image("fr") == "en.lproj/Default-todolist.png")
    }

    @Test func imagesBehindALinkOutOfTheBundleAreNotUsed() throws {
        try root.write("", to: "elsewhere/Default.png")
        try root.makeDirectory("Todo.app")
        try root.link("Todo.app/de.lproj", to: "../elsewhere")
        #expect(try resources("de").launchImage() == nil)
    }

    @Test func bareManifestHasNoResources() throws {
        try root.write("", to: "Default.png")
        try root.write("CFBundleName = Name;", to: "en.lproj/InfoPlist.strings")
        for path in ["", "com.acme.todolist.plist"] {
            let resources = BundleResources(of: try handler(path), languages: ["en"])
            #expect(resources.launchImage() == nil)
            #expect(resources.name == nil)
            #expect(resources.diagnostics.isEmpty)
        }
    }

    @Test func bundleThatIsNotADirectoryIsReported() throws {
        try root.write("", to: "File.app")
        let file = BundleResources(of: try handler("File.app"), languages: [])
        #expect(problems(file) == ["File.app: Not a directory"])
        let missing = BundleResources(of: try handler("Missing.app"), languages: [])
        #expect(missing.diagnostics.isEmpty)
        #expect(missing.launchImage() == nil)
    }
}
