internal import ArgumentParser
internal import RFC1808
internal import Translations
internal import URLOpener

/// An encoding for arguments that are not UTF-8, because swift-argument-parser takes only strings.
///
/// It consists of the longest prefix that is UTF-8, a NUL, and the remaining bytes as hexadecimal digits. A process's
/// argument cannot contain a NUL, so this is unambiguous.
extension CommandLineArgument: ExpressibleByArgument {
    private static let mark = UInt8(ascii: "\0")

    /// The argument, encoded for the parser.
    var parserArgument: String {
        guard case .notUTF8(let bytes) = self else { return shown }
        var valid = bytes[...]
        while String(validating: valid, as: UTF8.self) == nil { valid.removeLast() }
        let digits = bytes[valid.endIndex...].map(\.hexDigits)
        return String(decoding: valid, as: UTF8.self) + "\0" + digits.joined()
    }

    /// Decodes an argument that went through the parser.
    init(argument: String) {
        guard let mark = argument.utf8.firstIndex(of: Self.mark) else {
            self = .text(argument)
            return
        }
        var bytes = Array(argument.utf8[..<mark])
        var digits = argument.utf8[mark...].dropFirst()
        while let byte = UInt8(String(decoding: digits.prefix(2), as: UTF8.self), radix: 16) {
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        self = .notUTF8(bytes)
    }

    /// Returns the text of an argument that must be text, and that must not be empty: an empty value often comes from a
    /// variable that is not set, and must not mean everything.
    ///
    /// - Throws: `ValidationError` for bytes that are not UTF-8, and for an empty argument.
    static func requiredText(_ argument: String) throws -> String {
        _ = try required(argument)
        return try anyText(argument)
    }

    /// Returns an argument that must not be empty, but need not be text.
    ///
    /// - Throws: `ValidationError` for an empty argument.
    static func required(_ argument: String) throws -> CommandLineArgument {
        guard !argument.isEmpty else { throw ValidationError(translated("the value is empty")) }
        return CommandLineArgument(argument: argument)
    }

    /// Returns the text of an argument that must be text, but may be empty.
    ///
    /// - Throws: `ValidationError` for bytes that are not UTF-8.
    static func anyText(_ argument: String) throws -> String {
        guard let text = CommandLineArgument(argument: argument).text else {
            throw ValidationError(translated("the value is not UTF-8"))
        }
        return text
    }
}

extension String {
    /// A message of the parser in which arguments are as in ``CommandLineArgument/shown``, and not encoded.
    var showingArguments: String {
        let parts = split(separator: "\0", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
            let digits = part.prefix { $0.isASCII && $0.isHexDigit }
            text += CommandLineArgument(argument: "\0\(digits)").shown + part[digits.endIndex...]
        }
    }
}
