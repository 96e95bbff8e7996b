package import UserFiles

/// A policy's files: the administrator's, and the user's own.
///
/// A file that another user owns or may change, that is too large, or that cannot be read is reported as a diagnostic,
/// and counts as rules that allow nothing to sandboxes, other hosts and unknown programs. All methods block.
package struct PolicyFiles: Sendable {
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

    /// Path of the user's file.
    package var usersFile: String? { files.usersFile }

    /// The paths of the files that make up the policy.
    package var paths: Set<String> { files.paths }

    /// Reads the rules. A problem in one file or line does not affect the rules in the others.
    package func read() -> (rules: PolicyRules, diagnostics: [Diagnostic]) {
        var lines: [PolicyLine] = []
        var diagnostics: [Diagnostic] = []
        func add(_ file: String, isUsers: Bool) {
            do throws(FileError) {
                // A line that is not UTF-8 becomes a separate diagnostic.
                let text = PolicyText(try files.text(of: file))
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
            for file in try files.administratorsFiles(&diagnostics) { add(file, isUsers: false) }
        } catch {
            refuse(files.administratorsDirectory, error, isUsers: false)
        }
        if let usersFile { add(usersFile, isUsers: true) }
        return (PolicyRules(lines), diagnostics)
    }

    /// Changes the user's file in one step. A file that ``read()`` would refuse is not changed, and links are not
    /// followed.
    package func change(_ change: (inout PolicyText) -> Void) throws(FileWriteError) {
        try files.change(advice: "remove rules with 'openurl policy reset'") { before in
            var text = PolicyText(before)
            let unchanged = text
            change(&text)
            return text == unchanged ? before : text.text
        }
    }
}
