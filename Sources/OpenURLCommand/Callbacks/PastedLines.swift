internal import Glibc

/// Lines that the user pastes, read piece by piece.
struct PastedLines {
    private let descriptor: CInt
    private var rest: [UInt8] = []
    /// Whether the input has ended.
    private(set) var isAtEnd = false

    /// The maximum size of a line, in bytes. Longer lines are skipped.
    static let limit = 65_536

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Reads what is available, and returns the complete lines without surrounding spaces.
    ///
    /// At the end of the input, the last line is complete even without a line break.
    mutating func read() -> [String] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        isAtEnd = count <= 0
        rest += isAtEnd ? [UInt8(ascii: "\n")] : Array(bytes[..<count])
        var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        rest = Array(lines.popLast() ?? [])
        if rest.count > Self.limit { rest = [UInt8](repeating: 0, count: Self.limit) }
        return lines.compactMap { line in
            let text = line.count < Self.limit ? String(validating: line, as: UTF8.self) : nil
            let trimmed = text?.drop(while: \.isWhitespace) ?? ""
            let end = trimmed.lastIndex { !$0.isWhitespace }
            return end.map { String(trimmed[...$0]) }
        }
    }
}
