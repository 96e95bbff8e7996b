internal import ByteCoding
internal import UserFiles

/// A file of localised strings (`InfoPlist.strings`): a property list, or lines of the form `"key" = "value";`.
struct StringsFile {
    /// The strings by key.
    private(set) var strings: [String: String] = [:]

    /// Maximum size of a file, in bytes.
    static let limit = 1 << 20

    /// Why a file cannot be parsed, and on which line.
    struct ParseError: Error, Hashable, CustomStringConvertible {
        let line: Int
        let expected: String

        var description: String { "line \(line): expected \(expected)" }
    }

    /// Reads a property list in either format, or the older syntax in UTF-8 or UTF-16.
    ///
    /// No string may contain U+0000, because neither D-Bus nor system calls can pass it on.
    init(_ bytes: [UInt8]) throws {
        if bytes.starts(with: "bplist".utf8) || bytes.starts(with: "<?xml".utf8) || bytes.starts(with: "<plist".utf8) {
            guard case .dictionary(let entries) = try PropertyListValue(bytes: bytes) else { return }
            for (key, value) in entries {
                guard case .string(let text) = value, !key.utf8.contains(0), !text.utf8.contains(0) else { continue }
                strings[key] = text
            }
        } else {
            var scanner = Scanner(try Self.text(bytes))
            while try !scanner.isAtEnd() {
                let key = try scanner.string()
                try scanner.expect("=")
                strings[key] = try scanner.string()
                try scanner.expect(";")
            }
        }
    }

    private static func text(_ bytes: [UInt8]) throws(ParseError) -> String {
        let isBigEndian = bytes.starts(with: [0xFE, 0xFF])
        let text: String?
        if isBigEndian || bytes.starts(with: [0xFF, 0xFE]) {
            let units = stride(from: 2, to: bytes.count - 1, by: 2).map { index in
                let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
                return isBigEndian ? first << 8 | second : second << 8 | first
            }
            text = bytes.count.isMultiple(of: 2) ? String(validating: units, as: UTF16.self) : nil
        } else {
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            text = String(validating: bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes[...], as: UTF8.self)
        }
        guard let text else { throw ParseError(line: 1, expected: "UTF-8 or UTF-16") }
        return text
    }
}

/// A scanner that splits the older syntax into tokens, with white space and C comments allowed between them.
private struct Scanner {
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var line = 1

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    private var next: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private func error(_ expected: String) -> StringsFile.ParseError {
        StringsFile.ParseError(line: line, expected: expected)
    }

    private mutating func advance() {
        if scalars[index] == "\n" { line += 1 }
        index += 1
    }

    private func stands(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        index + 1 < scalars.count && scalars[index] == first && scalars[index + 1] == second
    }

    mutating func isAtEnd() throws(StringsFile.ParseError) -> Bool {
        while let scalar = next {
            if scalar.properties.isWhitespace {
                advance()
            } else if stands("/", "/") {
                while let scalar = next, scalar != "\n" { advance() }
            } else if stands("/", "*") {
                index += 2
                while !stands("*", "/") {
                    guard next != nil else { throw error("the end of a comment") }
                    advance()
                }
                index += 2
            } else {
                return false
            }
        }
        return true
    }

    mutating func expect(_ scalar: Unicode.Scalar) throws(StringsFile.ParseError) {
        guard try !isAtEnd(), next == scalar else { throw error("'\(scalar)'") }
        advance()
    }

    mutating func string() throws(StringsFile.ParseError) -> String {
        guard try !isAtEnd() else { throw error("a string") }
        var text = String.UnicodeScalarView()
        guard next == "\"" else {
            while let scalar = next, isNameScalar(scalar) || "./:$".unicodeScalars.contains(scalar) {
                text.append(scalar)
                advance()
            }
            guard !text.isEmpty else { throw error("a string") }
            return String(text)
        }
        advance()
        while let scalar = next, scalar != "\"" {
            advance()
            text.append(scalar == "\\" ? try escaped() : scalar)
        }
        guard next != nil else { throw error("the end of a string") }
        guard !text.contains("\0") else { throw error("a character other than U+0000") }
        let result = String(text)
        guard !result.hasTooManyMarks else {
            throw error("at most \(String.maximumMarks) combining marks in a row")
        }
        advance()
        return result
    }

    private mutating func escaped() throws(StringsFile.ParseError) -> Unicode.Scalar {
        guard let scalar = next else { throw error("the end of a string") }
        advance()
        switch scalar {
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "U", "u":
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let digit = next.flatMap({ Character($0).hexDigitValue }) else { throw error("four digits") }
                value = value << 4 | UInt32(digit)
                advance()
            }
            guard let scalar = Unicode.Scalar(value) else { throw error("a character, not half of a surrogate pair") }
            return scalar
        default: return scalar
        }
    }
}
