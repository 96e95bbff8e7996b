import FoundationEssentials
import Glibc
import Testing
import UserFiles

@testable import Desktop

/// The directories of a desktop, which exist as long as their test.
final class TemporaryTree {
    /// The directory that contains the tree, with all links resolved.
    let path: String
    /// `PATH`, `HOME` and all variables of the base directories.
    var environment: [String: String]

    init() throws {
        var template = Array("/tmp/desktop.XXXXXX\0".utf8CString)
        let made = try #require(mkdtemp(&template))
        let resolved = try #require(realpath(made, nil))
        defer { free(resolved) }
        path = String(cString: resolved)
        environment = Self.environment(below: path)
        try write("#!/bin/sh\n", to: "bin/installed", mode: 0o755)
    }

    static func environment(below path: String) -> [String: String] {
        [
            "HOME": path, "PATH": "\(path)/bin:/usr/bin:/bin",
            "XDG_CONFIG_HOME": "\(path)/config", "XDG_CONFIG_DIRS": "\(path)/etc1:\(path)/etc2",
            "XDG_DATA_HOME": "\(path)/home", "XDG_DATA_DIRS": "\(path)/data1:\(path)/data2",
        ]
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Issue.record(error)
        }
    }

    var directories: DesktopDirectories { DesktopDirectories(environment: environment) }

    /// Writes a file and creates the directories above it.
    @discardableResult
    func write(_ text: String, to name: String, mode: mode_t = 0o644) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o644) throws -> String {
        let file = try makeParents(of: name)
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            try #require(count > 0)
            rest = rest.dropFirst(count)
        }
        return file
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

    func makeParents(of name: String) throws -> String {
        let file = "\(path)/\(name)"
        let directory = file.split(separator: "/").dropLast().joined(separator: "/")
        try FileManager.default.createDirectory(atPath: "/\(directory)", withIntermediateDirectories: true)
        return file
    }

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

/// Random numbers that a seed determines (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns true in `percent` of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
