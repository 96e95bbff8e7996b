/// Finds the patterns that can match a link, so that the others need not be compared.
///
/// The bytes that a pattern spells out are in every link that it matches. So each pattern is filed under four of these bytes,
/// or under its rule's sources: under those that the fewest patterns share. A search looks up each four bytes of the link,
/// and the sources that include its caller. Patterns that spell nothing out, of rules for every caller, are in every answer.
struct LinkIndex: Sendable, Hashable {
    /// A pattern of a rule.
    struct Entry: Sendable, Hashable {
        let rule: Int
        let pattern: Int
    }

    /// Four bytes or, from a piece that is shorter, all of its bytes.
    private typealias Gram = UInt32

    // Each list is in the order of the rules.
    /// The patterns that are filed under bytes, by the hash of the bytes. Every answer is compared anyway, so different
    /// bytes may share a slot. The number of slots is a power of two; there are none if no pattern is filed so.
    private var slots: [[Entry]] = []
    private var sources: [LinkRules.SourceKey: [Entry]] = [:]
    private var others: [Entry] = []
    /// The lengths of the grams under which a pattern is filed, in bytes.
    private var lengths: Set<Int> = []

    private static let gramLength = 4

    init(_ rules: [LinkRule]) {
        var patternsWithGram: [Gram: Int] = [:]
        var patternsWithSource: [LinkRules.SourceKey: Int] = [:]
        for rule in rules {
            for pattern in rule.patterns {
                for gram in Set(Self.grams(of: pattern).map(\.gram)) { patternsWithGram[gram, default: 0] += 1 }
                for source in Self.sources(of: rule) { patternsWithSource[source, default: 0] += 1 }
            }
        }
        var filed: [(gram: Gram, entry: Entry)] = []
        for (number, rule) in rules.enumerated() {
            let keys = Self.sources(of: rule)
            let patternsOfSources = keys.reduce(0) { $0 + patternsWithSource[$1, default: 0] }
            for (position, pattern) in rule.patterns.enumerated() {
                let entry = Entry(rule: number, pattern: position)
                let rarest = Self.grams(of: pattern)
                    .map { (count: patternsWithGram[$0.gram, default: 0], gram: $0.gram, length: $0.length) }
                    .min { $0.count < $1.count }
                if let rarest, keys.isEmpty || rarest.count <= patternsOfSources {
                    filed.append((rarest.gram, entry))
                    lengths.insert(rarest.length)
                } else if keys.isEmpty {
                    others.append(entry)
                } else {
                    for key in keys { sources[key, default: []].append(entry) }
                }
            }
        }
        guard !filed.isEmpty else { return }
        // With this many slots, nearly all of a link's grams meet an empty one.
        var count = 1024
        while count < 8 * filed.count { count *= 2 }
        slots = Array(repeating: [], count: count)
        for (gram, entry) in filed { slots[slot(of: gram)].append(entry) }
    }

    /// Returns lists of the patterns that can match a link from a program, each in the order of the rules.
    func entries(for link: Link, from caller: LinkCaller) -> [[Entry]] {
        var lists = others.isEmpty ? [] : [others]
        for key in caller.keys {
            if let list = sources[key] { lists.append(list) }
        }
        guard !slots.isEmpty else { return lists }
        let text = link.text
        // A link may repeat the same bytes thousands of times.
        var found: Set<Int> = []
        for length in lengths {
            Self.forEachGram(of: text[...], length: length) { gram in
                let slot = slot(of: gram)
                if !slots[slot].isEmpty, found.insert(slot).inserted { lists.append(slots[slot]) }
            }
        }
        return lists
    }

    private func slot(of gram: Gram) -> Int {
        // The upper bits of a product with an odd number depend on all bits of the gram (Knuth, "multiplicative hashing").
        Int((gram &* 0x9E37_79B1) >> (Gram.bitWidth - slots.count.trailingZeroBitCount))
    }

    /// The sources of which one includes each caller to whom a rule applies; empty if the rule is for every caller.
    private static func sources(of rule: LinkRule) -> Set<LinkRules.SourceKey> {
        let keys = rule.sources.map(\.key)
        return keys.contains(nil) ? [] : Set(keys.compactMap(\.self))
    }

    /// Returns the grams of a pattern, without those of its shorter pieces, which are in many links.
    private static func grams(of pattern: LinkPattern) -> [(gram: Gram, length: Int)] {
        let pieces = pattern.text.split(separator: LinkGlob.star).filter { $0 != [Link.boundary] }
        guard let length = pieces.map({ min($0.count, gramLength) }).max() else { return [] }
        var grams: [(gram: Gram, length: Int)] = []
        for piece in pieces { forEachGram(of: piece, length: length) { grams.append(($0, length)) } }
        return grams
    }

    private static func forEachGram(of bytes: ArraySlice<UInt8>, length: Int, _ body: (Gram) -> Void) {
        let mask: Gram = length == gramLength ? .max : (1 << (8 * Gram(length))) - 1
        var gram: Gram = 0
        for (count, byte) in bytes.enumerated() {
            gram = (gram << 8 | Gram(byte)) & mask
            if count + 1 >= length { body(gram) }
        }
    }
}

extension Link {
    /// The byte between the parts of a ``text``, which no pattern contains.
    static let boundary: UInt8 = 0

    /// The scheme, the host, the port, and the path with the query, with a boundary after each.
    fileprivate var text: [UInt8] {
        let parts = [Array(scheme.utf8), Array((host ?? "").utf8), Array((port.map(String.init) ?? "").utf8), target]
        return parts.flatMap { $0 + [Self.boundary] }
    }
}

extension LinkPattern {
    /// A glob for the ``Link/text`` of each matching link. Stars stand for any bytes, even for boundaries.
    fileprivate var text: [UInt8] {
        let any = [LinkGlob.star]
        let host =
            switch host {
            case .any: any
            case .one(let name): Array(name.utf8)
            case .below(let name): any + Array(".\(name)".utf8)
            case .matching(let glob): glob.bytes
            }
        var target = path?.bytes ?? any
        // Without a pattern for the query, the link may have any query. An empty query is as good as none.
        target += query.map { $0.bytes.isEmpty ? any : [UInt8(ascii: "?")] + $0.bytes } ?? any
        let parts = [scheme.map { Array($0.utf8) } ?? any, host, port.map { Array(String($0).utf8) } ?? any, target]
        return parts.flatMap { $0 + [Link.boundary] }
    }
}
