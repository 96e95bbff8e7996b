internal import Translations

extension String {
    /// Returns the word that this text was most likely meant to be; nil if none is close enough.
    ///
    /// The distance counts inserted, missing and changed bytes, and swaps of two neighbours. A string of three to five
    /// bytes may contain one error, a longer one two, and one of 20 bytes or more three. The case of ASCII letters does
    /// not matter, so a word that differs only in case is the nearest. For a string of fewer than three or more than 64
    /// bytes, no word is close enough.
    ///
    /// - Parameter words: the words, without the text itself. If two are at the same distance, the first one is
    ///   returned.
    package func nearest(in words: some Sequence<String>) -> String? {
        let text = lowercasedBytes(self)
        guard (3...64).contains(text.count) else { return nil }
        var nearest: (word: String, distance: Int)?
        let limit = text.count < 6 ? 1 : text.count < 20 ? 2 : 3
        for word in words where word != self {
            guard abs(word.utf8.count - text.count) <= limit else { continue }
            let distance = mistakes(between: text, and: lowercasedBytes(word))
            if distance <= limit, distance < nearest?.distance ?? .max { nearest = (word, distance) }
        }
        return nearest?.word
    }
}

/// Takes a message of the form "fact; advice", and inserts between the two a question about the word that was probably
/// meant.
///
/// - Parameter near: the word; if it is nil, the message is returned unchanged.
package func asking(whether near: String?, _ message: String) -> String {
    guard let near else { return message }
    let end = message.indices.first { message[$0...].hasPrefix("; ") }
    let question = translated("\(message[..<(end ?? message.endIndex)]); did you mean '\(near)'?")
    return end.map { translated("\(question) If not: \(message[$0...].dropFirst(2))") } ?? question
}

private func lowercasedBytes(_ text: String) -> [UInt8] {
    text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
}

/// Counts the errors that turn one string into another (optimal string alignment).
private func mistakes(between left: [UInt8], and right: [UInt8]) -> Int {
    // Rows of the table for the bytes of `left`: the one before the last, the last, and the one being filled.
    var earlier: [Int] = []
    var last = Array(0...right.count)
    for (i, byte) in left.enumerated() {
        var row = [i + 1]
        for (j, other) in right.enumerated() {
            var cost = min(last[j + 1], row[j]) + 1
            cost = min(cost, last[j] + (byte == other ? 0 : 1))
            if i > 0, j > 0, byte == right[j - 1], left[i - 1] == other { cost = min(cost, earlier[j - 1] + 1) }
            row.append(cost)
        }
        (earlier, last) = (last, row)
    }
    return last[right.count]
}
