internal import UserFiles

/// Reads an extended regular expression of POSIX.
struct LinkExpressionParser {
    indirect enum Node: Equatable {
        case step(LinkExpression.Step)
        case sequence([Node])
        case choice(Node, Node)
        case group(Int, Node)
        /// A node, with the least and the greatest number of its repeats; nil for no greatest number.
        case repeated(Node, Int, Int?)
    }

    private var rest: ArraySlice<UInt8>
    private let isIgnoringCase: Bool
    /// The number of groups so far.
    private(set) var groups = 0

    init(_ pattern: [UInt8], ignoringCase: Bool) {
        rest = pattern[...]
        isIgnoringCase = ignoringCase
    }

    mutating func parse() throws(LinkSyntaxError) -> Node {
        let tree = try alternatives()
        guard rest.isEmpty else { throw Self.invalid("has a ) without a (; write \\) for the character") }
        return tree
    }

    private static func invalid(_ reason: String) -> LinkSyntaxError {
        LinkSyntaxError("the regular expression \(reason)")
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func alternatives() throws(LinkSyntaxError) -> Node {
        var branches: [Node] = []
        repeat { branches.append(try branch()) } while takes("|")
        return branches.dropLast().reversed().reduce(branches[branches.count - 1]) { .choice($1, $0) }
    }

    private mutating func branch() throws(LinkSyntaxError) -> Node {
        var nodes: [Node] = []
        while let byte = rest.first, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
            var node = try atom()
            while let (least, most) = try count() {
                // A repetition of nothing is nothing, and takes no time to write.
                if node == .sequence([]) { continue }
                node = most == 0 ? .sequence([]) : .repeated(node, least, most)
            }
            nodes.append(node)
        }
        return .sequence(nodes)
    }

    private mutating func count() throws(LinkSyntaxError) -> (Int, Int?)? {
        if takes("*") { return (0, nil) }
        if takes("+") { return (1, nil) }
        if takes("?") { return (0, 1) }
        guard takes("{") else { return nil }
        let text = rest.prefix { $0 != UInt8(ascii: "}") }
        rest = rest.dropFirst(text.count)
        let parts = text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { Int(String(decoding: $0, as: UTF8.self)) }
        guard takes("}"), (1...2).contains(parts.count), let least = parts[0],
            parts.count == 1 || parts[1] != nil || text.last == UInt8(ascii: ",")
        else {
            throw Self.invalid("has a { that is not part of a count such as {2} or {2,4}; write \\{ for the character")
        }
        let most = parts.count == 1 ? least : parts[1]
        guard max(least, most ?? 0) <= LinkExpression.maximumRepetition else {
            throw Self.invalid("repeats something more than \(LinkExpression.maximumRepetition) times; write * or +")
        }
        guard least >= 0, most.map({ least <= $0 }) ?? true else {
            throw Self.invalid("has a count that ends before it begins")
        }
        return (least, most)
    }

    private mutating func atom() throws(LinkSyntaxError) -> Node {
        guard let byte = rest.popFirst() else { return .sequence([]) }
        switch byte {
        case UInt8(ascii: "("):
            groups += 1
            let number = groups
            let node = try alternatives()
            guard takes(")") else { throw Self.invalid("has a ( without a ); write \\( for the character") }
            return .group(number, node)
        case UInt8(ascii: "["): return .step(.byte(try bracket()))
        case UInt8(ascii: "."): return .step(.byte(ByteSet().inverted))
        case UInt8(ascii: "^"): return .step(.beginning)
        case UInt8(ascii: "$"): return .step(.end)
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"), UInt8(ascii: "{"):
            let character = Unicode.Scalar(byte)
            throw Self.invalid(
                "has a \(character) with nothing to repeat before it; write \\\(character) for the character"
            )
        case UInt8(ascii: "\\"):
            guard let escaped = rest.popFirst() else { throw Self.invalid("ends with a \\") }
            if (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(escaped) {
                throw Self.invalid("refers back to a group, which may take too long")
            }
            guard !Self.isAlphanumeric(escaped) else {
                throw Self.invalid(
                    "has \\\(Unicode.Scalar(escaped)), which has no meaning; write a set such as [0-9a-z]"
                )
            }
            return .step(.byte(set([escaped])))
        default: return .step(.byte(set([byte])))
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        classes["alnum"]?(byte) == true
    }

    /// Returns the set of some bytes, in both cases if case does not matter.
    private func set(_ bytes: some Sequence<UInt8>) -> ByteSet {
        var set = ByteSet(bytes)
        guard isIgnoringCase else { return set }
        for letter in UInt8(ascii: "a")...UInt8(ascii: "z") where set.contains(letter) || set.contains(letter - 32) {
            set.insert(letter)
            set.insert(letter - 32)
        }
        return set
    }

    /// Reads a set after its `[`.
    private mutating func bracket() throws(LinkSyntaxError) -> ByteSet {
        let isInverted = takes("^")
        var bytes: [UInt8] = []
        var isFirst = true
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "]"), !isFirst {
                let set = set(bytes)
                return isInverted ? set.inverted : set
            }
            isFirst = false
            if byte == UInt8(ascii: "["), let kind = rest.first, ":=.".utf8.contains(kind) {
                let name = String(decoding: rest.dropFirst().prefix { $0 != kind }, as: UTF8.self)
                rest = rest.dropFirst(name.utf8.count + 2)
                guard kind == UInt8(ascii: ":"), takes("]"), let contains = Self.classes[name] else {
                    throw Self.invalid("has a set with [\(Unicode.Scalar(kind)) that is not a class such as [:alpha:]")
                }
                bytes += (0..<128).filter(contains)
            } else if rest.first == UInt8(ascii: "-"), let last = rest.dropFirst().first, last != UInt8(ascii: "]") {
                rest = rest.dropFirst(2)
                guard byte <= last else { throw Self.invalid("has a range that ends before it begins") }
                bytes += byte...last
            } else {
                bytes.append(byte)
            }
        }
        throw Self.invalid("has a [ without a ]; write \\[ for the character")
    }

    /// The classes of characters in ASCII (POSIX, locale `C`).
    private static let classes: [String: @Sendable (UInt8) -> Bool] = [
        "alnum": { isLetter($0) || isDigit($0) },
        "alpha": isLetter,
        "blank": { $0 == 0x20 || $0 == 0x09 },
        "cntrl": { $0 < 0x20 || $0 == 0x7F },
        "digit": isDigit,
        "graph": { (0x21...0x7E).contains($0) },
        "lower": { isLetter($0) && $0 >= UInt8(ascii: "a") },
        "print": { (0x20...0x7E).contains($0) },
        "punct": { (0x21...0x7E).contains($0) && !isLetter($0) && !isDigit($0) },
        "space": { $0 == 0x20 || (0x09...0x0D).contains($0) },
        "upper": { isLetter($0) && $0 <= UInt8(ascii: "Z") },
        "xdigit": { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20) },
    ]

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte >= UInt8(ascii: "A")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
