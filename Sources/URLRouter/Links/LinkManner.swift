internal import Desktop
internal import Links
internal import RFC1808

/// The way in which a browser opens a link, if it is not the usual one: with a profile, or in a private window.
///
/// It is a class in order to save memory: thousands of URLs may wait, and few of them have one.
final class LinkManner: Sendable {
    /// The command instead of the one of the desktop entry; nil for the usual way.
    let command: ExecCommand?
    /// The rule that has chosen the program, as `file:line`.
    let rule: String

    init(_ command: ExecCommand?, rule: String) {
        self.command = command
        self.rule = rule
    }
}

extension GenericURL {
    /// Returns the link that opens this one in a container of Firefox, with the add-on "Open external links in a
    /// container".
    func inContainer(_ name: String) -> GenericURL? {
        let text = "ext+container:name=\(name.utf8.percentEscaped)&url=\(description.utf8.percentEscaped)"
        do throws(ParseError) {
            return try GenericURL(text)
        } catch {
            return nil
        }
    }
}
