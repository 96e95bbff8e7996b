import FoundationEssentials
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

struct LoadingTests {
    private let root: TemporaryDirectory
    private let directories: RegistryDirectories

    init() throws {
        root = try TemporaryDirectory()
        directories = RegistryDirectories(user: "\(root.path)/user", system: ["\(root.path)/one", "\(root.path)/two"])
    }

    private func load() -> Registry { Registry(loading: directories) }

    private func problems() -> [String] {
        load().diagnostics.map { $0.description.replacing("\(root.path)/", with: "") }
    }

    private func id(_ text: String) throws -> BundleIdentifier { try BundleIdentifier(text) }

    /// Otherwise, one file could fill the log.
    @Test func problemsOfOneManifestAreLimited() throws {
        let schemes = (0..<1000).map { "not a scheme \($0)" }
        try root.write(try manifest("com.acme.bad", schemes: schemes).encoded(.xml), to: "user/com.acme.bad.plist")
        let diagnostics = load().diagnostics
        #expect(diagnostics.count == Problems.limit + 1)
        #expect(diagnostics.last?.reason == "has \(1000 - Problems.limit) more problems")
        #expect(ManifestCheck.locating(diagnostics).dropLast().allSatisfy { $0.line != nil })
    }

    @Test func missingDirectoriesHaveNoHandlers() {
        let registry = load()
        #expect(registry.handlers.isEmpty)
        #expect(registry.diagnostics.isEmpty)
    }

    @Test(arguments: [PropertyListDecoder.PropertyListFormat.xml, .binary])
    func bundlesAndBareManifestsAreLoaded(_ format: PropertyListDecoder.PropertyListFormat) throws {
        try root.write(try manifest("com.acme.bare", schemes: ["bare"]).encoded(format), to: "user/com.acme.bare.plist")
        try root.write(try manifest("com.acme.app", schemes: ["app"]).encoded(format), to: "one/Acme.app/Info.plist")
        try root.setDate("user/com.acme.bare.plist", seconds: 100, nanoseconds: 7)
        let registry = load()
        #expect(registry.diagnostics.isEmpty)

        let bare = try #require(registry[id("com.acme.bare")])
        #expect(bare.path == "\(root.path)/user/com.acme.bare.plist")
        #expect(bare.scope == .user)
        #expect(bare.registrationDate.nanoseconds == 100_000_000_007)
        #expect(bare.kind == .native)
        let bundle = try #require(registry[id("com.acme.app")])
        #expect(bundle.path == "\(root.path)/one/Acme.app")
        #expect(bundle.scope == .system)
        #expect(try registry.handler(for: Scheme("app"), host: nil)?.id == bundle.id)
    }

    @Test func linksInADirectoryAreFollowed() throws {
        try root.write(try manifest("com.acme.app").encoded(), to: "opt/Acme.app/Info.plist")
        try root.write(try manifest("com.acme.bare").encoded(), to: "opt/handler.plist")
        try root.link("user/com.acme.app.app", to: "../opt/Acme.app")
        try root.link("user/com.acme.bare.plist", to: "\(root.path)/opt/handler.plist")
        try root.setDate("user/com.acme.app.app", seconds: 5)
        let registry = load()
        #expect(registry.diagnostics.isEmpty)
        let bundle = try #require(registry[id("com.acme.app")])
        #expect(bundle.path == "\(root.path)/opt/Acme.app")
        #expect(bundle.entry == "\(root.path)/user/com.acme.app.app")
        #expect(bundle.registrationDate.nanoseconds == 5_000_000_000)
        #expect(try registry[id("com.acme.bare")]?.path == "\(root.path)/opt/handler.plist")
    }

    @Test func otherFilesAreIgnored() throws {
        try root.write([1], to: "user/README.md")
        try root.write([1], to: "user/.com.acme.todolist.plist")
        try root.makeFIFO("user/fifo")
        #expect(problems() == [])
    }

