package import UserFiles

/// A policy's files: the administrator's, and the user's own.
///
/// A file that another user owns or may change, that is too large, or that cannot be read is reported as a diagnostic,
/// and counts as rules that allow nothing to sandboxes, other hosts and unknown programs, unless
/// ``RuleFiles/read(after:)`` still has its text. Reading and writing blocks.
package struct PolicyFiles: RuleSource {
    package let files: RuleFiles

    package init(administratorsDirectory: String = "/etc/openurl/policy.d", usersDirectory: String?) {
        files = RuleFiles(
            administratorsDirectory: administratorsDirectory,
            usersDirectory: usersDirectory,
            usersName: "policy.conf",
            maximumSize: PolicyText.maximumSize
        )
    }

    /// The files for a user: `/etc/openurl/policy.d/*.conf`, and `$XDG_CONFIG_HOME/openurl/policy.conf` or the same
    /// path below `$HOME/.config`.
    package init(environment: [String: String]) {
        let home = BaseDirectories(environment: environment).configurationHome
        self.init(usersDirectory: home.map { "\($0)/openurl" })
    }

    /// Returns the rules. A problem in one file or line does not affect the rules in the others.
    package func rules(in texts: RuleTexts) -> (rules: PolicyRules, diagnostics: [Diagnostic]) {
        var lines: [PolicyLine] = []
        var diagnostics = texts.diagnostics
        func add(_ file: RuleTexts.File, isUsers: Bool) {
            switch file.text {
            case .success(let text):
                // A line that is not UTF-8 becomes a separate diagnostic.
                let (rules, problems) = PolicyText(text).rules(file: file.path, isUsers: isUsers)
                lines += rules
                diagnostics += problems
            case .failure(let error):
                if isUsers, error.isAbsence { return }
                refuse(file.path, error, isUsers: isUsers)
            }
        }
        func refuse(_ file: String, _ error: FileError, isUsers: Bool) {
            diagnostics.append(Diagnostic(severity: .error, file: file, reason: error.reason))
            lines += PolicyLine.refusals(of: file, isUsers: isUsers)
        }
        switch texts.administrators {
        case .success(let files): for file in files { add(file, isUsers: false) }
        case .failure(let error): refuse(files.administratorsDirectory, error, isUsers: false)
        case nil: break
        }
        if let file = texts.users { add(file, isUsers: true) }
        return (PolicyRules(lines), diagnostics)
    }

    /// Changes the user's file in one step. A file that cannot be used is not changed, and links are not followed.
    package func change(_ change: (inout PolicyText) -> Void) throws(FileWriteError) {
        try files.change(advice: "remove rules with 'openurl policy reset'") { before in
            var text = PolicyText(before)
            let unchanged = text
            change(&text)
            return text == unchanged ? before : text.text
        }
    }
}
