internal import Glibc
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the manifests of the registered handlers.
struct ManifestFileCheck: Check {
    let evidence: Evidence

    private static let sizeLimit = 1 << 20

    func perform(_ findings: inout Findings) {
        let known = checkKeys(&findings)
        checkFiles(known, &findings)
    }

    /// Reports the keys in manifests that are ignored, such as misspelt ones.
    ///
    /// - Returns: the files and keys in the reports.
    private func checkKeys(_ findings: inout Findings) -> Set<[String?]> {
        var known: Set<[String?]> = []
        for handler in evidence.handlers where handler.scope == .user {
            let isBundle = handler.entry.hasSuffix(".app")
            let file = isBundle ? "\(handler.entry)/Info.plist" : handler.entry
            let diagnostics: [Diagnostic]
            do throws(FileError) {
                let bytes = try contents(ofFile: file, limit: Self.sizeLimit, followingLinks: true)
                diagnostics = ManifestCheck.findings(in: bytes, of: file)
            } catch {
                // The manifest was removed a moment ago.
                continue
            }
            for diagnostic in diagnostics {
                known.insert([file, diagnostic.key])
                let reason = [diagnostic.key, diagnostic.reason].compactMap(\.self).joined(separator: " ")
                findings.add(
                    .handlers,
                    .warn,
                    "manifest-key",
                    handler.id.rawValue,
                    reason,
                    file: file,
                    line: diagnostic.line,
                    fix: editing(file, line: diagnostic.line)
                )
            }
        }
        return known
    }

    /// Reports manifests that the registry could not read, and parts of manifests that it does not use.
    ///
    /// - Parameter known: files and keys that have already been reported.
    private func checkFiles(_ known: Set<[String?]>, _ findings: inout Findings) {
        let diagnostics = files.registry.diagnostics.filter {
            !isOtherIdentifier($0.file) && !known.contains([$0.file, $0.key])
        }
        for diagnostic in ManifestCheck.locating(diagnostics) {
            let subject = subject(of: diagnostic.file)
            let reason = [diagnostic.key, diagnostic.reason].compactMap(\.self).joined(separator: " ")
            guard diagnostic.severity == .error else {
                findings.add(
                    .handlers,
                    .warn,
                    "manifest",
                    subject,
                    reason,
                    file: diagnostic.file,
                    line: diagnostic.line,
                    fix: editing(diagnostic.file, line: diagnostic.line)
                )
                continue
            }
            if let target = lostTarget(ofLink: diagnostic.file) {
                findings.add(
                    .handlers,
                    .fail,
                    "lost-manifest",
                    subject,
                    RemovableMedia.withQuestion(
                        translated(
                            "has been moved or removed since it was registered; register it where it is now, or remove its link"
                        ),
                        aboutAbsenceOf: target
                    ),
                    file: diagnostic.file,
                    fix: "rm \(quotedForShell(diagnostic.file))",
                    repair: RemovableMedia.contain(target) ? nil : .link(path: diagnostic.file)
                )
            } else {
                findings.add(
                    .handlers,
                    .fail,
                    "manifest",
                    subject,
                    reason,
                    file: diagnostic.file,
                    line: diagnostic.line,
                    fix: repairing(diagnostic.file, line: diagnostic.line)
                )
            }
        }
    }

    /// Returns the target of a link in the user's directory if the target does not exist; nil for anything else.
    private func lostTarget(ofLink path: String) -> String? {
        guard let user = files.directories.user, parentDirectory(of: path) == user else { return nil }
        guard isLink(path), access(path, F_OK) != 0, errno == ENOENT else { return nil }
        do throws(FileError) {
            return try linkTarget(of: path)
        } catch {
            return nil
        }
    }

    private func isOtherIdentifier(_ file: String) -> Bool {
        guard let topic else { return false }
        guard let identifier = topic.identifier else { return false }
        return subject(of: file) != identifier
    }

    /// Returns the identifier after which a manifest is named.
    private func subject(of file: String) -> String {
        let names = names(onPath: file)
        let name = (names.last == "Info.plist" ? names.dropLast().last : names.last) ?? file
        return [".plist", ".app"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.utf8.count)) } ?? name
    }
}
