internal import Policy
package import UserFiles

/// The files of the rules for links: the user's own, and the administrator's.
///
/// The user's rules come first, because a rule for links is a preference. An administrator who has to forbid something
/// writes a policy, which decides after these rules. All methods block.
package struct LinkFiles: Sendable {
    private let files: RuleFiles

    package init(administratorsDirectory: String = "/etc/openurl/links.d", usersDirectory: String?) {
        files = RuleFiles(
            administratorsDirectory: administratorsDirectory,
            usersDirectory: usersDirectory,
            usersName: "links.conf",
            maximumSize: LinkText.maximumSize
        )
    }

    /// The files for a user: `$XDG_CONFIG_HOME/openurl/links.conf` or the same path below `$HOME/.config`, and
    /// `/etc/openurl/links.d/*.conf`.
    package init(environment: [String: String]) {
        let home = BaseDirectories(environment: environment).configurationHome
        self.init(usersDirectory: home.map { "\($0)/openurl" })
    }

    /// Path of the user's file.
    var usersFile: String? { files.usersFile }

    /// The paths of the files that make up the rules.
    package var paths: Set<String> { files.paths }

    /// Reads the rules. A problem in one file or line does not affect the rules in the others.
    package func read() -> (rules: LinkRules, diagnostics: [Diagnostic]) {
        var rules: [LinkRule] = []
        var diagnostics: [Diagnostic] = []
        func add(_ file: String, isUsers: Bool) {
            do throws(FileError) {
                let (found, problems) = LinkText(try files.text(of: file)).rules(file: file, isUsers: isUsers)
                rules += found
                diagnostics += problems
            } catch {
                if isUsers, error.isAbsence { return }
                diagnostics.append(Diagnostic(severity: .error, file: file, reason: error.reason))
            }
        }
        if let usersFile { add(usersFile, isUsers: true) }
        do throws(FileError) {
            for file in try files.administratorsFiles(&diagnostics) { add(file, isUsers: false) }
        } catch {
            let file = files.administratorsDirectory
            diagnostics.append(Diagnostic(severity: .error, file: file, reason: error.reason))
        }
        return (LinkRules(rules), diagnostics)
    }

    /// Changes the user's file in one step. A file that ``read()`` would refuse is not changed, and links are not
    /// followed.
    package func change(_ change: (inout LinkText) -> Void) throws(FileWriteError) {
        try files.change(advice: "remove rules from it") { before in
            var text = LinkText(before)
            change(&text)
            return text.text
        }
    }
}
