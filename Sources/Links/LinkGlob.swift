/// A pattern in which `*` stands for any bytes, even none, and everything else for itself.
///
/// Matching takes at most the product of the two lengths, no matter how many stars there are.
struct LinkGlob: Sendable, Hashable {
    /// The pattern as written.
    let bytes: [UInt8]
    /// The bytes before the first star; all of the pattern if there is none.
    private let beginning: ArraySlice<UInt8>
    /// The pieces between two stars, in order, without empty ones.
    private let middle: [ArraySlice<UInt8>]
    /// The bytes after the last star; nil if there is no star.
    private let end: ArraySlice<UInt8>?

    static let star = UInt8(ascii: "*")

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        let pieces = self.bytes.split(separator: Self.star, omittingEmptySubsequences: false)
        beginning = pieces[0]
        middle = pieces.dropFirst().dropLast().filter { !$0.isEmpty }
        end = pieces.count > 1 ? pieces[pieces.count - 1] : nil
    }

    /// Returns whether the pattern matches the whole text.
    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.starts(with: beginning) else { return false }
        var rest = text.dropFirst(beginning.count)
        guard let end else { return rest.isEmpty }
        guard rest.suffix(end.count).elementsEqual(end) else { return false }
        rest = rest.dropLast(end.count)
        // If the first place for a piece is not good, no later one is: it leaves less for the pieces after it.
        for piece in middle {
            guard let found = Self.firstIndex(of: piece, in: rest) else { return false }
            rest = rest[(found + piece.count)...]
        }
        return true
    }

    private static func firstIndex(of piece: ArraySlice<UInt8>, in text: ArraySlice<UInt8>) -> Int? {
        guard let first = piece.first, piece.count <= text.count else { return nil }
        return text.dropLast(piece.count - 1).indices.first { place in
            text[place] == first && text[place...].starts(with: piece)
        }
    }
}
