import Foundation
import Testing

/// The programs with a catalogue of translations, in a directory of their own.
///
/// The locale is a copy of C.UTF-8, so that the machine needs no others.
struct TranslatedInstallation {
    private let prefix: URL
    private let language: String

    /// Installs the programs and a catalogue: a translation of the project, or `xx`, in which no letter is ASCII.
    private init(_ language: String) async throws {
        self.language = language
        // A program is found by its directory, so it is a link to the built one, which must be on the same file system.
        prefix = product("openurl").deletingLastPathComponent().appending(path: "translated-\(UUID().uuidString)")
        let programs = prefix.appending(path: "bin")
        let messages = prefix.appending(path: "share/locale/\(language)/LC_MESSAGES")
        for directory in [programs, messages] { try directory.createDirectory() }
        for name in ["openurl", "openurl-command", "openurld"] {
            try FileManager.default.linkItem(at: product(name), to: programs.appending(path: name))
        }
        let locale = prefix.appending(path: "locales/\(language)_XX.UTF-8")
        try locale.deletingLastPathComponent().createDirectory()
        try FileManager.default.copyItem(at: URL(filePath: "/usr/lib/locale/C.utf8"), to: locale)
        // This file is in Tests/CLITests.
        let clone = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let line = #"""
            file="$clone/Packaging/po/$language.po"
            if [ "$language" = xx ]; then file="$messages.po"; "$clone/.ci/translations.py" --pseudo "$file"; fi
            msgfmt --check-format -o "$messages/openurl.mo" "$file"
            """#
        let variables = ["clone": clone, "language": language, "messages": messages.path]
        let run = try await shell("set -e\n\(line)", environment: environment(variables))
        try #require(run.status == 0, "\(run.errors)")
    }

    /// Runs a test with a new installation.
    static func with(_ language: String, _ body: (TranslatedInstallation) async throws -> Void) async throws {
        let installation = try await TranslatedInstallation(language)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: installation.prefix) } }
        try await body(installation)
    }

    /// Runs the installation's `openurl`.
    ///
    /// - Parameter isOnTerminal: whether its output is a terminal, which then has standard error too.
    func openurl(
        _ arguments: [String],
        isOnTerminal: Bool = false,
        environment: [String: String] = noBus
    ) async throws -> CommandRun {
        let variables = [
            "LOCPATH": prefix.appending(path: "locales").path, "LC_ALL": "\(language)_XX.UTF-8", "LANGUAGE": "",
            "program": prefix.appending(path: "bin/openurl").path,
        ]
        let words = arguments.map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        let line = isOnTerminal ? "stty cols 300; $program \(words)" : "exec \"$program\" \(words)"
        let run = try await shell(
            isOnTerminal ? "exec script --quiet --return --command \"$line\" /dev/null" : line,
            environment: environment.merging(variables) { $1 }.merging(["line": line]) { $1 }
        )
        return CommandRun(status: run.status, output: run.output.replacing("\r\n", with: "\n"), errors: run.errors)
    }
}
