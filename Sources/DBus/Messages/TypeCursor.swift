/// How far a message's body, or one container in it, has been written, by the signature that was promised for it.
///
/// libdbus ends the process when a value of another type than the container's is put into it, and makes a message that
/// every receiver throws away when a body differs from its signature. So each step is checked here first.
struct TypeCursor {
    private let types: String.UTF8View
    private let start: String.Index
    private let end: String.Index
    private let repeats: Bool
    private var next: String.Index

    /// Expects the types of a signature one after the other.
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

    /// Whether nothing is missing: all types have been taken, or, in an array, all of each element's.
    var isComplete: Bool { next == (repeats ? start : end) }

    /// Takes a basic type or a variant.
    ///
    /// - Returns: whether that type is the next one.
    mutating func take(_ code: CInt) -> Bool {
        guard next != end, CInt(types[next]) == code else { return false }
        advance(to: types.index(after: next))
        return true
    }

    /// Takes an array.
    ///
    /// - Returns: the cursor of its elements; nil where something else comes next.
    mutating func takeArray(of element: Substring) -> TypeCursor? {
        guard next != end, types[next] == UInt8(ascii: "a") else { return nil }
        let first = types.index(after: next)
        let last = endOfType(at: first)
        guard types[first..<last].elementsEqual(element.utf8) else { return nil }
        advance(to: last)
        return TypeCursor(types, first, last, repeats: true)
    }

    /// Takes what stands in brackets: a structure, `(`, or a dictionary's entry, `{`.
    ///
    /// - Returns: the cursor of its fields; nil where something else comes next.
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
