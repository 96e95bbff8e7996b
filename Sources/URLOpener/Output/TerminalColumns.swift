extension StringProtocol {
    /// The number of columns that the text takes on a terminal, if it has no controls.
    ///
    /// Emoji that are joined into one count separately, because many terminals do not join them.
    package var columns: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.columns }
    }

    /// Returns the longest beginning that fits the given number of columns.
    package func prefix(columns: Int) -> SubSequence {
        var rest = columns
        return prefix { character in
            rest -= character.columns
            return rest >= 0
        }
    }

    /// Returns the longest end that fits the given number of columns.
    package func suffix(columns: Int) -> SubSequence {
        var rest = columns
        var start = endIndex
        while start > startIndex {
            let previous = index(before: start)
            rest -= self[previous].columns
            guard rest >= 0 else { break }
            start = previous
        }
        return self[start...]
    }
}

extension Character {
    fileprivate var columns: Int {
        var columns = 0
        for scalar in unicodeScalars {
            // The selector for emoji makes a narrow character wide.
            let isWidened = scalar.value == 0xFE0F && columns == 1
            columns += isWidened ? 1 : scalar.columns
        }
        return columns
    }
}

extension Unicode.Scalar {
    /// The number of columns: none for a mark on another character, two for a wide character (UAX #11), otherwise one.
    fileprivate var columns: Int {
        // The first marks are here, and nothing below is wide.
        guard value >= 0x300 else { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: if properties.isDefaultIgnorableCodePoint { return 0 }
        }
        switch value {
        // In Hangul, vowels and final consonants join the consonant before them.
        case 0x1160...0x11FF, 0xD7B0...0xD7FB: return 0
        // Two regional indicators form one wide flag.
        case 0x1F1E6...0x1F1FF: return 1
        // The classes W and F of https://www.unicode.org/Public/UCD/latest/ucd/EastAsianWidth.txt, except for emoji. The
        // ranges also have code points that no character has yet.
        case 0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0x3247,
            0x3250...0xA4C6, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B,
            0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x16FF6, 0x17000...0x1B2FB, 0x1D300...0x1D376,
            0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD:
            return 2
        default: return properties.isEmojiPresentation ? 2 : 1
        }
    }
}
