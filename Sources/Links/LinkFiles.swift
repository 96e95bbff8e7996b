package import Policy
package import UserFiles

/// The files of the rules for links: the user's own, and the administrator's.
///
/// The user's rules come first, because a rule for links is a preference. An administrator who has to forbid something
/// writes a policy, which decides after these rules. Reading and writing blocks.
package struct LinkFiles: RuleSource {
    package let files: RuleFiles

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

    /// Reads the rules once.
    package func read() -> (rules: LinkRules, diagnostics: [Diagnostic]) { rules(in: files.read(after: nil)) }

    /// Returns the rules. A problem in one file or line does not affect the rules in the others.
    package func rules(in texts: RuleTexts) -> (rules: LinkRules, diagnostics: [Diagnostic]) {
        var rules: [LinkRule] = []
        var diagnostics = texts.diagnostics
        func add(_ file: RuleTexts.File, isUsers: Bool) {
            switch file.text {
            case .success(let text):
                let (found, problems) = LinkText(text).rules(file: file.path, isUsers: isUsers)
                rules += found
                diagnostics += problems
            case .failure(let error):
                if isUsers, error.isAbsence { return }
                diagnostics.append(Diagnostic(severity: .error, file: file.path, reason: error.reason))
            }
        }
        if let file = texts.users { add(file, isUsers: true) }
        switch texts.administrators {
        case .success(let files): for file in files { add(file, isUsers: false) }
        case .failure(let error):
            let file = files.administratorsDirectory
            diagnostics.append(Diagnostic(severity: .error, file: file, reason: error.reason))
        case nil: break
        }
        return (LinkRules(rules), diagnostics)
    }

    /// Changes the user's file in one step. A file that cannot be used is not changed, and links are not followed.
    package func change(_ change: (inout LinkText) -> Void) throws(FileWriteError) {
        try files.change(advice: "remove rules from it") { before in
            var text = LinkText(before)
            change(&text)
            return text.text
        }
    }
}
