import DBus
import Desktop
import Glibc
import SchemeRegistry
import TestSupport
import Testing
import UserFiles

@testable import Doctor

/// The files of a user whose session works, in a directory of their own, and their examination.
///
/// The session has one handler, `com.example.note`, which claims the scheme `note` and is published to the desktop. A test
/// changes the files, and then looks at the findings.
final class ExaminedSession {
    let root: TemporaryDirectory
    /// The variables of the person who calls the doctor.
    var variables: [String: String]
    /// Why no file of the user can be written; nil if nothing is in the way.
    var obstacle: String?

    /// The user's directory of desktop entries.
    static let applications = "home/.local/share/applications"
    /// The directory of desktop entries of the system.
    static let systemApplications = "share/applications"
    /// The user's directory of registrations.
    static let handlers = "home/.local/share/openurl/handlers"
    /// The user's file of associations.
    static let associations = "home/.config/mimeapps.list"

    /// Creates the files.
    ///
    /// - Parameter hasHandler: whether the handler is registered and published.
    init(hasHandler: Bool = true) throws {
        root = try TemporaryDirectory()
        for directory in [
            Self.applications, Self.systemApplications, Self.handlers, "home/.config", "bin", "etc", "run", "share",
        ] {
            try root.makeDirectory(directory)
        }
        variables = [
            "HOME": "\(root.path)/home", "PATH": "\(root.path)/bin", "XDG_DATA_DIRS": "\(root.path)/share",
            "XDG_CONFIG_DIRS": "\(root.path)/etc", "XDG_RUNTIME_DIR": "\(root.path)/run", "OPENURL_ROUTER": "any",
        ]
        guard hasHandler else { return }
        try register("com.example.note")
        try publish()
    }

    /// The path of a file of the session.
    func path(_ name: String) -> String { "\(root.path)/\(name)" }

    // MARK: Files

    /// Writes a program that ends at once.
    @discardableResult
    func writeProgram(_ name: String, _ text: String = "#!/bin/sh\n", mode: mode_t = 0o755) throws -> String {
        let file = try root.makeParents(of: name)
        try TestSupport.writeProgram(text, to: file)
        try #require(chmod(file, mode) == 0)
        return file
    }

    /// Registers a handler, whose manifest is in a folder of the user.
    ///
    /// - Parameters:
    ///   - program: the program in the manifest; nil for a program that the method writes.
    ///   - command: the command in the place of the program; nil for none.
    ///   - hosts: the hosts of the schemes; nil for all.
    ///   - keys: more keys of the manifest.
    func register(
        _ id: String,
        schemes: [String] = ["note"],
        program: String? = nil,
        command: [String]? = nil,
        hosts: [String]? = nil,
        keys: String = ""
    ) throws {
        let program = try program ?? writeProgram("home/programs/\(id)")
        var text = Self.manifest(id, schemes: schemes, program: program, keys: keys)
        if let command {
            let words = command.map { "<string>\($0)</string>" }.joined()
            let key = "<key>CFBundleExecutable</key><string>\(program)</string>"
            text = text.replacing(key, with: "<key>OUCommand</key><array>\(words)</array>")
        }
        if let hosts {
            let list = hosts.map { "<string>\($0)</string>" }.joined()
            text = text.replacing(
                "</array></dict></array>",
                with: "</array><key>OUHosts</key><array>\(list)</array></dict></array>"
            )
        }
        let manifest = try root.write(text, to: "home/manifests/\(id).plist")
        try root.link("\(Self.handlers)/\(id).plist", to: manifest)
    }

    /// The text of a manifest.
    static func manifest(_ id: String, schemes: [String], program: String, keys: String = "") -> String {
        """
        <?xml version="1.0"?>
        <plist version="1.0"><dict>
        <key>CFBundleIdentifier</key><string>\(id)</string>
        <key>CFBundleExecutable</key><string>\(program)</string>
        <key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key>
        <array>\(schemes.map { "<string>\($0)</string>" }.joined())</array></dict></array>
        \(keys)
        </dict></plist>

        """
    }

