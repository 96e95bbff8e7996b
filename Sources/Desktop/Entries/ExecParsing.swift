internal import UserFiles

extension ExecCommand {
    /// Why a command line is none that may be run, to be read after the key.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// There is nothing in it, or nothing before a comment.
        case empty
        /// A quotation without its end.
        case unterminatedQuote(Character)
        /// A backslash as the last character.
        case trailingBackslash
        /// A `%` as the last character.
        case trailingPercent
        /// A field code that the specification does not know.
        case unknownFieldCode(Character)
        /// A field code within quotes: what it expands to is undefined.
        case quotedFieldCode(Character)
        /// A second one of `%f`, `%u`, `%F` and `%U`.
        case secondURLCode(Character)
        /// A code that stands for several arguments, as a part of one.
        case embeddedFieldCode(Character)
        /// A program that is a field code, holds `=`, or is given by a relative path.
        case program(String)

        /// The reason in words.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .unterminatedQuote(let quote): "has a \(quote) without its counterpart"
            case .trailingBackslash: "ends with a lone '\\'"
            case .trailingPercent: "ends with a lone '%'"
            case .unknownFieldCode(let code): "holds '%' before \(printable(code)), which is no field code"
            case .quotedFieldCode(let code): "holds %\(code) within quotes"
            case .secondURLCode(let code): "holds %\(code) after another of %f, %u, %F and %U"
            case .embeddedFieldCode(let code): "holds %\(code) as a part of an argument"
            case .program(let reason): "has a program that \(reason)"
            }
        }
    }

    /// Takes apart the value of `Exec`, after its escape sequences as a string were undone.
    public init(parsing text: String) throws(ParseError) {
        var parser = ExecParser(text)
        try parser.parse()
        guard case .pieces(let pieces) = parser.arguments.first else {
            throw parser.arguments.isEmpty ? .empty : .program("is a field code")
        }
        var program = ""
        for piece in pieces {
            guard case .text(let text) = piece else { throw .program("is a field code") }
            program += text
        }
        guard !program.isEmpty else { throw .program("has no name") }
        // "The name or path of the executable program may not contain the equal sign."
        guard !program.contains("=") else { throw .program("holds '='") }
        guard program.hasPrefix("/") || !program.contains("/") else { throw .program("is a relative path") }
        self.program = program
        arguments = Array(parser.arguments.dropFirst())
    }
}

/// A character as a message can show it.
private func printable(_ character: Character) -> String {
    character.unicodeScalars.map { printable($0) }.joined(separator: " ")
}

/// Splits a command line into arguments, as `g_shell_parse_argv` does, and finds the field codes in them.
private struct ExecParser {
    private(set) var arguments: [ExecCommand.Argument] = []

    private var rest: Substring.UnicodeScalarView
    private var previous: Unicode.Scalar?
    private var pieces: [ExecCommand.Piece] = []
    private var text = ""
    /// Whether an argument has begun: also an empty one, in quotes.
    private var isArgument = false
    /// The code of several arguments that is all there is of this one.
    private var list: (code: Character, argument: ExecCommand.Argument)?
    private var hasURLCode = false

    init(_ text: String) {
        rest = text[...].unicodeScalars
    }

    private mutating func next() -> Unicode.Scalar? {
        guard let scalar = rest.popFirst() else { return nil }
        previous = scalar
        return scalar
    }

    mutating func parse() throws(ExecCommand.ParseError) {
        while true {
            let before = previous
            guard let scalar = next() else { break }
            switch scalar {
            case " ", "\t", "\n":
                try endArgument()
            case "'":
                isArgument = true
                try singleQuoted()
            case "\"":
                isArgument = true
                try doubleQuoted()
            case "\\":
                guard let escaped = next() else { throw .trailingBackslash }
                // Together with a line's end it is nothing.
                if escaped != "\n" { append(escaped) }
            case "#" where before == nil || before == " " || before == "\n":
                while let skipped = next(), skipped != "\n" {}
            case "%":
                try fieldCode()
            default:
                append(scalar)
            }
        }
        try endArgument()
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        isArgument = true
        text.unicodeScalars.append(scalar)
    }

    private mutating func singleQuoted() throws(ExecCommand.ParseError) {
        while let scalar = next() {
            switch scalar {
            case "'": return
            case "%": try percentInQuotes()
            default: append(scalar)
            }
        }
        throw .unterminatedQuote("'")
    }

    private mutating func doubleQuoted() throws(ExecCommand.ParseError) {
        while let scalar = next() {
            switch scalar {
            case "\"": return
            case "%": try percentInQuotes()
            case "\\":
                guard let escaped = next() else { throw .unterminatedQuote("\"") }
                if !["\"", "\\", "`", "$", "\n"].contains(escaped) { append("\\") }
                if escaped == "%" { try percentInQuotes() } else { append(escaped) }
            default: append(scalar)
            }
        }
        throw .unterminatedQuote("\"")
    }

    private mutating func percentInQuotes() throws(ExecCommand.ParseError) {
        guard let code = next() else { throw .trailingPercent }
        guard code == "%" else { throw .quotedFieldCode(Character(code)) }
        append("%")
    }

    private mutating func fieldCode() throws(ExecCommand.ParseError) {
        guard let code = next() else { throw .trailingPercent }
        switch code {
        case "%": append("%")
        case "f": try append(.file, isURL: true, code)
        case "u": try append(.url, isURL: true, code)
        case "c": try append(.name, isURL: false, code)
        case "k": try append(.entryFile, isURL: false, code)
        case "F": try become(.files, isURL: true, code)
        case "U": try become(.urls, isURL: true, code)
        case "i": try become(.icon, isURL: false, code)
        // Deprecated: "should be removed from the command line and ignored".
        case "d", "D", "n", "N", "v", "m": break
        default: throw .unknownFieldCode(Character(code))
        }
    }

    private mutating func append(
        _ piece: ExecCommand.Piece,
        isURL: Bool,
        _ code: Unicode.Scalar
    ) throws(ExecCommand.ParseError) {
        if isURL { try noteURLCode(code) }
        isArgument = true
        endText()
        pieces.append(piece)
    }

    private mutating func become(
        _ argument: ExecCommand.Argument,
        isURL: Bool,
        _ code: Unicode.Scalar
    ) throws(ExecCommand.ParseError) {
        if isURL { try noteURLCode(code) }
        guard list == nil else { throw .embeddedFieldCode(Character(code)) }
        list = (Character(code), argument)
    }

    private mutating func noteURLCode(_ code: Unicode.Scalar) throws(ExecCommand.ParseError) {
        guard !hasURLCode else { throw .secondURLCode(Character(code)) }
        hasURLCode = true
    }

    private mutating func endText() {
        if !text.isEmpty { pieces.append(.text(text)) }
        text = ""
    }

    private mutating func endArgument() throws(ExecCommand.ParseError) {
        endText()
        if let list {
            guard !isArgument else { throw .embeddedFieldCode(list.code) }
            arguments.append(list.argument)
        } else if isArgument {
            arguments.append(.pieces(pieces))
        }
        pieces = []
        isArgument = false
        list = nil
    }
}
