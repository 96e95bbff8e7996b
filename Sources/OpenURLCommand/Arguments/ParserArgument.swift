internal import ArgumentParser

/// How an argument that is not UTF-8 gets through swift-argument-parser, which knows strings only: what of it is UTF-8 as
/// it is, a NUL, which no argument of a process holds, and the rest in hexadecimal digits.
extension CommandLineArgument: ExpressibleByArgument {
    private static let mark = UInt8(ascii: "\0")

    /// The argument for the parser.
    var parserArgument: String {
        guard case .notUTF8(let bytes) = self else { return shown }
        var valid = bytes[...]
        while String(validating: valid, as: UTF8.self) == nil { valid.removeLast() }
        let digits = bytes[valid.endIndex...].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return String(decoding: valid, as: UTF8.self) + "\0" + digits.joined()
    }

    /// Takes what the parser hands on.
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

    /// Lets an option take text only.
    static func requiredText(_ argument: String) throws -> String {
        guard let text = CommandLineArgument(argument: argument).text else { throw ValidationError("it is not UTF-8") }
        return text
    }
}
