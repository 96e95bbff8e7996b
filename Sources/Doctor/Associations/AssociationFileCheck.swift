internal import Desktop
internal import Glibc
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the files that list the default applications.
struct AssociationFileCheck: Check {
    let evidence: Evidence

    /// The groups that an association file may have.
    private static let groups = ["Default Applications", "Added Associations", "Removed Associations"]

    private static let sizeLimit = 16 << 20

    func perform(_ findings: inout Findings) {
        let written = files.desktop.writtenAssociationFile
        for file in files.desktop.associationFiles where isUsers(file.path) {
            checkPlace(file.path, isWritten: file.path == written, &findings)
            checkContent(file, &findings)
        }
        findings.addSoundness(
            of: .associations,
            "mimeapps",
            "mimeapps.list",
            translated("names the defaults and has no problems")
        )
    }

    /// Returns whether a file is one of the user's own.
    private func isUsers(_ path: String) -> Bool {
        [files.desktop.configurationHome, files.desktop.userApplicationDirectory].compactMap(\.self).contains {
            parentDirectory(of: path) == $0
        }
    }

    /// Reports a link, and a file that cannot be written.
    private func checkPlace(_ path: String, isWritten: Bool, _ findings: inout Findings) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let name = names(onPath: path).last ?? path
        if status.st_mode & S_IFMT == S_IFLNK {
            let target = resolved(path)
            findings.add(
                .associations,
                .warn,
                "mimeapps-link",
                name,
                translated("is a link to \(target); some programs replace it with a file when they change a default"),
                file: path,
                fix: target == path
                    ? "rm \(quotedForShell(path))"
                    : "cp --remove-destination \(quotedForShell(target)) \(quotedForShell(path))"
            )
        }
        guard isWritten, stat(path, &status) == 0, status.st_mode & S_IWUSR == 0 || access(path, W_OK) != 0 else {
            return
        }
        findings.add(
            .associations,
            .warn,
            "mimeapps-read-only",
            name,
            translated("cannot be written, so no program can change a default"),
            file: path,
            fix: status.st_uid == geteuid()
                ? "chmod u+w \(quotedForShell(path))" : "sudo chown \(geteuid()) \(quotedForShell(path))"
        )
    }

    /// Reports lines and groups that are ignored, and lines for which GLib ignores the whole file.
    private func checkContent(_ file: AssociationFile, _ findings: inout Findings) {
        let name = names(onPath: file.path).last ?? file.path
        for diagnostic in files.associations.diagnostics where diagnostic.file == file.path {
            let key = diagnostic.key ?? ""
            let isMalformedLine = diagnostic.kind == .malformedLine
            let text = [diagnostic.key, diagnostic.reason].compactMap(\.self).joined(separator: " ")
            // `openurl default` writes one line for the scheme, and removes its other lines in the group.
            let prefix = "[\(Self.groups[0])] x-scheme-handler/"
            let scheme = key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : nil
            if let scheme, let topic, !topic.schemes.contains(where: { $0.rawValue == scheme }) { continue }
            let chosen = scheme.flatMap { files.associations.defaults(for: "x-scheme-handler/\($0)").first }
            let fix =
                if let scheme, let chosen {
                    "openurl default \(scheme) \(quotedForShell(identifier(of: chosen)))"
                } else if diagnostic.severity == .error, !isRegularFile(file.path) {
                    "mv \(quotedForShell(file.path)) \(quotedForShell(file.path + ".old"))"
                } else {
                    editing(file.path)
                }
            findings.add(
                .associations,
                diagnostic.severity == .error || isMalformedLine ? .fail : .warn,
                diagnostic.kind == .repetition ? "mimeapps-duplicate" : "mimeapps",
                name,
                isMalformedLine
                    ? translated("\(text), so GLib, and with it GNOME's programs, ignores the whole file") : text,
                file: file.path,
                fix: fix
            )
        }
        for group in groups(of: file.path) where !Self.groups.contains(group) && !group.hasPrefix("X-") {
            // A name with other characters could have a different meaning to sed.
            let isPlain = group.unicodeScalars.allSatisfy { isNameScalar($0) || $0 == " " }
            let heading = "^\\[\(group)\\]$"
            let script = "/\(heading)/,/^\\[/{/\(heading)/d;/^\\[/!d}"
            findings.add(
                .associations,
                .warn,
                "mimeapps-group",
                name,
                translated("has the group [\(group)], which does not belong in this file and is ignored"),
                file: file.path,
                fix: isPlain
                    ? "sed -i \(quotedForShell(script)) \(quotedForShell(file.path))" : editing(file.path)
            )
        }
    }

    /// Returns the name by which openurl knows an entry's program.
    private func identifier(of id: DesktopFileID) -> String { files.entries.entries[id]?.handler ?? id.rawValue }

    private func groups(of path: String) -> [String] {
        do throws(FileError) {
            let text = String(
                decoding: try contents(ofFile: path, limit: Self.sizeLimit, followingLinks: true),
                as: UTF8.self
            )
            return text.split(whereSeparator: \.isNewline).compactMap { line in
                guard line.first == "[", line.last == "]" else { return nil }
                return String(line.dropFirst().dropLast())
            }
        } catch {
            return []
        }
    }
}
