internal import RFC1808

/// Text in a form that can be compared no matter how it was escaped.
///
/// URL escapes are decoded, and so are escapes of escapes. Letters are in lower case, a `+` becomes a space, and there
/// are no backslashes.
struct PlainText {
    /// The text's bytes, which need not be UTF-8.
    private(set) var bytes: [UInt8]
    private let origin: Substring
    /// Position of each byte in ``origin``, and then the size of ``origin``.
    private var positions: [Int]

    /// Whether the text has escapes of escapes that have not been decoded.
    private(set) var hasEscapesLeft = true

    /// Number of times that escapes are decoded.
    private static let levels = 4

    init(_ text: some StringProtocol) {
        origin = Substring(text)
        bytes = Array(origin.utf8)
        positions = Array(0...bytes.count)
        for _ in 0..<Self.levels {
            hasEscapesLeft = decode()
            if !hasEscapesLeft { return }
        }
    }

    /// - Returns: Whether escapes may be left.
    private mutating func decode() -> Bool {
        let size = positions[bytes.count]
        var read = 0
        var count = 0
        var isChanged = false
        while read < bytes.count {
            var byte = bytes[read]
            var end = read + 1
            switch byte {
            case UInt8(ascii: "%"):
                guard read + 2 < bytes.count, let high = bytes[read + 1].hexValue, let low = bytes[read + 2].hexValue
                else { break }
                (byte, end, isChanged) = (high << 4 | low, read + 3, true)
            case UInt8(ascii: "+"): byte = UInt8(ascii: " ")
            default: break
            }
            if UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte { byte |= 0x20 }
            if byte != UInt8(ascii: "\\") {
                bytes[count] = byte
                positions[count] = positions[read]
                count += 1
            }
            read = end
        }
        bytes.removeSubrange(count...)
        positions.replaceSubrange(count..., with: CollectionOfOne(size))
        return isChanged
    }

    func contains(_ text: StaticString) -> Bool {
        let word = Array(text.description.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: word) }
    }

    /// Returns the original text of a range of bytes.
    func source(_ range: Range<Int>) -> Substring {
        let start = origin.utf8.index(origin.startIndex, offsetBy: positions[range.lowerBound])
        let end = origin.utf8.index(origin.startIndex, offsetBy: positions[range.upperBound])
        return origin[start..<end]
    }

    /// Returns the original text with a mark in place of each run of hidden bytes.
    func text(without hidden: [Bool], mark: String) -> String {
        let source = Array(origin.utf8)
        var result = Array(source[..<positions[0]])
        for index in bytes.indices {
            if !hidden[index] {
                result += source[positions[index]..<positions[index + 1]]
            } else if index == 0 || !hidden[index - 1] {
                result += Array(mark.utf8)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    // MARK: Search

    /// Size of a run, in bytes.
    static let runBytes = 8

    /// Calls a closure with each run of ``runBytes`` bytes, as a number, and its position.
    func forEachRun(_ body: (_ start: Int, _ run: UInt64) -> Void) {
        var run: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            run = run << 8 | UInt64(byte)
            if index + 1 >= Self.runBytes { body(index + 1 - Self.runBytes, run) }
        }
    }

    /// Positions of the marks that show that the text was cut.
    var ellipses: [Range<Int>] {
        var places: [Range<Int>] = []
        for mark in ["…", "..."].map({ Array($0.utf8) }) {
            for start in bytes.indices where bytes[start...].starts(with: mark) {
                places.append(start..<start + mark.count)
            }
        }
        return places
    }

    /// Hides each occurrence of a string.
    ///
    /// - Parameter isWord: Whether only whole words count.
    func find(_ word: [UInt8], isWord: Bool, in hidden: inout [Bool]) {
        guard let first = word.first, bytes.count >= word.count else { return }
        for start in 0...bytes.count - word.count where bytes[start] == first {
            let end = start + word.count
            guard bytes[start..<end].elementsEqual(word), !isWord || !isInWord(before: start) && !isInWord(at: end)
            else { continue }
            for position in start..<end { hidden[position] = true }
        }
    }

    /// Hides the longest beginning of a string that ends at a position, up to the size of a run.
    func findBeginning(of word: [UInt8], before end: Int, in hidden: inout [Bool]) {
        let last = endWithoutPartOfEscape(end)
        for count in stride(from: min(Self.runBytes, word.count, last), to: 0, by: -1) {
            let start = last - count
            guard bytes[start..<last].elementsEqual(word[..<count]), !isInWord(before: start) else { continue }
            for position in start..<end { hidden[position] = true }
            return
        }
    }

    /// Hides the longest end of a string that begins at a position, up to the size of a run.
    func findEnd(of word: [UInt8], after start: Int, in hidden: inout [Bool]) {
        for count in stride(from: min(Self.runBytes, word.count, bytes.count - start), to: 0, by: -1) {
            let end = start + count
            guard bytes[start..<end].elementsEqual(word.suffix(count)), !isInWord(at: end) else { continue }
            for position in start..<end { hidden[position] = true }
            return
        }
    }

    /// Returns the position before the first bytes of an escape, if the rest of it was cut off.
    private func endWithoutPartOfEscape(_ end: Int) -> Int {
        for count in 1...2 where end >= count && bytes[end - count] == UInt8(ascii: "%") { return end - count }
        return end
    }

    private func isInWord(before position: Int) -> Bool { position > 0 && bytes[position - 1].isAlphanumeric }

    private func isInWord(at position: Int) -> Bool { position < bytes.count && bytes[position].isAlphanumeric }
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
            true
        default: false
        }
    }
}
