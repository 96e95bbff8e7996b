internal import ArgumentParser
internal import Translations
internal import URLOpener

struct Links: Command {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: translated("List the rules for links, and the browsers' profiles."),
        discussion: translated(
            """
            The rules say which browser or application opens a link, by its host and path, by the program that it comes from, \
            and by the time. They are in links.conf. What is wrong with them comes last. 'openurl explain URL' names the rule that decides.
            """
        ),
        examples: [
            "openurl links",
            "openurl links --json",
        ]
    )

    @Flag(help: .init(translated("Print a JSON object.")))
    var json = false

    /// Replaces this process's program with the router's, which can read the files.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        throw InstalledProgram.router.become(["--links"] + (json ? ["--json"] : []))
    }
}
