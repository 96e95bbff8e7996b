import Desktop
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

extension TemporaryDirectory {
    /// The desktop's directories below this directory. `home` belongs to the user; `data1` and `data2` follow.
    func desktop(languages: String = "C") -> DesktopDirectories {
        DesktopDirectories(environment: [
            "HOME": path, "PATH": "\(path)/bin:/usr/bin:/bin", "LANG": languages,
            "XDG_CONFIG_HOME": "\(path)/config", "XDG_CONFIG_DIRS": "\(path)/etc",
            "XDG_DATA_HOME": "\(path)/home", "XDG_DATA_DIRS": "\(path)/data1:\(path)/data2",
        ])
    }

    /// Writes a program. An entry counts as installed only if its program exists.
    @discardableResult
    func writeProgram(_ name: String) throws -> String {
        let file = try write("#!/bin/sh\n", to: name)
        try #require(chmod(file, 0o755) == 0)
        return file
    }

    /// Writes the entry of an application. The additional lines follow the standard keys.
    @discardableResult
    func writeEntry(
        _ name: String,
        opening schemes: [String],
        command: String = "true %u",
        _ lines: String...
    ) throws -> String {
        let types = schemes.map { "x-scheme-handler/\($0);" }.joined()
        let entry = ["[Desktop Entry]", "Type=Application", "Name=\(name)", "Exec=\(command)", "MimeType=\(types)"]
        return try write((entry + lines).map { "\($0)\n" }.joined(), to: name)
    }

    /// Returns the text of a file, or `nil` if the file does not exist.
    func read(_ name: String) throws -> String? {
        do throws(FileError) {
            return String(decoding: try contents(ofFile: "\(path)/\(name)", limit: 1 << 20), as: UTF8.self)
        } catch {
            guard error == FileError(code: ENOENT) else { throw error }
            return nil
        }
    }
}

extension Handler {
    /// Returns a handler that claims schemes for all hosts or for the given hosts.
    static func test(
        _ id: String,
        opening schemes: [String] = ["todolist"],
        hosts: [String]? = nil,
        program: Program? = .nameOnPath("x"),
        isFixed: Bool = false,
        scope: RegistryDirectories.Scope? = nil,
        precedence: Int = 0,
        date: Int64 = 0,
        _ change: (inout HandlerManifest) throws -> Void = { _ in }
    ) throws -> Handler {
        var manifest = HandlerManifest(identifier: try BundleIdentifier(id), executable: .name("x"))
        manifest.urlTypes = [
            URLType(schemes: try schemes.map { try Scheme($0) }, hosts: try hosts?.map { try HostPattern($0) })
        ]
        manifest.isFixed = isFixed
        try change(&manifest)
        return Handler(
            manifest: manifest,
            path: "/\(precedence)/\(id).plist",
            entry: "/\(precedence)/\(id).plist",
            program: program,
            scope: scope ?? (isFixed ? .system : .user),
            precedence: precedence,
            registrationDate: RegistrationDate(nanoseconds: date)
        )
    }
}

/// Returns the contents of an association file with the choices of the user or the system.
func associations(
    defaults: KeyValuePairs<String, String> = [:],
    added: KeyValuePairs<String, String> = [:],
    removed: KeyValuePairs<String, String> = [:]
) -> String {
    let groups = [("Default Applications", defaults), ("Added Associations", added), ("Removed Associations", removed)]
    return groups.map { name, lines in
        "[\(name)]\n" + lines.map { "x-scheme-handler/\($0)=\($1)\n" }.joined()
    }.joined()
}

/// Returns the ID of a desktop file with a valid name.
func desktopFile(_ name: String) throws -> DesktopFileID {
    try #require(DesktopFileID(rawValue: name))
}

/// Returns a MIME type with a valid name.
func mimeType(_ text: String) throws -> MimeType {
    try #require(MimeType(text))
}
