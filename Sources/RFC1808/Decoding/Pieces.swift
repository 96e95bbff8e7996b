/// The pieces of a component between its separators, each found on demand.
struct Pieces: BidirectionalCollection, Sendable, CustomStringConvertible {
    /// The text to split. If it is empty, there is one empty piece; if it is `nil`, there are none.
    let component: Substring?
    let separator: UInt8

    init(of component: Substring?, separatedBy separator: Unicode.Scalar) {
        self.component = component
        self.separator = UInt8(ascii: separator)
    }

    var startIndex: Index { Index(start: component?.startIndex) }
    var endIndex: Index { Index(start: nil) }

    subscript(position: Index) -> Substring {
        split(from: position).piece
    }

    func index(after position: Index) -> Index {
        Index(start: split(from: position).rest?.startIndex)
    }

    func index(before position: Index) -> Index {
        guard let component, position != startIndex else { preconditionFailure("index out of range") }
        var before = component[..<(position.start ?? component.endIndex)].utf8
        if position.start != nil { before.removeLast() }
        let separator = before.lastIndex(of: separator)
        return Index(start: separator.map(before.index(after:)) ?? before.startIndex)
    }

    private func split(from position: Index) -> (piece: Substring, rest: Substring?) {
        guard let component, let start = position.start else { preconditionFailure("index out of range") }
        return component[start...].split(atFirst: separator)
    }

    var description: String { Array(self).description }

    /// The position of a piece.
    struct Index: Comparable, Hashable {
        /// The start of the piece; `nil` for the position after the last one.
        let start: String.Index?

        static func < (a: Index, b: Index) -> Bool {
            guard let start = a.start else { return false }
            return b.start.map { start < $0 } ?? true
        }
    }
}
