internal import UserFiles

/// The name of a file in a handler's inbox: one readable path element.
struct InboxName: Hashable, CustomStringConvertible {
    /// Maximum length of a name in Linux file systems, in bytes.
    static let maximumLength = 255

    /// Why a string is not a name for an inbox.
    enum ParseError: Error, Hashable, CustomStringConvertible {
        case empty
        case tooLong(Int)
        case hidden
        case forbiddenCharacter(Unicode.Scalar)

        /// This error as text that follows the name.
        var description: String {
            switch self {
            case .empty: "is empty"
            case .tooLong(let length): "has \(length) bytes; a name may have at most \(InboxName.maximumLength)"
            case .hidden: "begins with '.'; a file in an inbox cannot be hidden"
            case .forbiddenCharacter(let scalar): "contains \(printable(scalar)); a name is one element of a path"
            }
        }
    }

    private let text: String

    /// Checks the name that a sender gives to a file.
    init(_ text: String) throws(ParseError) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        // This includes `.` and `..`.
        guard text.utf8.first != UInt8(ascii: ".") else { throw .hidden }
        for scalar in text.unicodeScalars where scalar == "/" || isControl(scalar) || Self.hidesItself(scalar) {
            throw .forbiddenCharacter(scalar)
        }
        self.text = text
    }

    /// Returns whether a scalar changes a string's direction, which can make a name look like another one.
    private static func hidesItself(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isBidiControl || scalar.properties.generalCategory == .lineSeparator
            || scalar.properties.generalCategory == .paragraphSeparator
    }

    /// Returns the name to try after the given number of names that were taken: `a.png`, `a-1.png`, `a-2.png`.
    ///
    /// It keeps the extension, which shows the file's type. A long name is shortened before its number.
    func alternative(_ number: Int) -> String {
        guard number > 0 else { return text }
        let dot = text.utf8.dropFirst().lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex
        let end = text.utf8.distance(from: dot, to: text.endIndex) > 64 ? "" : text[dot...]
        let suffix = "-\(number)\(end)"
        var stem = text[..<(end.isEmpty ? text.endIndex : dot)]
        while stem.utf8.count + suffix.utf8.count > Self.maximumLength { stem.removeLast() }
        return stem + suffix
    }

    /// This name as text.
    var description: String { text }
}
