/// Prints a handler's output: byte for byte for a program, and with its controls escaped on a terminal.
package struct OutputPrinter {
    private let output: StandardOutput
    /// The beginning of a character whose other bytes have not arrived yet.
    private var rest: [UInt8] = []
    private var isInLine = false
    /// Whether there has been any output.
    package private(set) var hasPrinted = false

    package init(_ output: StandardOutput) {
        self.output = output
    }

    /// Prints bytes immediately.
    ///
    /// - Returns: whether the output still has a reader.
    package mutating func print(_ bytes: ArraySlice<UInt8>) -> Bool {
        hasPrinted = true
        guard output.isTerminal else { return output.write(bytes) }
        var bytes = rest + bytes
        rest = Array(bytes.suffix(Self.incompleteBytes(of: bytes)))
        bytes.removeLast(rest.count)
        append(bytes)
        return output.isIntact
    }

    /// Ends the last line on a terminal.
    package mutating func end() {
        append(rest)
        rest = []
        if isInLine { output.print("") }
        isInLine = false
        output.flush()
    }

    private mutating func append(_ bytes: [UInt8]) {
        guard let last = bytes.last else { return }
        output.append(String(decoding: bytes, as: UTF8.self).printableLines)
        isInLine = last != UInt8(ascii: "\n")
        output.flush()
    }

    /// The number of bytes at the end that belong to an incomplete UTF-8 character.
    private static func incompleteBytes(of bytes: [UInt8]) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > index + 1 ? index + 1 : 0
        }
        return 0
    }
}

extension String {
    /// The text with its controls escaped, except line breaks and tabs.
    fileprivate var printableLines: String {
        unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }.map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0).printable }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }
}