    /// Writes the files of the handlers for the desktop, as the router does.
    func publish() throws {
        let files = files()
        let command = try writeProgram("bin/openurl")
        var publication = try #require(DesktopPublication(in: files.desktop, command: command))
        publication.publish(files.registry)
        try #require(publication.diagnostics.isEmpty)
    }

    /// Writes the entry of an application, and makes the cache of its directory again.
    ///
    /// - Parameters:
    ///   - command: the value of `Exec`; nil for a program that the method writes.
    ///   - lines: more lines of the entry.
    func writeEntry(
        _ id: String,
        in directory: String = applications,
        opening schemes: [String] = ["note"],
        command: String? = nil,
        _ lines: String...
    ) throws {
        let command = try command ?? "\(writeProgram("home/programs/\(id)")) %u"
        let types = schemes.map { "x-scheme-handler/\($0);" }.joined()
        let all =
            ["[Desktop Entry]", "Type=Application", "Name=\(id)", "Exec=\(command)"]
            + (types.isEmpty ? [] : ["MimeType=\(types)"]) + lines
        try root.write(all.map { "\($0)\n" }.joined(), to: "\(directory)/\(id).desktop")
        try rebuildCache(in: directory)
    }

    /// Makes the cache of a directory of entries again.
    func rebuildCache(in directory: String = applications) throws {
        var cache = MimeInfoCache(directory: path(directory))
        try cache.rebuild()
    }

    /// Writes lines into a file of associations, below the heading of the defaults.
    func choose(_ lines: String..., in file: String = associations) throws {
        try root.write("[Default Applications]\n" + lines.map { "\($0)\n" }.joined(), to: file)
    }

    /// Creates a socket, and returns its descriptor.
    func listen(at name: String) throws -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path(name).utf8) }
        let socket = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        let status = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0 && Glibc.listen(socket, 1) == 0)
        return socket
    }

    /// The text of a file.
    func text(_ name: String) throws -> String {
        String(decoding: try contents(ofFile: path(name), limit: 1 << 20, followingLinks: true), as: UTF8.self)
    }

    // MARK: The examination

    /// The files as the doctor finds them.
    func files(installation: InstalledFiles? = nil) -> ExaminedFiles {
        var files = ExaminedFiles(environment: variables, installation: installation)
        if let obstacle { files.obstacle = { _ in obstacle } }
        return files
    }

    /// The findings of an examination without a bus.
    ///
    /// - Parameters:
    ///   - topic: the argument of the command; nil for none.
    ///   - parts: the parts whose findings count.
    func findings(
        about topic: String? = nil,
        in parts: Set<Finding.Part> = [.handlers, .entries, .openers, .associations]
    ) throws -> [Finding] {
        let files = files()
        let about = try topic.map { try #require(Topic($0, files)) }
        let evidence = Evidence(files, .failure(.timedOut), topic: about, commandVersion: "")
        return Examination(of: evidence, probing: false).findings.all.filter { parts.contains($0.part) }
    }

    /// The warnings and failures of an examination without a bus, each as `LEVEL CHECK SUBJECT`.
    func faults(about topic: String? = nil) throws -> [String] {
        try findings(about: topic).filter(\.isFault).map(\.label)
    }
}

extension Finding {
    /// Whether a person has to do something.
    var isFault: Bool { level == .warn || level == .fail }

    /// The level, the check and the subject.
    var label: String { "\(level.rawValue) \(check) \(subject)" }
}

/// A change of a session's files, with a name for the list of tests.
struct FileChange: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let perform: @Sendable (ExaminedSession) throws -> Void

    init(_ name: String, _ perform: @escaping @Sendable (ExaminedSession) throws -> Void = { _ in }) {
        testDescription = name
        self.perform = perform
    }
}
