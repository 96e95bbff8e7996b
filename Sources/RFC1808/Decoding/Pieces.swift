/// The pieces of a component between separators, found one by one.
struct Pieces: Collection, Sendable {
    typealias Index = GenericURL.PieceIndex

    /// What is split; `nil` has no pieces, the empty text has an empty one.
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

    private func split(from position: Index) -> (piece: Substring, rest: Substring?) {
        guard let component, let start = position.start else { preconditionFailure("index out of range") }
        return component[start...].split(atFirst: separator)
    }
}

extension GenericURL {
    /// Where a path segment or a query item starts.
    public struct PieceIndex: Comparable, Hashable, Sendable {
        /// `nil` past the last piece.
        let start: String.Index?

        /// Whether `a` comes before `b`.
        public static func < (a: PieceIndex, b: PieceIndex) -> Bool {
            guard let start = a.start else { return false }
            return b.start.map { start < $0 } ?? true
        }
    }
}
