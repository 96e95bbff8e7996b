import Glibc
import TestSupport
import Testing
import UserFiles
import WebLinks

@testable import SchemeRegistry

/// The claims of manifests on links to web pages.
struct AssociatedDomainTests {
    private static func decode(_ domains: PropertyListValue) -> (
        manifest: HandlerManifest?, problems: [ManifestProblem]
    ) {
        HandlerManifest.decode([
            "CFBundleIdentifier": "com.acme.app", "CFBundleExecutable": "app", "OUAssociatedDomains": domains,
        ])
    }

    @Test func claimsAreRead() throws {
        let manifest = try #require(
            Self.decode(["Example.com", "applinks:www.example.com", "example.org/a/*"]).manifest
        )
        #expect(manifest.associatedDomains.map(\.description) == ["example.com", "www.example.com", "example.org/a/*"])
    }

    @Test(arguments: [
        "*.example.com", "localhost", "127.0.0.1", "169.254.169.254", "2130706433", "example.com:443",
        "https://example.com",
        "user@example.com", "example.com.", "", "webcredentials:example.com", "example.com/a/../b",
        "example.com?mode=developer",
        "b\u{FC}cher.example", "example.com/a b",
    ])
    func textIsRefused(_ text: String) {
        let result = Self.decode([.string(text)])
        #expect(result.manifest == nil)
        #expect(result.problems.map(\.key) == ["OUAssociatedDomains[0]"])
    }

    @Test func numberOfClaimsIsLimited() {
        let domains = (0..<33).map { PropertyListValue.string("a\($0).example") }
        #expect(Self.decode(.array(domains)).problems.map(\.key) == ["OUAssociatedDomains"])
        #expect(Self.decode(.array(Array(domains.dropLast()))).manifest?.associatedDomains.count == 32)
    }

    @Test func manifestThatOnlyClaimsLinksHasNoFinding() {
        let text = """
            <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>com.acme.app</string>
            <key>CFBundleExecutable</key><string>/bin/true</string>
            <key>OUAssociatedDomains</key><array><string>example.com</string></array></dict></plist>
            """
        #expect(ManifestCheck.findings(in: Array(text.utf8), of: "x").isEmpty)
    }

    private func handler(_ id: String, _ domains: [String], schemes: [String] = [], isFixed: Bool = false) throws
        -> Handler
    {
        var manifest = HandlerManifest(identifier: try BundleIdentifier(id), executable: nil)
        manifest.associatedDomains = try domains.map { try AssociatedDomain($0) }
        if !schemes.isEmpty { manifest.urlTypes = [URLType(schemes: try schemes.map { try Scheme($0) })] }
        manifest.isFixed = isFixed
        return Handler(
            manifest: manifest,
            path: "/h/\(id).plist",
            entry: "/h/\(id).plist",
            program: .path("/bin/true"),
            scope: isFixed ? .system : .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
    }

    @Test func registryFindsTheHandlersOfAHost() throws {
        let host = try WebHost("example.com")
        let first = try handler("com.acme.a", ["example.com/a/*", "example.com/b/*"])
        let second = try handler("com.acme.b", ["example.com", "example.org"])
        var registry = Registry(handlers: [second, first])
        #expect(registry.handlers(claimingLinksTo: host).map(\.id.rawValue) == ["com.acme.a", "com.acme.b"])
        #expect(registry.linkHosts.map(\.rawValue) == ["example.com", "example.org"])
        _ = registry.update(handlers: [second], diagnostics: [])
        #expect(registry.handlers(claimingLinksTo: host).map(\.id.rawValue) == ["com.acme.b"])
        _ = registry.update(handlers: [], diagnostics: [])
        #expect(registry.linkHosts.isEmpty)
        let wasInserted = registry.insert(first)
        #expect(wasInserted)
        #expect(registry.linkHosts == [host])
    }

    @Test func temporaryHandlerHasNoLinks() throws {
        let registry = Registry(handlers: []).adding([
            TemporaryHandler(registering: try handler("com.acme.a", ["example.com"]))
        ])
        #expect(registry.linkHosts.isEmpty)
    }

    /// Without the system manifests too, no manifest takes all web pages.
    @Test(arguments: [false, true]) func schemesOfBrowsersAreNotClaimed(isIncremental: Bool) throws {
        let browser = try handler("com.acme.browser", [], schemes: ["https", "http", "mine"])
        var registry = Registry(handlers: isIncremental ? [] : [browser])
        if isIncremental {
            let wasInserted = registry.insert(browser)
            #expect(!wasInserted)
            _ = registry.update(handlers: [browser], diagnostics: [])
        }
        #expect(registry.schemes.map(\.rawValue) == ["mine"])
        #expect(
            registry.diagnostics.map(\.reason) == [
                "https belongs to the browser; OUAssociatedDomains claims the links to a site",
                "http belongs to the browser; OUAssociatedDomains claims the links to a site",
            ]
        )
        let system = try handler("org.openurl.system.web", [], schemes: ["https"], isFixed: true)
        #expect(Registry(handlers: [system]).schemes.map(\.rawValue) == ["https"])
    }

    /// Writes the manifest of a handler into the directory `system`.
    private func directoryWithHandler() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let manifest = """
            <plist version="1.0"><dict><key>CFBundleIdentifier</key><string>com.acme.app</string>
            <key>CFBundleExecutable</key><string>/bin/true</string>
            <key>OUAssociatedDomains</key><array><string>example.com</string></array></dict></plist>
            """
        try directory.write(Array(manifest.utf8), to: "system/com.acme.app.plist")
        return directory
    }

    /// Only root can change what an administrator has installed. The directories of tests are the user's own.
    @Test func ownershipOfRootIsLookedUp() throws {
        let directory = try directoryWithHandler()
        let directories = RegistryDirectories(user: nil, system: ["\(directory.path)/system"])
        var handlers = Registry(loading: directories).handlers
        #expect(handlers.map(\.isInstalledByAdministrator) == [getuid() == 0])
        // The same file as the user's own registration is never the administrator's.
        let own = RegistryDirectories(user: "\(directory.path)/system", system: [])
        handlers = withExtendedLifetime(directory) { Registry(loading: own).handlers }
        #expect(handlers.map(\.isInstalledByAdministrator) == [false])
    }

    @Test(.enabled(if: getuid() == 0, "only root can make a directory of another user"))
    func directoryOfAnotherUserIsNotTrusted() throws {
        let directory = try directoryWithHandler()
        try #require(chown("\(directory.path)/system", 65_534, 65_534) == 0)
        var trust = TrustedPaths(owners: .root)
        #expect(throws: FileError.self) { try trust.check("\(directory.path)/system/com.acme.app.plist") }
    }
}
