/// One argument of the process: text, or bytes that are not UTF-8.
///
/// `CommandLine.arguments` replaces bytes that are not UTF-8 with U+FFFD. If the program used that property, it could
/// open a URL other than the one on its command line.
package enum CommandLineArgument: Sendable, Hashable {
    case text(String)
    case notUTF8([UInt8])

    /// The arguments after the program's name.
    package static var all: [CommandLineArgument] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            CommandLine.unsafeArgv[index].map { CommandLineArgument($0) }
        }
    }

    /// The name by which the process was started, without its directory; empty if there is none.
    static var calledName: String {
        guard CommandLine.argc > 0, let path = CommandLine.unsafeArgv[0] else { return "" }
        return String(
            decoding: CommandLineArgument(path).bytes.split(separator: UInt8(ascii: "/")).last ?? [],
            as: UTF8.self
        )
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

    /// The text; nil if the argument is not UTF-8.
    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    package var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .notUTF8(let bytes): bytes
        }
    }

    /// The argument as text, for messages only. Bytes that are not UTF-8 are replaced with U+FFFD.
    package var shown: String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the argument is an option if no `--` comes before it.
    package var isOption: Bool {
        bytes.first == UInt8(ascii: "-") && bytes.count > 1
    }

    /// Whether this can be a URL with a scheme.
    package var hasColon: Bool {
        bytes.contains(UInt8(ascii: ":"))
    }
}
