import Foundation
import Testing

@testable import RouterDaemon

/// The publication of a system's handlers without a router.
final class SystemPublicationTests {
    private let root = FileManager.default.temporaryDirectory.appending(path: "publication-\(UUID().uuidString)")
        .resolvingSymlinksInPath()

    init() throws {
        for name in ["openurl", "openurld"] { try write("", to: "usr/bin/\(name)", mode: 0o755) }
        try writeManifest("com.example.app", opening: "app")
    }

    deinit {
        do {
            try FileManager.default.removeItem(at: root)
        } catch {
            Issue.record(error)
        }
    }

    private var installation: Installation { Installation(program: root.appending(path: "usr/bin/openurld").path) }

    private func write(_ text: String, to name: String, mode: Int = 0o644) throws {
        let file = root.appending(path: name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    private func writeManifest(_ id: String, opening scheme: String, isFixed: Bool = false) throws {
        let list: [String: Any] = [
            "CFBundleIdentifier": id, "CFBundleExecutable": "/usr/bin/app", "OUFixed": isFixed,
            "CFBundleURLTypes": [["CFBundleURLSchemes": [scheme]]],
        ]
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
        try write(String(decoding: data, as: UTF8.self), to: "usr/share/openurl/handlers/\(id).plist")
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOf: root.appending(path: "usr/share/\(name)"), encoding: .utf8)
    }

    /// Returns the published files, with their modes.
    private func files() throws -> [String: Int] {
        var files: [String: Int] = [:]
        for directory in ["applications", "dbus-1", "dbus-1/services"] {
            let path = root.appending(path: "usr/share/\(directory)")
            guard FileManager.default.fileExists(atPath: path.path) else { continue }
            files[directory] = try mode(path)
            for name in try FileManager.default.contentsOfDirectory(atPath: path.path) where name.contains(".") {
                files[name] = try mode(path.appending(path: name))
            }
        }
        return files
    }

    private func mode(_ file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    /// Publishes the handlers of `usr/share`.
    private func publish(_ arguments: String...) throws -> [String] {
        let publication = try #require(SystemPublication(["\(root.path)/usr/share"] + arguments))
        let (problems, isDone) = publication.perform(with: installation)
        #expect(isDone)
        return problems.map { $0.replacing("\(root.path)/", with: "") }
    }

    /// Publishes the handlers of a package that is built below `root`.
    private func publishPackage() throws -> Bool {
        let publication = try #require(SystemPublication(["/usr/share", "--root", root.path]))
        let (problems, isDone) = publication.perform(with: installation)
        #expect(problems == [])
        return isDone
    }

    @Test func handlersGetFilesThatAllUsersCanRead() throws {
        #expect(try publish() == [])
        #expect(
            try files() == [
                "applications": 0o755, "dbus-1": 0o755, "dbus-1/services": 0o755, "com.example.app.desktop": 0o644,
                "com.example.app.service": 0o644, "mimeinfo.cache": 0o644,
            ]
        )
        let entry = try read("applications/com.example.app.desktop")
        #expect(entry.contains("Exec=\(root.path)/usr/bin/openurl "), "\(entry)")
        #expect(entry.contains("X-OpenURL-Handler=com.example.app\n"), "\(entry)")
        #expect(try read("applications/mimeinfo.cache").contains("x-scheme-handler/app=com.example.app.desktop;\n"))
    }

    /// The cache belongs to no package: the package manager makes the cache when it installs the package.
    @Test func packageContainsFinalPathsAndNoCache() throws {
        #expect(try publishPackage())
        #expect(try files().keys.contains("mimeinfo.cache") == false)
        let entry = try read("applications/com.example.app.desktop")
        #expect(entry.contains("Exec=/usr/bin/openurl "), "\(entry)")
        #expect(!entry.contains(root.path))
        let service = try read("dbus-1/services/com.example.app.service")
        #expect(service.contains("Exec=/usr/bin/openurl activate --background com.example.app\n"), "\(service)")
        // The program that starts the entries does not exist on the machine that builds the package.
        #expect(try publishPackage())
        #expect(try read("applications/com.example.app.desktop") == entry)
    }

    @Test func iconOfABundleHasItsFinalPath() throws {
        let list: [String: Any] = [
            "CFBundleIdentifier": "com.example.bundle", "CFBundleExecutable": "/usr/bin/app",
            "CFBundleIconFile": "icon",
            "CFBundleURLTypes": [["CFBundleURLSchemes": ["bundle"]]],
        ]
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
        let bundle = "usr/share/openurl/handlers/Bundle.app"
        try write(String(decoding: data, as: UTF8.self), to: "\(bundle)/Info.plist")
        try write("", to: "\(bundle)/icon.png")
        #expect(try publishPackage())
        let entry = try read("applications/com.example.bundle.desktop")
        #expect(entry.contains("Icon=/\(bundle)/icon.png\n"), "\(entry)")
    }

    @Test func filesOfAHandlerThatIsGoneAreRemoved() throws {
        try writeManifest("com.example.other", opening: "other")
        #expect(try publish() == [])
        try FileManager.default.removeItem(at: root.appending(path: "usr/share/openurl/handlers/com.example.app.plist"))
        #expect(try publish() == [])
        #expect(
            try Set(files().keys.filter { $0.contains(".") }) == [
                "com.example.other.desktop", "com.example.other.service", "mimeinfo.cache",
            ]
        )
        #expect(
            try read("applications/mimeinfo.cache")
                == "[MIME Cache]\nx-scheme-handler/other=com.example.other.desktop;\n"
        )
    }

    @Test func removalLeavesTheFilesOfOtherPrograms() throws {
        try write("[Desktop Entry]\nType=Application\nName=x\nExec=true\n", to: "usr/share/applications/x.desktop")
        #expect(try publish() == [])
        #expect(try publish("--remove") == [])
        #expect(try Set(files().keys.filter { $0.contains(".") }) == ["mimeinfo.cache", "x.desktop"])
        #expect(try read("applications/mimeinfo.cache") == "[MIME Cache]\n")
    }

    /// A manifest of a package must not make the installation of another package fail.
    @Test func brokenManifestAndForeignEntryAreReported() throws {
        let foreign = "[Desktop Entry]\nType=Application\nName=x\nExec=true\n"
        try write(foreign, to: "usr/share/applications/com.example.app.desktop")
        try write("", to: "usr/share/openurl/handlers/com.example.broken.plist")
        let problems = try publish()
        #expect(problems.count == 2, "\(problems)")
        #expect(
            problems.first?.hasPrefix("usr/share/openurl/handlers/com.example.broken.plist: ") == true,
            "\(problems)"
        )
        #expect(problems.last?.contains("was not written for com.example.app") == true, "\(problems)")
        #expect(try read("applications/com.example.app.desktop") == foreign)
    }

    /// A package of another program may have left a link behind.
    @Test func linkThatLeadsNowhereIsReported() throws {
        try FileManager.default.createDirectory(
            at: root.appending(path: "usr/share/applications"),
            withIntermediateDirectories: true
        )
        let link = root.appending(path: "usr/share/applications/com.example.app.desktop").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nonexistent/entry")
        let problems = try publish()
        #expect(problems.count == 1 && problems[0].contains("was not written for com.example.app"), "\(problems)")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "/nonexistent/entry")
    }

    /// Without the manifests, the entries of all handlers would look like those of handlers that are gone.
    @Test func handlersThatCannotBeReadKeepTheirFiles() throws {
        #expect(try publish() == [])
        let handlers = root.appending(path: "usr/share/openurl/handlers")
        try FileManager.default.removeItem(at: handlers)
        try write("", to: "usr/share/openurl/handlers")
        let publication = try #require(SystemPublication(["\(root.path)/usr/share"]))
        let (problems, isDone) = publication.perform(with: installation)
        #expect(!isDone)
        #expect(problems.count == 1, "\(problems)")
        #expect(try files().keys.contains("com.example.app.desktop"))
    }

    @Test func directoryThatDoesNotExistIsAFailure() throws {
        let publication = try #require(SystemPublication(["\(root.path)/usr/shar"]))
        let (problems, isDone) = publication.perform(with: installation)
        #expect(!isDone)
        #expect(problems.first?.contains("usr/shar: does not exist") == true, "\(problems)")
    }

    /// A link in a package would lead to the system on which the package is built.
    @Test(arguments: ["applications", "dbus-1"]) func linkOutOfTheRootIsNotFollowed(_ name: String) throws {
        let outside = FileManager.default.temporaryDirectory.appending(path: "outside-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            at: root.appending(path: "usr/share/\(name)"),
            withDestinationURL: outside
        )
        let publication = try #require(SystemPublication(["/usr/share", "--root", root.path]))
        #expect(!publication.perform(with: installation).isDone)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == [])
        try FileManager.default.removeItem(at: outside)
    }

    @Test func fileThatCannotBeWrittenIsAFailure() throws {
        try write("", to: "usr/share/applications")
        let publication = try #require(SystemPublication(["\(root.path)/usr/share"]))
        let (problems, isDone) = publication.perform(with: installation)
        #expect(!isDone)
        #expect(problems.count == 1, "\(problems)")
    }

    /// The manifests of the installation decide about the schemes of the system.
    @Test func schemeOfTheSystemIsNotPublishedForAnotherHandler() throws {
        try writeManifest("com.example.fixed", opening: "app", isFixed: true)
        let handlers = root.appending(path: "opt/share/openurl/handlers")
        try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
        let name = "com.example.app.plist"
        try FileManager.default.moveItem(
            at: root.appending(path: "usr/share/openurl/handlers/\(name)"),
            to: handlers.appending(path: name)
        )
        let publication = try #require(SystemPublication(["\(root.path)/opt/share"]))
        #expect(publication.perform(with: installation).isDone)
        let applications = try FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: "opt/share/applications").path
        )
        #expect(applications == [])
    }
}
