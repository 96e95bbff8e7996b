internal import ArgumentParser
internal import Translations
internal import URLOpener

struct Links: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: translated("Show the rules for links, and decide which links open in an app."),
        discussion: translated(
            """
            The rules in links.conf come first: they say which browser or application opens a link. Of the other https links, an app \
            gets those that its manifest claims, but only with a proof: your permission, an administrator who has installed the app, \
            or a file on the site that names the app. Every other link opens in the browser.
            """
        ),
        examples: [
            "openurl links",
            "openurl links allow example.com com.example.notes",
        ],
        subcommands: [
            LinksList.self, LinksProofs.self, LinksAllow.self, LinksRevoke.self, LinksReset.self, LinksAsk.self,
        ],
        defaultSubcommand: LinksList.self
    )
}

struct LinksList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the rules for links, and the browsers' profiles."),
        discussion: translated(
            """
            The rules say which browser or application opens a link, by its host and path, by the program that it comes from, \
            and by the time. They are in links.conf. What is wrong with them comes last. 'openurl explain URL' names the rule that decides.
            """
        ),
        examples: [
            "openurl links list",
            "openurl links --json",
        ]
    )

    @Flag(help: .init(translated("Print a JSON object.")))
    var json = false

    /// Replaces this process's program with the router's, which can read the files.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "links list")
        throw InstalledProgram.router.become(["--links"] + (json ? ["--json"] : []))
    }
}