    @Test func brokenManifestAffectsOnlyItself() throws {
        try root.write(try manifest("com.acme.good").encoded(), to: "user/com.acme.good.plist")
        try root.write(Array("nonsense".utf8), to: "user/com.acme.bad.plist")
        var half = manifest("com.acme.half", schemes: ["good", "b/ad"])
        half["OUFixed"] = 3
        try root.write(try half.encoded(), to: "user/com.acme.half.plist")
        #expect(
            problems() == [
                "user/com.acme.bad.plist: is neither an XML nor a binary property list; 'openurl new' writes a manifest that you can start from",
                "user/com.acme.half.plist: CFBundleURLTypes[0].CFBundleURLSchemes[1]: "
                    + "contains '/'; a scheme is made of letters, digits, '+', '-' and '.'",
                "user/com.acme.half.plist: OUFixed: is an integer, not a boolean",
            ]
        )
        let registry = load()
        #expect(registry.handlers.map(\.id.rawValue) == ["com.acme.good"])
        #expect(registry.schemes.map(\.rawValue) == ["todolist"])
    }

    @Test func fileNameOfABareManifestMustBeItsID() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "user/todolist.plist")
        #expect(
            problems() == [
                "user/todolist.plist: CFBundleIdentifier: "
                    + "is com.acme.todolist, so the file has to be called com.acme.todolist.plist"
            ]
        )
        #expect(load().handlers.isEmpty)
    }

    @Test func earlierDirectoryShadowsALaterOne() throws {
        try root.write(try manifest("com.acme.app", schemes: ["new"]).encoded(), to: "user/com.acme.app.plist")
        try root.write(try manifest("com.acme.app", schemes: ["old"]).encoded(), to: "one/com.acme.app.plist")
        let registry = load()
        #expect(registry.schemes.map(\.rawValue) == ["new"])
        #expect(registry.diagnostics.isEmpty)
    }

    @Test func brokenManifestShadowsNothing() throws {
        try root.write([], to: "user/com.acme.app.plist")
        try root.write(try manifest("com.acme.app", schemes: ["old"]).encoded(), to: "one/com.acme.app.plist")
        #expect(load().schemes.map(\.rawValue) == ["old"])
    }

    @Test func duplicateIDInOneDirectoryIsADiagnostic() throws {
        try root.write(try manifest("com.acme.app", schemes: ["a"]).encoded(), to: "user/com.acme.app.plist")
        try root.write(try manifest("com.acme.app", schemes: ["b"]).encoded(), to: "user/Acme.app/Info.plist")
        try root.setDate("user/com.acme.app.plist", seconds: 2)
        try root.setDate("user/Acme.app", seconds: 1)
        #expect(
            problems() == [
                "user/com.acme.app.plist: CFBundleIdentifier: is com.acme.app, which user/Acme.app already declares"
            ]
        )
        #expect(load().schemes.map(\.rawValue) == ["b"])

        try root.setDate("user/Acme.app", seconds: 3)
        #expect(
            problems() == [
                "user/Acme.app/Info.plist: CFBundleIdentifier: "
                    + "is com.acme.app, which user/com.acme.app.plist already declares"
            ]
        )
    }

    @Test func unreadableDirectoryIsADiagnostic() throws {
        try root.write([], to: "user")
        try root.write(try manifest("com.acme.app").encoded(), to: "one/com.acme.app.plist")
        #expect(problems() == ["user: Not a directory"])
        #expect(load().handlers.count == 1)
    }

    // MARK: Programs

    private func program(_ executable: String, inBundle: Bool) throws -> Handler.Program? {
        var list = manifest("com.acme.app")
        list["CFBundleExecutable"] = .string(executable)
        try root.write(try list.encoded(), to: inBundle ? "opt/Acme.app/Info.plist" : "opt/acme.plist")
        if inBundle {
            try root.link("user/com.acme.app.app", to: "../opt/Acme.app")
        } else {
            try root.link("user/com.acme.app.plist", to: "../opt/acme.plist")
        }
        return try load()[id("com.acme.app")]?.program
    }

    @Test func pathOfAProgramHasNoDots() throws {
        #expect(try program("./bin/./todolist", inBundle: true) == .path("\(root.path)/opt/Acme.app/bin/todolist"))
    }

    @Test func programOfABundleIsFound() throws {
        #expect(try program("todolist", inBundle: true) == .path("\(root.path)/opt/Acme.app/todolist"))
    }

    @Test func programBesideAManifestIsFound() throws {
        #expect(try program("bin/todolist", inBundle: false) == .path("\(root.path)/opt/bin/todolist"))
    }

    @Test func bareProgramNameIsLeftToPATH() throws {
        #expect(try program("todolist", inBundle: false) == .nameOnPath("todolist"))
    }

    @Test func absoluteProgramPathIsKept() throws {
        #expect(try program("/no/such/program", inBundle: true) == .path("/no/such/program"))
    }

    @Test func linksInsideTheBundleAreFollowed() throws {
        try root.write([], to: "opt/Acme.app/bin/real")
        try root.link("opt/Acme.app/todolist", to: "bin/real")
        #expect(try program("todolist", inBundle: true) == .path("\(root.path)/opt/Acme.app/todolist"))
    }

    @Test(arguments: ["todolist", "bin/todolist"])
    func linksOutOfTheBundleAreRefused(_ executable: String) throws {
        try root.write([], to: "opt/elsewhere/todolist")
        try root.write([], to: "opt/Acme.app2/todolist")
        try root.link("opt/Acme.app/todolist", to: "../Acme.app2/todolist")
        // The directory is outside the bundle, even if the file does not exist.
        try root.link("opt/Acme.app/bin", to: "../Acme.app2/none/..")
        try root.makeDirectory("opt/Acme.app2/none")
        #expect(try program(executable, inBundle: true) == nil)
        #expect(
            problems() == [
                "user/com.acme.app.app/Info.plist: CFBundleExecutable: "
                    + "is a link that leads out of the handler's directory; give an absolute path"
            ]
        )
    }

    @Test func infoPlistMustStayInItsBundle() throws {
        try root.write(try manifest("com.acme.app").encoded(), to: "opt/secret.plist")
        try root.link("user/Acme.app/Info.plist", to: "../../opt/secret.plist")
        #expect(problems() == ["user/Acme.app/Info.plist: is a link that leads out of the bundle"])
    }

    @Test func onlyFixedHandlersMayLackAProgram() throws {
        var list = manifest("com.acme.app", isFixed: true)
        list["CFBundleExecutable"] = nil
        try root.write(try list.encoded(), to: "user/com.acme.app.plist")
        let reason = "CFBundleExecutable: is missing; name the program here, or write a command as OUCommand"
        #expect(problems() == ["user/com.acme.app.plist: \(reason)"])

        try root.write(try list.encoded(), to: "two/com.acme.app.plist")
        let handler = try #require(load()[id("com.acme.app")])
        #expect(handler.kind == .freedesktop)
        #expect(handler.isFixed)
        #expect(handler.program == nil)
    }

    // MARK: Fixed schemes

    @Test func fixedSchemesRequireASystemDirectory() throws {
        try root.write(try manifest("com.acme.app", isFixed: true).encoded(), to: "user/com.acme.app.plist")
        #expect(problems() == ["user/com.acme.app.plist: OUFixed: is ignored outside the system's directories"])
        #expect(try load()[id("com.acme.app")]?.isFixed == false)
    }

    @Test func fixedSchemeCannotBeTakenOver() throws {
        let system = manifest("org.openurl.system.mail", schemes: ["mailto"], isFixed: true)
        try root.write(try system.encoded(), to: "two/org.openurl.system.mail.plist")
        try root.write(
            try manifest("com.acme.mail", schemes: ["acme", "MAILTO"]).encoded(),
            to: "user/com.acme.mail.plist"
        )
        try root.write(try manifest("com.acme.only", schemes: ["mailto"]).encoded(), to: "one/com.acme.only.plist")
        let reason = "mailto is a fixed scheme and stays with org.openurl.system.mail"
        #expect(
            problems() == [
                "user/com.acme.mail.plist: CFBundleURLTypes[0].CFBundleURLSchemes[1]: \(reason)",
                "one/com.acme.only.plist: CFBundleURLTypes[0].CFBundleURLSchemes[0]: \(reason)",
            ]
        )
        let registry = load()
        #expect(registry.diagnostics.allSatisfy { $0.severity == .warning })
        #expect(
            try registry.candidates(for: Scheme("mailto"), host: nil).map(\.claimant.id) == [
                "org.openurl.system.mail"
            ]
        )
        #expect(try registry[id("com.acme.mail")]?.schemes == [Scheme("acme")])
        #expect(try registry[id("com.acme.only")]?.schemes == [])
        #expect(registry.conflicts.isEmpty)
    }

    @Test func fixedHandlerCannotBeReplacedByItsID() throws {
        let system = manifest("com.acme.mail", schemes: ["mailto"], isFixed: true)
        try root.write(try system.encoded(), to: "two/com.acme.mail.plist")
        let thief = manifest("com.acme.mail", schemes: ["acme"])
        try root.write(try thief.encoded(), to: "user/com.acme.mail.plist")
        #expect(
            problems() == [
                "user/com.acme.mail.plist: CFBundleIdentifier: "
                    + "is com.acme.mail, a fixed system handler that cannot be replaced"
            ]
        )
        #expect(load().schemes.map(\.rawValue) == ["mailto"])
    }
}
