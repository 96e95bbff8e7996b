internal import ByteCoding
internal import UserFiles

/// The program in which a rule opens a link.
package struct LinkTarget: Sendable, Hashable, CustomStringConvertible {
    /// A kind of program.
    package enum Program: Sendable, Hashable {
        /// The desktop's default browser.
        case browser
        /// The one that the person chooses.
        case chooser
        /// The application or handler with this name.
        case named(String)
    }

    package var program: Program
    /// The name or the directory of a browser's profile; nil for the usual one.
    package var profile: String?
    /// The name of a Firefox container; nil for none.
    package var container: String?
    /// Whether the browser opens a private window.
    package var isPrivate = false

    package init(_ program: Program) {
        self.program = program
    }

    static let browserWord = "browser"
    static let chooserWord = "chooser"
    static let profileOption = "--profile"
    static let containerOption = "--container"
    static let privateOption = "--private"

    /// Maximum length of a name, in bytes.
    static let maximumLength = 255

    /// Reads the program's name.
    init(named text: String) throws(LinkSyntaxError) {
        switch text {
        case Self.browserWord: program = .browser
        case Self.chooserWord: program = .chooser
        default:
            guard !text.hasPrefix("-"), !text.contains("/"), LinkTarget.isName(text) else {
                throw LinkSyntaxError(
                    "'\(printable(text))' is not a program: write the name of a desktop entry such as firefox, browser, or "
                        + "chooser"
                )
            }
            program = .named(text)
        }
    }

    /// Returns whether a rule can contain the name.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumLength && !text.hasTooManyMarks
            && !text.unicodeScalars.contains { isMisleading($0) || $0 == "\"" || $0 == "\u{FEFF}" }
    }

    /// Returns a name as it is written in a rule.
    package static func quoted(_ name: String) -> String { LinkWords.quoted(name) }

    /// The target as spelt in a rule.
    package var description: String {
        var words: [String]
        switch program {
        case .browser: words = [Self.browserWord]
        case .chooser: words = [Self.chooserWord]
        case .named(let name): words = [LinkWords.quoted(name)]
        }
        if let profile { words += [Self.profileOption, LinkWords.quoted(profile)] }
        if let container { words += [Self.containerOption, LinkWords.quoted(container)] }
        if isPrivate { words.append(Self.privateOption) }
        return words.joined(separator: " ")
    }
}
