internal import ByteCoding
internal import Glibc
package import UserFiles

/// A policy's files: the administrator's, and the user's own.
///
/// A file that another user owns or may change, that is too large, or that cannot be read is reported as a diagnostic,
/// and counts as rules that allow nothing to sandboxes, other hosts and unknown programs. All methods block.
package struct PolicyFiles: Sendable {
    /// The directory with the administrator's files, which have the suffix `.conf` and are read in order of their
    /// names.
    package let administratorsDirectory: String
    /// The directory with the user's file; nil if the environment gives none.
    package let usersDirectory: String?

    private static let suffix = ".conf"
    private static let usersName = "policy.conf"
    /// Maximum number of the administrator's files.
    private static let maximumFiles = 64

    package init(administratorsDirectory: String = "/etc/openurl/policy.d", usersDirectory: String?) {
        self.administratorsDirectory = administratorsDirectory
        self.usersDirectory = usersDirectory
    }

    /// The files for a user: `/etc/openurl/policy.d/*.conf`, and `$XDG_CONFIG_HOME/openurl/policy.conf` or the same
    /// path below `$HOME/.config`.
    package init(environment: [String: String]) {
        let home = BaseDirectories(environment: environment).configurationHome
        self.init(usersDirectory: home.map { "\($0)/openurl" })
    }

    /// Path of the user's file.
    package var usersFile: String? { usersDirectory.map { "\($0)/\(Self.usersName)" } }

    /// The paths of the files that make up the policy.
    package var paths: Set<String> { Set([administratorsDirectory, usersFile].compactMap { $0 }) }

    // MARK: Reading

    /// Reads the rules. A problem in one file or line does not affect the rules in the others.
    package func read() -> (rules: PolicyRules, diagnostics: [Diagnostic]) {
        var lines: [PolicyLine] = []
        var diagnostics: [Diagnostic] = []
        func add(_ file: String, isUsers: Bool) {
            do throws(FileError) {
                // A line that is not UTF-8 becomes a separate diagnostic.
                let text = PolicyText(String(decoding: try Self.bytes(of: file), as: UTF8.self))
                let (rules, problems) = text.rules(file: file, isUsers: isUsers)
                lines += rules
                diagnostics += problems
            } catch {
                if isUsers, error.isAbsence { return }
                refuse(file, error, isUsers: isUsers)
            }
        }
        func refuse(_ file: String, _ error: FileError, isUsers: Bool) {
            diagnostics.append(Diagnostic(severity: .error, file: file, reason: error.reason))
            lines += PolicyLine.refusals(of: file, isUsers: isUsers)
        }
        do throws(FileError) {
            for file in try administratorsFiles(&diagnostics) { add(file, isUsers: false) }
        } catch {
            refuse(administratorsDirectory, error, isUsers: false)
        }
        if let usersFile { add(usersFile, isUsers: true) }
        return (PolicyRules(lines), diagnostics)
    }

    private func administratorsFiles(_ diagnostics: inout [Diagnostic]) throws(FileError) -> [String] {
        let names = try UserFiles.names(inDirectory: administratorsDirectory) ?? []
        let files = names.compactMap { String(validating: $0, as: UTF8.self) }.filter { $0.hasSuffix(Self.suffix) }
        if files.count > Self.maximumFiles {
            diagnostics.append(
                Diagnostic(
                    severity: .warning,
                    file: administratorsDirectory,
                    reason: "has \(files.count) files; the first \(Self.maximumFiles) are used"
                )
            )
        }
        return files.prefix(Self.maximumFiles).map { "\(administratorsDirectory)/\($0)" }
    }

    private static func bytes(of file: String) throws(FileError) -> [UInt8] {
        var trust = TrustedPaths()
        try trust.check(file)
        guard try status(of: file, followingLinks: true).st_size <= PolicyText.maximumSize else {
            throw FileError("is larger than \(PolicyText.maximumSize) bytes; remove rules or comments from it")
        }
        let bytes = try contents(ofFile: file, limit: PolicyText.maximumSize, followingLinks: true)
        guard !String(decoding: bytes, as: UTF8.self).hasTooManyMarks else {
            throw FileError("has more than \(String.maximumMarks) combining marks in a row")
        }
        return bytes
    }

    /// Reads a file that is about to be changed. Its other contents must be preserved, so bytes that are not UTF-8 are
    /// an error.
    private static func text(of file: String) throws(FileError) -> PolicyText {
        guard let text = String(validating: try bytes(of: file), as: UTF8.self) else { throw FileError("is not UTF-8") }
        return PolicyText(text)
    }

    // MARK: Writing

    /// Changes the user's file in one step. A file that ``read()`` would refuse is not changed, and links are not
    /// followed.
    package func change(_ change: (inout PolicyText) -> Void) throws(FileWriteError) {
        guard let usersDirectory, let usersFile else {
            throw FileWriteError(Self.usersName, "has no directory; set HOME or XDG_CONFIG_HOME")
        }
        do throws(FileError) {
            let directory = try PrivateDirectory(usersDirectory, isMade: true)
            var text = try isThere(usersFile) ? Self.text(of: usersFile) : PolicyText()
            let before = text
            change(&text)
            guard text != before else { return }
            let bytes = Array(text.text.utf8)
            guard bytes.count <= PolicyText.maximumSize else {
                throw FileError(
                    "would be larger than \(PolicyText.maximumSize) bytes; remove rules with 'openurl policy reset'"
                )
            }
            try directory.replace(Self.usersName, with: bytes)
        } catch {
            throw FileWriteError(usersFile, error.reason)
        }
    }

    private func isThere(_ file: String) throws(FileError) -> Bool {
        do throws(FileError) {
            let found = try status(of: file, followingLinks: false)
            guard found.st_mode & S_IFMT == S_IFREG else {
                throw FileError("is \(fileTypeName(found)); change the rules in the file that it leads to")
            }
            return true
        } catch {
            guard error.isAbsence else { throw error }
            return false
        }
    }
}
