internal import ByteCoding
internal import Glibc
package import UserFiles

/// The files of one kind of rules: the administrator's, and the user's own.
///
/// A file counts only if nobody but the user and root can change it. All methods block.
package struct RuleFiles: Sendable {
    /// The directory with the administrator's files, which have the suffix `.conf` and are read in order of their
    /// names.
    package let administratorsDirectory: String
    /// The directory with the user's file; nil if the environment gives none.
    package let usersDirectory: String?
    /// The name of the user's file.
    package let usersName: String
    /// Maximum size of a file in bytes.
    package let maximumSize: Int

    private static let suffix = ".conf"
    /// Maximum number of the administrator's files.
    private static let maximumFiles = 64

    package init(administratorsDirectory: String, usersDirectory: String?, usersName: String, maximumSize: Int) {
        self.administratorsDirectory = administratorsDirectory
        self.usersDirectory = usersDirectory
        self.usersName = usersName
        self.maximumSize = maximumSize
    }

    /// Path of the user's file.
    package var usersFile: String? { usersDirectory.map { "\($0)/\(usersName)" } }

    /// The paths of all files.
    package var paths: Set<String> { Set([administratorsDirectory, usersFile].compactMap { $0 }) }

    // MARK: Reading

    /// Reads all files. Where a temporary error prevents this, the result has what was there before.
    ///
    /// - Parameter before: what was read the last time; nil if nothing was. A file with a temporary error that was not there
    ///   then counts as one that cannot be used.
    package func read(after before: RuleTexts?) -> RuleTexts {
        var texts = RuleTexts()
        do throws(FileError) {
            if let paths = try administratorsFiles(&texts.diagnostics) {
                texts.administrators = .success(paths.map { read($0, before, &texts) })
            }
        } catch {
            let known = error.isTemporary ? before?.administrators?.known : nil
            texts.administrators = known ?? .failure(error)
            texts.note(error, at: administratorsDirectory, isKnown: known != nil)
        }
        texts.users = usersFile.map { read($0, before, &texts) }
        return texts
    }

    private func read(_ path: String, _ before: RuleTexts?, _ texts: inout RuleTexts) -> RuleTexts.File {
        do throws(FileError) {
            return RuleTexts.File(path: path, text: .success(try text(of: path)))
        } catch {
            let known = error.isTemporary ? before?.text(of: path)?.known : nil
            texts.note(error, at: path, isKnown: known != nil)
            if path == usersFile { texts.isUsersStale = error.isTemporary }
            return RuleTexts.File(path: path, text: known ?? .failure(error))
        }
    }

    /// Returns the paths of the administrator's files; nil if their directory does not exist.
    private func administratorsFiles(_ diagnostics: inout [Diagnostic]) throws(FileError) -> [String]? {
        // With no descriptor left, opening the directory fails even if it does not exist.
        guard access(administratorsDirectory, F_OK) == 0 || errno != ENOENT,
            let names = try UserFiles.names(inDirectory: administratorsDirectory)
        else { return nil }
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

    /// Reads a file. Bytes that are not UTF-8 become replacement characters.
    private func text(of file: String) throws(FileError) -> String {
        String(decoding: try bytes(of: file), as: UTF8.self)
    }

    private func bytes(of file: String) throws(FileError) -> [UInt8] {
        var trust = TrustedPaths()
        try trust.check(file)
        guard try status(of: file, followingLinks: true).st_size <= maximumSize else {
            throw FileError("is larger than \(maximumSize) bytes; remove rules or comments from it")
        }
        let bytes = try contents(ofFile: file, limit: maximumSize, followingLinks: true)
        guard !String(decoding: bytes, as: UTF8.self).hasTooManyMarks else {
            throw FileError("has more than \(String.maximumMarks) combining marks in a row")
        }
        return bytes
    }

    // MARK: Writing

    /// Changes the user's file in one step. A file that cannot be read is not changed, and links are not followed.
    ///
    /// - Parameters:
    ///   - advice: the remedy if the file would become too large, in a clause.
    ///   - change: returns the file's new text.
    package func change(advice: String, _ change: (String) -> String) throws(FileWriteError) {
        guard let usersDirectory, let usersFile else {
            throw FileWriteError(usersName, "has no directory; set HOME or XDG_CONFIG_HOME")
        }
        do throws(FileError) {
            let directory = try PrivateDirectory(usersDirectory, isMade: true)
            let before = try isThere(usersFile) ? validText(of: usersFile) : ""
            let after = change(before)
            guard after != before else { return }
            let bytes = Array(after.utf8)
            guard bytes.count <= maximumSize else {
                throw FileError("would be larger than \(maximumSize) bytes; \(advice)")
            }
            try directory.replace(usersName, with: bytes, isDurable: true)
        } catch {
            throw FileWriteError(usersFile, error.reason)
        }
    }

    /// Reads a file that is about to be changed. Its other contents must be preserved, so bytes that are not UTF-8 are
    /// an error.
    private func validText(of file: String) throws(FileError) -> String {
        guard let text = String(validating: try bytes(of: file), as: UTF8.self) else { throw FileError("is not UTF-8") }
        return text
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
