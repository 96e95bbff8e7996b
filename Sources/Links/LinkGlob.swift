/// A pattern in which `*` stands for any bytes, even none, and everything else for itself.
///
/// Matching takes at most the product of the two lengths, no matter how many stars there are.
struct LinkGlob: Sendable, Hashable {
    /// The pattern as written.
    let bytes: [UInt8]
    /// The bytes before the first star; all of them if there is none.
    let prefix: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        prefix = self.bytes.prefix { $0 != Self.star }
    }

    /// Whether the pattern has no star.
    var isLiteral: Bool { prefix.count == bytes.count }

    private static let star = UInt8(ascii: "*")

    /// Returns whether the pattern matches the whole text.
    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.starts(with: prefix) else { return false }
        if isLiteral { return text.count == bytes.count }
        var place = text.startIndex + prefix.count
        var index = prefix.count
        // If the pattern does not fit after the last star, the star takes one byte more.
        var retry: (index: Int, place: Int)?
        while place < text.endIndex {
            if index < bytes.count, bytes[index] == Self.star {
                index += 1
                retry = (index, place)
            } else if index < bytes.count, bytes[index] == text[place] {
                index += 1
                place += 1
            } else if let last = retry {
                retry = (last.index, last.place + 1)
                (index, place) = (last.index, last.place + 1)
            } else {
                return false
            }
        }
        return bytes[index...].allSatisfy { $0 == Self.star }
    }
}
