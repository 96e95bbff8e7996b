internal import Desktop
internal import LinkSettings
internal import Links
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the rules for links, and that openurl still gets the links if the user has chosen so.
struct LinkCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        guard topic?.schemes.contains(where: { AllLinks.schemes.contains($0.rawValue) }) != false else { return }
        let links = AllLinks(environment: environment)
        if links.isChosen {
            for (scheme, entry) in links.current.sorted(by: { $0.key < $1.key }) where entry != AllLinks.entry {
                findings.add(
                    .associations,
                    .warn,
                    "links-taken",
                    "\(scheme):",
                    translated(
                        """
                        goes to \(entry), although you chose openurl for all links; if that is right, run \
                        'openurl default --all-links --undo'
                        """
                    ),
                    file: files.desktop.writtenAssociationFile,
                    fix: "openurl default --all-links"
                )
            }
        }
        let chooser = files.installation?.chooser
        for problem in LinkOverview(environment: environment, registry: files.registry, chooser: chooser).problems {
            findings.add(
                .associations,
                .warn,
                "link-rule",
                names(onPath: problem.file).last ?? problem.file,
                problem.problem,
                file: problem.file,
                line: problem.line,
                fix: editing(problem.file)
            )
        }
    }
}
