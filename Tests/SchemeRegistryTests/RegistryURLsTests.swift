import RFC1808
import SchemeRegistry
import Testing

struct RegistryURLsTests {
    private let registry: Registry

    init() throws {
        var manifest = HandlerManifest(identifier: try BundleIdentifier("com.acme.todolist"), executable: nil)
        manifest.urlTypes = [
            URLType(schemes: [try Scheme("todolist")]),
            URLType(schemes: [try Scheme("acme")], hosts: [try HostPattern("*.acme.com")]),
        ]
        let handler = Handler(
            manifest: manifest,
            path: "/todolist.plist",
            entry: "/todolist.plist",
            program: nil,
            scope: .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
        registry = Registry(handlers: [handler])
    }

    @Test(arguments: [
        ("todolist://www.acme.com?Quarterly%20Report#200806231300", true), ("TodoList:item", true), ("todolist:", true),
        ("acme://WWW.acme.com:80/x", true), ("acme://user@www.acme.com", true),
        ("acme://www.acme.com@evil.org/", false),
        ("acme://www.%61cme.com/", false), ("acme:www.acme.com", false), ("acme://acme.com", false),
        ("other://www.acme.com", false), ("//www.acme.com/", false), ("todolist", false),
    ])
    func handlerOfAURLIsFound(_ text: String, _ isClaimed: Bool) throws {
        let url = try GenericURL(text)
        #expect((registry.handler(for: url) != nil) == isClaimed)
        #expect(registry.candidates(for: url).count == (isClaimed ? 1 : 0))
    }

    @Test func tooLongSchemeHasNoHandler() throws {
        let url = try GenericURL(String(repeating: "a", count: 65) + ":x")
        #expect(Scheme(of: url) == nil)
        #expect(registry.handler(for: url) == nil)
    }
}
