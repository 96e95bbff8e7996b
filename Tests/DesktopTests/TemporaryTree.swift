import FoundationEssentials
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Desktop

/// The directories of a desktop, which exist as long as their test.
final class TemporaryTree {
    /// The directory that contains the tree, with all links resolved.
    var path: String { directory.path }
    private let directory: TemporaryDirectory
    /// `PATH`, `HOME` and all variables of the base directories.
    var environment: [String: String]

    init() throws {
        directory = try TemporaryDirectory()
        environment = Self.environment(below: directory.path)
        try write("#!/bin/sh\n", to: "bin/installed", mode: 0o755)
    }

    static func environment(below path: String) -> [String: String] {
        [
            "HOME": path, "PATH": "\(path)/bin:/usr/bin:/bin",
            "XDG_CONFIG_HOME": "\(path)/config", "XDG_CONFIG_DIRS": "\(path)/etc1:\(path)/etc2",
            "XDG_DATA_HOME": "\(path)/home", "XDG_DATA_DIRS": "\(path)/data1:\(path)/data2",
        ]
    }

    var directories: DesktopDirectories { DesktopDirectories(environment: environment) }

    /// Writes a file and creates the directories above it.
    @discardableResult
    func write(_ text: String, to name: String, mode: mode_t = 0o644) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o644) throws -> String {
        try directory.write(bytes, to: name, mode: mode)
    }

    /// Writes an entry that claims types. The additional lines follow the standard keys.
    @discardableResult
    func writeEntry(_ name: String, claiming types: String = "", _ lines: String...) throws -> String {
        let text = """
            [Desktop Entry]
            Type=Application
            Name=\(name)
            Exec=installed %u
            MimeType=\(types)
            \(lines.joined(separator: "\n"))

            """
        return try write(text, to: name)
    }

    func makeParents(of name: String) throws -> String { try directory.makeParents(of: name) }

    /// Returns the text of a file in the tree.
    func read(_ name: String) throws -> String {
        String(decoding: try contents(ofFile: "\(path)/\(name)", limit: 1 << 28, followingLinks: true), as: UTF8.self)
    }

    /// Returns a diagnostic's text without the path of the tree.
    func text(_ diagnostic: Diagnostic) -> String {
        diagnostic.description.replacing("\(path)/", with: "")
    }
}

/// Runs a program and returns its output. Its errors go to the standard error of the tests.
func run(_ command: [String], environment: [String: String] = [:], succeeds: Bool = true) throws -> String {
    let quoted = (environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" } + command)
        .map { "'\($0.replacing("'", with: #"'\''"#))'" }
    let stream = try #require(popen("env -i PATH=/usr/bin:/bin \(quoted.joined(separator: " "))", "r"))
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&buffer, 1, buffer.count, stream)
        if count == 0 { break }
        output += buffer[..<count]
    }
    let status = pclose(stream)
    try #require((status == 0) == succeeds, "\(command) ended with \(status)")
    return String(decoding: output, as: UTF8.self)
}

extension SeededGenerator {
    /// Returns true in `percent` of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
