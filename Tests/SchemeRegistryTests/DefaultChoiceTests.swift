import Desktop
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// Setting and removing the user's choice for a scheme.
struct DefaultChoiceTests {
    private let root: TemporaryDirectory
    private let file = "config/mimeapps.list"

    init() throws {
        root = try TemporaryDirectory()
        let mark = "X-OpenURL-Handler=com.acme.app"
        try root.writeEntry("home/applications/com.acme.app.desktop", opening: ["web"], mark)
        try root.writeEntry("data1/applications/viewer.desktop", opening: ["web"])
    }

    private func registry() throws -> Registry {
        Registry(
            handlers: [
                try .test("com.acme.app", opening: ["web"]), try .test("com.acme.unpublished", opening: ["web"]),
                try .test("com.acme.fixed", opening: ["system"], program: nil, isFixed: true),
            ],
            applications: DesktopApplications(loading: root.desktop())
        )
    }

    private func set(_ id: String, for scheme: String = "web") throws {
        try registry().setDefault(id, for: scheme, in: root.desktop())
    }

    private func winner() throws -> String? {
        try registry().winner(for: Scheme("web"), host: nil)?.id
    }

    private func hasDefault() throws -> Bool {
        let registry = try registry()
        let places = try registry.applications.places(for: Scheme("web").mimeType, with: registry.handlers)
        return places.contains { $0.reason == .default }
    }

    @Test func choiceOfAnApplicationIsSetAndRemoved() throws {
        #expect(try winner() == "com.acme.app")
        try set("viewer.desktop")
        #expect(try winner() == "viewer.desktop")
        #expect(try root.read(file)?.contains("x-scheme-handler/web=viewer.desktop") == true)
        try set("")
        #expect(try winner() == "com.acme.app")
        #expect(try !hasDefault())
    }

    /// The router's own entry comes first, and whatever the user has chosen second.
    @Test func routerIsChosenForTheSchemeOfAHandler() throws {
        let router = "org.openurl.Router1.desktop"
        #expect(throws: DefaultError.routerNotNeeded(.scheme(try Scheme("web")))) { try set(router) }
        try root.write(
            "[Desktop Entry]\nType=Application\nName=openurl\nDBusActivatable=true\n",
            to: "data1/applications/\(router)"
        )
        #expect(try registry().routedSchemes == ["web"])
        try set("viewer.desktop")
        try set(router)
        #expect(try root.read(file)?.contains("x-scheme-handler/web=\(router);viewer.desktop;") == true)
        // Choosers do not offer it.
        #expect(try root.read(file)?.contains("[Added Associations]\nx-scheme-handler/web=viewer.desktop") == true)
        #expect(try winner() == "viewer.desktop")
        try set("com.acme.app")
        #expect(try root.read(file)?.contains("x-scheme-handler/web=\(router);com.acme.app.desktop;") == true)
        #expect(try winner() == "com.acme.app")
        // Twice is as good as once.
        try set(router)
        #expect(try root.read(file)?.contains("x-scheme-handler/web=\(router);com.acme.app.desktop;") == true)
        for scheme in ["system", "mail", "text/plain"] {
            #expect(throws: DefaultError.self) { try set(router, for: scheme) }
        }
        try set("")
        #expect(try !hasDefault())
        #expect(try root.read(file)?.contains(router) == false)
    }

    @Test func routerIsForgottenWithItsLastHandler() throws {
        let router = "org.openurl.Router1.desktop"
        try root.write(
            "[Desktop Entry]\nType=Application\nName=openurl\nDBusActivatable=true\n",
            to: "data1/applications/\(router)"
        )
        try set(router)
        let registry = try registry()
        let handlers = registry.handlers.filter { $0.schemes.map(\.rawValue) == ["web"] }
        #expect(handlers.count == 2)
        _ = try registry.forgetDefaults(of: handlers[0], in: root.desktop())
        #expect(try root.read(file)?.contains("x-scheme-handler/web=\(router);") == true)
        let last = Registry(handlers: [handlers[0]], applications: registry.applications)
        #expect(try last.forgetDefaults(of: handlers[0], in: root.desktop()))
        #expect(try root.read(file)?.contains(router) == false)
    }

    @Test func handlerIsChosenByItsEntry() throws {
        try set("viewer.desktop")
        try set("com.acme.app")
        #expect(try winner() == "com.acme.app")
        #expect(try registry().candidates(for: Scheme("web"), host: nil)[0].outcome == .won(by: .userDefault))
        #expect(try root.read(file)?.contains("x-scheme-handler/web=com.acme.app.desktop") == true)
    }

