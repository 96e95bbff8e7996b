package import UserFiles

/// The texts of the files of one kind of rules, as ``RuleFiles/read(after:)`` found them.
package struct RuleTexts: Sendable {
    /// One of the files.
    package struct File: Sendable {
        /// The path of the file.
        package let path: String
        /// The text, or the reason why the file cannot be used.
        package let text: Result<String, FileError>
    }

    /// The administrator's files in the order of their names, or the reason why their directory cannot be used; nil if it
    /// does not exist.
    package internal(set) var administrators: Result<[File], FileError>?
    /// The user's file, even if it does not exist; nil if the environment gives no directory for it.
    package internal(set) var users: File?
    /// The problems that are not about the contents of one file.
    package internal(set) var diagnostics: [Diagnostic] = []
    /// Whether a temporary error prevented the reading of something, so the files have to be read again.
    package private(set) var isStale = false
    /// Whether a temporary error prevented the reading of the user's file.
    package internal(set) var isUsersStale = false

    /// Returns a file's text as it was read; nil if the file was not there.
    func text(of path: String) -> Result<String, FileError>? {
        if users?.path == path { return users?.text }
        guard case .success(let files) = administrators else { return nil }
        return files.first { $0.path == path }?.text
    }

    /// Notes an error if it is temporary.
    ///
    /// - Parameter isKnown: whether the rules that were read before stay in force.
    mutating func note(_ error: FileError, at path: String, isKnown: Bool) {
        if error.isTemporary { isStale = true }
        guard isKnown else { return }
        let reason = "\(error); until it can be read again, its earlier rules stay in force"
        diagnostics.append(Diagnostic(severity: .warning, file: path, reason: reason))
    }
}

extension Result where Failure == FileError {
    /// The same result; nil if it only says that nothing could be read for now, or that there was no file. If there is one
    /// by now, it may refuse something.
    var known: Self? {
        guard case .failure(let error) = self, error.isTemporary || error.isAbsence else { return self }
        return nil
    }
}
