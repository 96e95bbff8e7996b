internal import Desktop
internal import UserFiles

/// The command for a handler that has no interface on the bus (`OUCommand`): a program and its arguments, without a
/// shell.
///
/// In an argument, `%u` stands for the URL, `%f` for the path of a local file (any other URL stays a URL), and `%%` for
/// a percent sign.
public struct HandlerCommand: Sendable, Hashable {
    /// The program and its arguments, as in the manifest.
    public let words: [String]

    /// Thrown for a list that is not a command.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The list is empty.
        case empty
        /// A percent sign in the word does not begin any of the codes.
        case unknownCode(word: String)
        /// There is a percent sign in the word for the program.
        case codeInProgram(String)
        /// The word at this index is a program's text, so a URL's sender would write part of that program.
        case codeInProgramText(Int)

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .unknownCode(let word):
                "has an unknown code in '\(printable(word))'; the codes are %u for the URL and %f for a file, and %% is a "
                    + "percent sign"
            case .codeInProgram(let word) where word.contains(" "):
                "has the whole command in its first string, '\(printable(word))'; write each word as a separate string"
            case .codeInProgram(let word):
                "has '\(printable(word))' in place of its program; name the program in the first string, and write %u "
                    + "as a string after it"
            case .codeInProgramText(let index):
                "has a code in argument \(index), which is the text of a program, so the sender of a URL could write a part of it; "
                    + "pass the URL as a separate argument, which a shell reads as \"$1\""
            }
        }
    }

    /// Checks a command.
    public init(_ words: [String]) throws(ParseError) {
        guard let program = words.first else { throw .empty }
        guard !program.utf8.contains(UInt8(ascii: "%")) else { throw .codeInProgram(program) }
        for word in words where expanded(word, opening: "") == nil { throw .unknownCode(word: word) }
        let texts = ProgramText(in: words).indices
        if let index = texts.first(where: { words.indices.contains($0) && hasURL(words[$0]) }) {
            throw .codeInProgramText(index)
        }
        self.words = words
    }

    /// Whether the program gets the URL.
    var passesURL: Bool { words.contains(where: hasURL) }

    /// Returns the arguments for a URL, which follow the program's name.
    public func arguments(opening url: String) -> [String] {
        words.dropFirst().compactMap { expanded($0, opening: url) }
    }
}

/// Whether a word without unknown codes contains one that stands for the URL.
private func hasURL(_ word: String) -> Bool { expanded(word, opening: "") != expanded(word, opening: "a:") }

/// Returns the word with its codes replaced; nil if one of them is unknown.
private func expanded(_ word: String, opening url: String) -> String? {
    var result = ""
    var rest = word[...]
    while let percent = rest.firstIndex(of: "%") {
        result += rest[..<percent]
        rest = rest[percent...].dropFirst()
        switch rest.popFirst() {
        case "u": result += url
        case "f": result += localFilePath(ofURL: url).flatMap { String(validating: $0, as: UTF8.self) } ?? url
        case "%": result += "%"
        default: return nil
        }
    }
    return result + rest
}
