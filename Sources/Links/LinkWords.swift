/// The words of a line.
enum LinkWords {
    /// A word, and whether a part of it was in quotes.
    struct Word: Hashable {
        var text = ""
        var isQuoted = false
    }

    /// Splits a line at its spaces and tabs, up to its comment. Between double quotes, every character stands for
    /// itself.
    static func words(of line: String) throws(LinkSyntaxError) -> [Word] {
        var words: [Word] = []
        var word: Word?
        var isInQuotes = false
        // A combining mark must not become one character with the space or the quotation mark before it.
        for scalar in line.unicodeScalars {
            switch scalar {
            case "\"":
                isInQuotes.toggle()
                word = word ?? Word()
                word?.isQuoted = true
            case " " where !isInQuotes, "\t" where !isInQuotes:
                if let word { words.append(word) }
                word = nil
            case "#" where word == nil && !isInQuotes: return words
            default:
                word = word ?? Word()
                word?.text.unicodeScalars.append(scalar)
            }
        }
        if isInQuotes { throw LinkSyntaxError("has no second quotation mark") }
        if let word { words.append(word) }
        return words
    }

    /// Returns a word as it is written in a line. It must not contain a quotation mark.
    static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && !text.hasPrefix("#") && !text.unicodeScalars.contains { $0 == " " || $0 == "\t" }
        return isPlain ? text : "\"\(text)\""
    }
}
