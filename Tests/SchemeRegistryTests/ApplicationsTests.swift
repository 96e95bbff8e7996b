import Desktop
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// The desktop's applications in the view of the registry.
struct ApplicationsTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
    }

    private func load() -> DesktopApplications { DesktopApplications(loading: root.desktop()) }

    private func claiming(_ scheme: String, in applications: DesktopApplications) throws -> [String] {
        applications.claiming(try Scheme(scheme)).map(\.id.rawValue)
    }

    @Test func missingDesktopHasNoApplications() throws {
        let applications = DesktopApplications()
        #expect(applications.all.isEmpty)
        #expect(applications.diagnostics.isEmpty)
        #expect(applications.concernedSchemes.isEmpty)
        #expect(load().all.isEmpty)
        let scheme = try Scheme("web")
        #expect(!applications.concern(scheme))
        #expect(applications.desktopChoice(for: scheme) == nil)
    }

    @Test func applicationsAreListedOnceByID() throws {
        try root.writeEntry("data2/applications/b.desktop", opening: ["web"])
        try root.writeEntry("data1/applications/b.desktop", opening: ["web", "WEB", "mail"])
        try root.writeEntry("home/applications/sub/a.desktop", opening: [])
        let applications = load()
        #expect(applications.all.map(\.id.rawValue) == ["b.desktop", "sub-a.desktop"])
        #expect(applications.all.map(\.precedence) == [1, 0])
        #expect(applications[try desktopFile("b.desktop")]?.file == "\(root.path)/data1/applications/b.desktop")
        #expect(applications[try desktopFile("c.desktop")] == nil)
        #expect(Set(applications.schemes) == [try Scheme("web"), try Scheme("mail")])
        #expect(try applications.schemes(of: desktopFile("b.desktop")).map(\.rawValue) == ["mail", "web"])
        #expect(try applications.schemes(of: desktopFile("sub-a.desktop")) == [])
        #expect(try applications.schemes(of: desktopFile("c.desktop")) == [])
    }

    @Test func applicationsKeepTheDesktopsOrder() throws {
        for name in ["a", "b", "c", "d"] { try root.writeEntry("data1/applications/\(name).desktop", opening: ["web"]) }
        try root.writeEntry("home/applications/z.desktop", opening: ["web"])
        #expect(try claiming("web", in: load()) == ["z", "a", "b", "c", "d"].map { "\($0).desktop" })
        try root.write(
            associations(
                defaults: ["web": "c.desktop;gone.desktop"],
                added: ["web": "d.desktop"],
                removed: ["web": "a.desktop"]
            ),
            to: "config/mimeapps.list"
        )
        let applications = load()
        #expect(try claiming("web", in: applications) == ["c", "d", "z", "b"].map { "\($0).desktop" })
        #expect(try applications.desktopChoice(for: Scheme("web"))?.id.rawValue == "c.desktop")
        #expect(
            try applications.places(for: Scheme("web").mimeType, with: []).map(\.reason) == [
                .default, .addition, .claim, .claim,
            ]
        )
        #expect(try claiming("other", in: applications) == [])
    }

    /// The registry's own entries, the router's entry, and any entry that starts the router's command lead back to the
    /// router.
    @Test(
        arguments: [
            ("com.acme.app.desktop", "true %u", "X-OpenURL-Handler=com.acme.handler"),
            ("org.openurl.Router1.desktop", "true %u", "DBusActivatable=true"),
            ("mine.desktop", "openurl %u", "NoDisplay=true"), ("mine.desktop", "bin/openurl -- %u", "NoDisplay=true"),
        ]
    )
    func entriesThatLeadToTheRouterAreNotApplications(_ file: String, _ command: String, _ line: String) throws {
        let program = try root.writeProgram("bin/openurl")
        let command = command.replacing("bin/openurl", with: program)
        try root.writeEntry("home/applications/\(file)", opening: ["web"], command: command, line)
        try root.writeEntry("home/applications/other.desktop", opening: ["web"])
        try root.write(associations(defaults: ["web": file]), to: "config/mimeapps.list")
        let applications = load()
        #expect(applications.all.map(\.id.rawValue) == ["other.desktop"])
        #expect(try claiming("web", in: applications) == ["other.desktop"])
        #expect(applications[try desktopFile(file)] == nil)
        #expect(applications.ownChoice(for: try Scheme("web")) != nil)
    }

    @Test func ownEntryConcernsItsSchemeOnlyAsADefault() throws {
        try root.writeEntry("home/applications/own.desktop", opening: ["web"], "X-OpenURL-Handler=com.acme.app")
        #expect(load().concernedSchemes == [])
        try root.write(associations(defaults: ["web": "own.desktop"]), to: "config/mimeapps.list")
        #expect(load().concernedSchemes == [try Scheme("web")])
        #expect(Array(load().schemes) == [])
    }

    /// The default may belong to a handler that is being registered.
    @Test func missingDefaultConcernsItsScheme() throws {
        try root.write(associations(defaults: ["web": "gone.desktop"]), to: "config/mimeapps.list")
        #expect(load().concernedSchemes == [try Scheme("web")])
        #expect(Array(load().schemes) == [])
        try root.write("[Desktop Entry]\nHidden=true\n", to: "home/applications/gone.desktop")
        #expect(load().concernedSchemes == [])
    }

    @Test func associationGivesAnApplicationAnUnclaimedScheme() throws {
        try root.writeEntry("home/applications/a.desktop", opening: [])
        try root.write(associations(added: ["web": "a.desktop"]), to: "config/mimeapps.list")
        #expect(try claiming("web", in: load()) == ["a.desktop"])
        #expect(try load().schemes(of: desktopFile("a.desktop")) == [Scheme("web")])
    }

    @Test func problemsOfEntriesAndAssociationsAreReported() throws {
        try root.write("nonsense\n", to: "home/applications/a.desktop")
        try root.write("nonsense\n", to: "config/mimeapps.list")
        let files = load().diagnostics.map { $0.file.replacing("\(root.path)/", with: "") }
        #expect(files == ["home/applications/a.desktop", "config/mimeapps.list"])
    }

    /// The files of the desktop may contain schemes that are invalid in a URL.
    @Test func invalidSchemeIsIgnored() {
        #expect(Scheme(ofDesktop: "a_b") == nil)
        #expect(Scheme(ofDesktop: "") == nil)
        #expect(Scheme(ofDesktop: "Web")?.mimeType == "x-scheme-handler/web")
    }
}
