internal import URLOpener

/// A column of a ``Table``.
struct Column: ExpressibleByStringLiteral {
    /// The treatment of a cell that is wider than its column on a terminal.
    enum Overflow {
        /// The column is as wide as its widest cell.
        case none
        /// The middle of the cell is left out.
        case cut(least: Int)
        /// The cell continues on the next line.
        case wrapped(least: Int)
    }

    /// The name; empty if the column needs none.
    let name: String
    let overflow: Overflow

    init(_ name: String, _ overflow: Overflow = .none) {
        self.name = name
        self.overflow = overflow
    }

    init(stringLiteral name: String) {
        self.init(name)
    }

    /// Whether part of a cell that is wider than the column is left out.
    var isCut: Bool { if case .cut = overflow { true } else { false } }

    /// The minimum width that the column needs if its widest cell has the given width.
    func leastWidth(for width: Int) -> Int {
        switch overflow {
        case .none: width
        case .cut(let least), .wrapped(let least): min(width, max(least, name.columns))
        }
    }

    /// Splits a cell into lines that fit the given width.
    func lines(of text: String, width: Int) -> [String] {
        switch overflow {
        case .none: [text]
        case .cut: [text.keepingEnds(width)]
        case .wrapped: text.wrapped(to: width)
        }
    }
}
