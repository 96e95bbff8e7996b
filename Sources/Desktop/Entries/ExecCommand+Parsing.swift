internal import UserFiles

extension ExecCommand {
    /// Why a command line cannot be run. Messages put this after the key's name.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The command line is empty, or there is nothing before a comment.
        case empty
        /// A quotation has no end.
        case unterminatedQuote(Character)
        /// The last character is a backslash.
        case trailingBackslash
        /// The last character is a `%`.
        case trailingPercent
        /// The specification does not define this field code.
        case unknownFieldCode(Character)
        /// A field code is in quotes, where its expansion is undefined.
        case quotedFieldCode(Character)
        /// There is more than one of the field codes `%f`, `%u`, `%F` and `%U`.
        case secondURLCode(Character)
        /// A field code that stands for several arguments is only part of an argument.
        case embeddedFieldCode(Character)
        /// The program is a field code, contains `=`, or is a relative path.
        case program(String)

        /// The reason in plain English.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .unterminatedQuote(let quote): "has an unmatched \(quote)"
            case .trailingBackslash: "ends with a lone '\\'"
            case .trailingPercent: "ends with a lone '%'"
            case .unknownFieldCode(let code): "contains '%' before \(printable(code)), which is not a field code"
            case .quotedFieldCode(let code): "contains %\(code) within quotes"
            case .secondURLCode(let code): "contains %\(code) after another of %f, %u, %F and %U"
            case .embeddedFieldCode(let code): "contains %\(code) as only part of an argument"
            case .program(let reason): "has a program that \(reason)"
            }
        }
    }

    /// Parses the value of an `Exec` key. The string's escape sequences must already be decoded.
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
        // Desktop Entry Specification: "The name or path of the executable program may not contain the equal sign."
        guard !program.contains("=") else { throw .program("contains '='") }
        guard program.hasPrefix("/") || !program.utf8.contains(UInt8(ascii: "/")) else {
            throw .program("is a relative path")
        }
        self.program = program
        arguments = Array(parser.arguments.dropFirst())
    }
}

/// Returns a character in a form that is safe in a message.
private func printable(_ character: Character) -> String {
    character.unicodeScalars.map { printable($0) }.joined(separator: " ")
}

/// A parser that splits a command line into arguments, as `g_shell_parse_argv` does, and finds the field codes.
private struct ExecParser {
    private(set) var arguments: [ExecCommand.Argument] = []

    private var rest: Substring.UnicodeScalarView
    private var previous: Unicode.Scalar?
    private var pieces: [ExecCommand.Piece] = []
    private var text = ""
    /// Whether an argument has begun. It may be empty, if it is in quotes.
    private var isArgument = false
    /// A field code that is a whole argument and stands for several arguments.
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
                // A backslash at the end of a line continues the line.
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
        // About these deprecated codes, the specification says: "should be removed from the command line and ignored".
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
