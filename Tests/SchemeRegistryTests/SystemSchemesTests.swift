import Desktop
import FoundationEssentials
import Testing
import UserFiles

@testable import SchemeRegistry

/// The manifests that the project ships in `Schemes/`.
struct SystemSchemesTests {
    private let registry: Registry

    init() {
        let repository = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        registry = Registry(loading: RegistryDirectories(user: nil, system: ["/\(repository)/Schemes"]))
    }

    @Test func everyManifestLoads() {
        #expect(registry.diagnostics.map(\.description) == [])
        #expect(
            registry.handlers.map(\.id.rawValue).sorted() == [
                "com.acme.todolist", "org.openurl.system.browser", "org.openurl.system.mail", "org.openurl.system.maps",
                "org.openurl.system.messages", "org.openurl.system.telephone", "org.openurl.system.youtube",
            ]
        )
        #expect(registry.conflicts.isEmpty)
    }

    @Test func fixedSchemesUseTheDesktopsApplications() {
        for handler in registry.handlers where handler.id.rawValue.hasPrefix("org.openurl.system.") {
            #expect(handler.isFixed)
            #expect(handler.kind == .freedesktop)
        }
    }

    @Test(
        arguments: [
            ("http", "www.acme.com", "browser"), ("https", "maps.google.com", "maps"),
            ("https", "www.youtube.com", "youtube"),
            ("http", "youtu.be", "youtube"), ("https", "notyoutube.com", "browser"), ("mailto", nil, "mail"),
            ("tel", nil, "telephone"), ("sms", nil, "messages"),
        ] as [(String, String?, String)]
    )
    func fixedSchemesBelongToTheSystem(_ scheme: String, _ host: String?, _ expected: String) throws {
        #expect(try registry.handler(for: Scheme(scheme), host: host)?.id.rawValue == "org.openurl.system.\(expected)")
    }

    @Test func programOfTheExampleIsFoundOnPATH() throws {
        let handler = try #require(registry.handler(for: Scheme("todolist"), host: "www.acme.com"))
        #expect(handler.id.rawValue == "com.acme.todolist")
        #expect(handler.name == "To-Do List")
        #expect(handler.program == .nameOnPath("todolist"))
        #expect(!handler.isFixed)
    }
}
