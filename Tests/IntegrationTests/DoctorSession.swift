import Foundation
import PrivateBus
import TestSupport
import Testing

/// A session in which the bus starts the router, as in a real one, and in which lines of shell break things.
final class DoctorSession: Sendable {
    private let bus: PrivateBus

    /// A line of `openurl doctor --json`.
    struct Finding: Decodable, Hashable {
        let level: String
        let check: String
        let subject: String
        let message: String
        let file: String?
        let line: Int?
        let fix: String?

        var isFault: Bool { level == "warn" || level == "fail" }
    }

    /// Functions for the lines of shell. `$BIN` has the programs of the build.
    private static let prelude = #"""
        applications=$XDG_DATA_HOME/applications
        mimeapps=$XDG_CONFIG_HOME/mimeapps.list
        pipe=$HOME/pipe
        # The commands of the doctor may run it, in the place of a person's editor.
        export EDITOR="$HOME/editor"
        mkdir -p "$applications" "$HOME/manifests"
        [ -p "$pipe" ] || mkfifo "$pipe"

        # Writes a program that tells its arguments to `arrives`.
        program() { printf '#!/bin/sh\necho "$*" > "%s"\n' "$pipe" > "$1"; chmod +x "$1"; }

        # Writes a desktop entry: entry ID COMMAND [LINE ...]
        entry() {
            printf '[Desktop Entry]\nType=Application\nName=%s\nExec=%s\n' "$1" "$2" > "$applications/$1.desktop"
            file=$applications/$1.desktop
            shift 2
            for line; do echo "$line" >> "$file"; done
            update-desktop-database "$applications"
        }

        # Writes a manifest for the scheme "note": manifest ID PROGRAM
        manifest() {
            {
                echo '<?xml version="1.0"?><plist version="1.0"><dict>'
                echo "<key>CFBundleIdentifier</key><string>$1</string>"
                echo "<key>CFBundleExecutable</key><string>$2</string>"
                echo "<key>OUArguments</key><array><string>$1</string><string>$HOME/$1.log</string></array>"
                echo '<key>CFBundleURLTypes</key><array><dict>'
                echo '<key>CFBundleURLSchemes</key><array><string>note</string></array></dict></array></dict></plist>'
            } > "$HOME/manifests/$1.plist"
        }

        # Registers the test handler, or another program: register ID [PROGRAM]
        register() {
            manifest "$1" "${2:-$BIN/testhandler}"
            "$BIN/openurl" register "$HOME/manifests/$1.plist" > "$HOME/registered"
        }

        # Runs a command that opens note:1, and waits until the program of `program` has the URL.
        arrives() {
            timeout 60 "$@" > "$HOME/opened" 2>&1 &
            [ "$(timeout 60 head -n 1 "$pipe")" = note:1 ]
        }

        # Runs a command that opens note:1 and returns when a handler has it: handled ID COMMAND ...
        handled() {
            log=$HOME/$1.log
            shift
            timeout 60 "$@" > "$HOME/opened" && grep -q '^open note:1' "$log"
        }

        # Starts a program of the folder `Programs` that takes a name on the bus, and returns when it has the name.
        stand_in() {
            mkfifo "$HOME/ready"
            /usr/bin/python3 "$PROGRAMS/$1.py" "$HOME/ready" > "$HOME/stand-in.log" 2>&1 &
            timeout 60 head -n 1 "$HOME/ready" > "$HOME/is-ready"
        }
        """#

    init(startsRouter: Bool = true) async throws {
        bus = try await PrivateBus { directory in
            let handlers = directory.appending(path: "XDG_DATA_DIRS/openurl/handlers")
            try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
            let schemes = Self.project.appending(path: "Schemes")
            for name in try FileManager.default.contentsOfDirectory(atPath: schemes.path)
            where name.hasPrefix("org.openurl.system.") {
                let copy = handlers.appending(path: name)
                try FileManager.default.copyItem(at: schemes.appending(path: name), to: copy)
            }
            guard startsRouter else { return }
            let template = Self.project.appending(path: "Packaging/org.openurl.Router1.service.in")
            let service = try String(contentsOf: template, encoding: .utf8)
                .replacing("@BINDIR@", with: RouterProcess.products.path)
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            try Data(service.utf8).write(to: services.appending(path: "org.openurl.Router1.service"))
        }
    }

    private static let project = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    func stop() { bus.stop() }

    /// Runs lines of shell.
    func shell(_ script: String, _ variables: [String: String] = [:]) async throws -> CommandRun {
        let programs = Self.project.appending(path: "Tests/IntegrationTests/Programs").path
        var environment = bus.environment.merging(["BIN": RouterProcess.products.path, "PROGRAMS": programs]) { $1 }
        // The machine may have an openurl of its own.
        environment["PATH"] = "\(RouterProcess.products.path):\(environment["PATH"] ?? "")"
        environment.merge(variables) { $1 }
        let lines = Self.prelude + "\n" + script
        let start = try pythonProgram("close_descriptors")
        let command = ["timeout", "--signal=KILL", "120", "/usr/bin/python3", "-c", start, lines]
        return try await CommandRun(URL(filePath: "/usr/bin/env"), command, environment, in: bus.directory)
    }

    /// Runs `openurl doctor --json`, and returns its findings.
    ///
    /// - Parameter command: the path of the command, as shell reads it.
    func doctor(
        _ arguments: String,
        _ variables: [String: String] = [:],
        command: String = #""$BIN/openurl""#
    ) async throws -> [Finding] {
        let run = try await shell("\(command) doctor --json \(arguments)", variables)
        let findings = try JSONDecoder().decode([Finding].self, from: Data(run.output.utf8))
        #expect(run.status == (findings.contains { $0.level == "fail" } ? 1 : 0), "\(run.errors)")
        return findings
    }
}
