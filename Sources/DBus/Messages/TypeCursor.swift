/// A position in the promised signature of a message's body, or of one container, while the values are written.
///
/// Each step is checked, because receivers reject a message whose body differs from its signature, or read wrong values
/// from it. Positions are byte positions in the signatures that the writer holds.
struct TypeCursor {
    private let start: Int
    private let end: Int
    private let repeats: Bool
    private var next: Int

    /// Creates a cursor that expects the types in a range, in order.
    ///
    /// - Parameter repeats: Whether the types are those of an array's element, which may occur any number of times.
    init(_ types: Range<Int>, repeats: Bool = false) {
        start = types.lowerBound
        end = types.upperBound
        next = start
        self.repeats = repeats
    }

    /// Whether no value is missing: all types have been taken or, in an array, the last element is complete.
    var isComplete: Bool { next == (repeats ? start : end) }

    /// Takes a basic type or a variant.
    ///
    /// - Returns: Whether the type is the next one.
    mutating func take(_ code: UInt8, of types: borrowing ByteBuffer) -> Bool {
        guard next != end, types[next] == code else { return false }
        advance(to: next + 1)
        return true
    }

    /// Takes an array.
    ///
    /// - Returns: The position of the element's type; nil if another type comes next.
    mutating func takeArray(of types: borrowing ByteBuffer) -> Range<Int>? {
        guard next != end, types[next] == UInt8(ascii: "a") else { return nil }
        let first = next + 1
        let last = endOfType(at: first, of: types)
        advance(to: last)
        return first..<last
    }

    /// Takes a structure, which begins with `(`, or a dictionary's entry, which begins with `{`.
    ///
    /// - Returns: The positions of the fields' types; nil if another type comes next.
    mutating func takeBracketed(_ bracket: UInt8, of types: borrowing ByteBuffer) -> Range<Int>? {
        guard next != end, types[next] == bracket else { return nil }
        let first = next + 1
        let last = endOfType(at: next, of: types)
        advance(to: last)
        return first..<last - 1
    }

    /// Takes an `a{sv}`.
    ///
    /// - Returns: The position of its entry's type; nil if another type comes next.
    mutating func takeOptions(of types: borrowing ByteBuffer) -> Range<Int>? {
        guard let entry = takeArray(of: types), entry.count == Self.entry.utf8CodeUnitCount,
            types.holds(Self.entry, at: entry.lowerBound)
        else { return nil }
        return entry
    }

    /// Takes a whole entry of an `a{sv}`.
    ///
    /// - Returns: Whether it is the next type.
    mutating func takeEntry(of types: borrowing ByteBuffer) -> Bool {
        guard end - next == Self.entry.utf8CodeUnitCount, types.holds(Self.entry, at: next) else { return false }
        advance(to: end)
        return true
    }

    private static let entry: StaticString = "{sv}"

    private mutating func advance(to position: Int) {
        next = repeats && position == end ? start : position
    }

    private func endOfType(at position: Int, of types: borrowing ByteBuffer) -> Int {
        var position = position
        var depth = 0
        while position != end {
            let byte = types[position]
            position += 1
            switch byte {
            case UInt8(ascii: "a"): continue
            case UInt8(ascii: "("), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth == 0 { break }
        }
        return position
    }
}
