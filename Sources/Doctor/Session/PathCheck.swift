internal import Translations
internal import UserFiles

/// Checks that PATH leads to the command that the user ran.
struct PathCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard bus != nil, let command = files.installation?.command else { return }
        guard let found = files.tool("openurl") else {
            return findings.add(.session, .ok, "path", "PATH", translated("has no openurl; the command is \(command)"))
        }
        let isSame = resolved(found) == resolved(command)
        if isSame { return findings.add(.session, .ok, "path", "PATH", translated("leads to \(found)")) }
        let directory = parentDirectory(of: command)
        findings.add(
            .session,
            .warn,
            "path",
            "PATH",
            translated("leads to \(found), not to \(command), which is the one that you ran"),
            file: found,
            fix: "export PATH=\(quotedForShell(directory)):\"$PATH\""
        )
    }
}
