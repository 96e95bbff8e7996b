/// A position in the promised signature of a message's body, or of one container, while the values are written.
///
/// libdbus ends the process if a value has another type than its container. If a body differs from its signature, every
/// receiver rejects the message. Each step is therefore checked here before libdbus is called.
struct TypeCursor {
    private let types: String.UTF8View
    private let start: String.Index
    private let end: String.Index
    private let repeats: Bool
    private var next: String.Index

    /// Creates a cursor that expects the types of a signature in order.
    init(_ signature: Signature) {
        types = signature.rawValue.utf8
        start = types.startIndex
        end = types.endIndex
        next = start
        repeats = false
    }

    private init(_ types: String.UTF8View, _ start: String.Index, _ end: String.Index, repeats: Bool) {
        self.types = types
        self.start = start
        self.end = end
        self.repeats = repeats
        next = start
    }

    /// Whether no value is missing: all types have been taken. In an array, the last element is complete.
    var isComplete: Bool { next == (repeats ? start : end) }

    /// Takes a basic type or a variant.
    ///
    /// - Returns: Whether the type is the next one.
    mutating func take(_ code: CInt) -> Bool {
        guard next != end, CInt(types[next]) == code else { return false }
        advance(to: types.index(after: next))
        return true
    }

    /// Takes an array.
    ///
    /// - Returns: The cursor of the elements; nil if another type comes next.
    mutating func takeArray(of element: Substring) -> TypeCursor? {
        guard next != end, types[next] == UInt8(ascii: "a") else { return nil }
        let first = types.index(after: next)
        let last = endOfType(at: first)
        guard types[first..<last].elementsEqual(element.utf8) else { return nil }
        advance(to: last)
        return TypeCursor(types, first, last, repeats: true)
    }

    /// Takes a structure, which begins with `(`, or a dictionary's entry, which begins with `{`.
    ///
    /// - Returns: The cursor of the fields; nil if another type comes next.
    mutating func takeBracketed(_ bracket: UInt8) -> TypeCursor? {
        guard next != end, types[next] == bracket else { return nil }
        let first = types.index(after: next)
        let last = endOfType(at: next)
        advance(to: last)
        return TypeCursor(types, first, types.index(before: last), repeats: false)
    }

    private mutating func advance(to position: String.Index) {
        next = repeats && position == end ? start : position
    }

    private func endOfType(at position: String.Index) -> String.Index {
        var position = position
        var depth = 0
        while position != end {
            let byte = types[position]
            types.formIndex(after: &position)
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