    /// Schemes are case-insensitive, and so is the line of a scheme.
    @Test func schemeIsWrittenInLowerCase() throws {
        try set("viewer.desktop", for: "WEB")
        #expect(try root.read(file)?.contains("x-scheme-handler/web=viewer.desktop") == true)
        try set("", for: "Web")
        #expect(try !hasDefault())
    }

    @Test func applicationHasToClaimTheScheme() throws {
        let error = #expect(throws: DefaultError.self) { try set("viewer.desktop", for: "mail") }
        let advice = "in its desktop entry, which needs MimeType=x-scheme-handler/mail"
        #expect(error?.description == "viewer.desktop does not claim mail: \(advice)")
        // A file that adds the association claims the scheme too.
        try root.write("[Added Associations]\nx-scheme-handler/mail=viewer.desktop\n", to: file)
        try set("viewer.desktop", for: "mail")
        #expect(try registry().winner(for: Scheme("mail"), host: nil)?.id == "viewer.desktop")
    }

    @Test func restOfTheFileStays() throws {
        let rest = "# mine\n[Default Applications]\ntext/plain=editor.desktop\nx-scheme-handler/mail=mail.desktop\n"
        try root.write(rest + "[Other]\nkey=value\n", to: file)
        try set("viewer.desktop")
        try set("")
        let text = try #require(try root.read(file))
        for line in (rest + "[Other]\nkey=value").split(separator: "\n") { #expect(text.contains(line)) }
        #expect(!text.contains("web=viewer.desktop\n[Other]"))
        #expect(try !hasDefault())
    }

    @Test func removingAMissingChoiceWritesNothing() throws {
        try set("")
        #expect(try root.read(file) == nil)
        // The choice for an unknown or unclaimed scheme can be removed too.
        try set("", for: "unclaimed")
        #expect(try root.read(file) == nil)
    }

    @Test(
        arguments: [
            ("viewer.desktop", "a b", DefaultError.badScheme("a b", .forbiddenCharacter(" "))),
            ("", "", .badScheme("", .empty)), ("missing.desktop", "web", .unknown("missing.desktop")),
            ("viewer", "web", .unknown("viewer")), ("com.acme.nobody", "web", .unknown("com.acme.nobody")),
            // A handler is chosen by its identifier and not by the name of its desktop entry.
            ("com.acme.app.desktop", "web", .unknown("com.acme.app.desktop")),
        ]
    )
    func invalidChoicesAreRefused(_ id: String, _ scheme: String, _ error: DefaultError) throws {
        #expect(throws: error) { try set(id, for: scheme) }
        #expect(try root.read(file) == nil)
    }

    @Test func handlerThatCannotBeChosenIsRefused() throws {
        let app = try BundleIdentifier("com.acme.app")
        #expect(throws: DefaultError.notClaimed(app, .scheme(try Scheme("mail")))) {
            try set("com.acme.app", for: "mail")
        }
        let unpublished = try BundleIdentifier("com.acme.unpublished")
        #expect(throws: DefaultError.notPublished(unpublished)) { try set("com.acme.unpublished") }
        // For a scheme of the system the choice names the application behind the handler.
        let fixed = try BundleIdentifier("com.acme.fixed")
        let error = DefaultError.fixed(try Scheme("system"), owner: fixed)
        for id in ["com.acme.fixed", "com.acme.app"] {
            #expect(throws: error) { try set(id, for: "system") }
        }
        #expect(try root.read(file) == nil)
    }

    /// Another program's entry with the name of the handler's entry does not stand for the handler.
    @Test func foreignEntryOfTheSameNameIsNotTheHandlers() throws {
        try root.writeEntry("home/applications/com.acme.app.desktop", opening: ["web"])
        let app = try BundleIdentifier("com.acme.app")
        #expect(throws: DefaultError.notPublished(app)) { try set("com.acme.app") }
        try set("com.acme.app.desktop")
        #expect(try winner() == "com.acme.app.desktop")
    }

    @Test func failedWriteIsReported() throws {
        let homeless = DesktopDirectories(environment: [:])
        #expect(throws: DefaultError.noConfigurationDirectory) {
            try registry().setDefault("", for: "web", in: homeless)
        }
        try root.makeDirectory(file)
        let error = #expect(throws: DefaultError.self) { try set("viewer.desktop") }
        guard case .file(let problem) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(problem.file == "\(root.path)/\(file)")
        #expect(error?.description == problem.description)
    }
}
