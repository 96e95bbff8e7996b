internal import URLOpener

/// The colours of a terminal, or none if the person wants none.
struct TerminalStyle {
    let isColoured: Bool

    init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// The colours of standard output.
    init(_ invocation: Invocation) {
        let isDumb = invocation.environment("TERM") == "dumb"
        isColoured = invocation.output.isTerminal && !isDumb && invocation.environment("NO_COLOR") == nil
    }

    func dim(_ text: String) -> String { coloured(text, "2") }
    func good(_ text: String) -> String { coloured(text, "32") }
    func bad(_ text: String) -> String { coloured(text, "31") }
    func pending(_ text: String) -> String { coloured(text, "33") }
    func name(_ text: String) -> String { coloured(text, "36") }

    private func coloured(_ text: String, _ code: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
