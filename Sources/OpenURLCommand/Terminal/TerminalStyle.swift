internal import URLOpener

/// A terminal's colours, or no colours if the user wants none.
struct TerminalStyle {
    /// A colour's meaning. Its raw value is the number that makes a terminal show the colour.
    enum Meaning: String {
        case dim = "2"
        case bad = "31"
        case good = "32"
        case pending = "33"
        case name = "36"
    }

    let isColoured: Bool

    init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// The colours for standard output.
    init(_ invocation: Invocation) {
        let isDumb = invocation.environment("TERM") == "dumb"
        isColoured = invocation.output.isTerminal && !isDumb && invocation.environment("NO_COLOR") == nil
    }

    func dim(_ text: String) -> String { show(text, as: .dim) }
    func good(_ text: String) -> String { show(text, as: .good) }
    func bad(_ text: String) -> String { show(text, as: .bad) }
    func pending(_ text: String) -> String { show(text, as: .pending) }
    func name(_ text: String) -> String { show(text, as: .name) }

    /// Returns the text in the colour of the given meaning.
    func show(_ text: String, as meaning: Meaning?) -> String {
        guard isColoured, !text.isEmpty, let meaning else { return text }
        return "\u{1B}[\(meaning.rawValue)m\(text)\u{1B}[0m"
    }
}
