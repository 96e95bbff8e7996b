/// One argument as the program was given it: text, or bytes that are not UTF-8.
///
/// `CommandLine.arguments` would put replacement characters in the place of such bytes, and a URL that nobody wrote would
/// be opened.
enum CommandLineArgument: Sendable, Hashable {
    case text(String)
    case notUTF8([UInt8])

    /// The arguments after the program's name.
    static var all: [CommandLineArgument] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            CommandLine.unsafeArgv[index].map { CommandLineArgument($0) }
        }
    }

    private init(_ string: UnsafeMutablePointer<CChar>) {
        if let text = String(validatingCString: string) {
            self = .text(text)
        } else {
            var bytes: [UInt8] = []
            var next = string
            while next.pointee != 0 {
                bytes.append(UInt8(bitPattern: next.pointee))
                next += 1
            }
            self = .notUTF8(bytes)
        }
    }

    /// The text; nil where it is none.
    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The bytes as they were given.
    var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .notUTF8(let bytes): bytes
        }
    }

    /// The text with U+FFFD in the place of what is not UTF-8: to be shown, never to be used.
    var shown: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Whether it is taken for an option.
    var isOption: Bool {
        bytes.first == UInt8(ascii: "-") && bytes.count > 1
    }

    /// Whether it can be a URL that has a scheme.
    var hasColon: Bool {
        bytes.contains(UInt8(ascii: ":"))
    }
}
