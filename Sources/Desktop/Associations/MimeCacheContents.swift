import Glibc

/// The contents of a `mimeinfo.cache` as `update-desktop-database` writes it: a heading, and under it one line for each type, in
/// the order of their bytes.
///
/// A type's line is found by halves, so a change among 100,000 types looks at a few dozen lines. Any bytes may be looked at like
/// that, but of others than those it may be told that a type has no line where it has one.
struct MimeCacheContents {
    let bytes: [UInt8]

    private static let heading = Array("[\(MimeInfoCache.groupName)]\n".utf8)
    private static let newline = UInt8(ascii: "\n")
    private static let sign = UInt8(ascii: "=")
    private static let separator = UInt8(ascii: ";")

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// What entries claim.
    init(_ claims: [String: [DesktopFileID]]) {
        var text = String(decoding: Self.heading, as: UTF8.self)
        for (type, ids) in claims.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            text += "\(type)=\(KeyFileText.strings(ids.sorted().map(\.rawValue)))\n"
        }
        bytes = Array(text.utf8)
    }

    /// Whether they are of that kind, to the last line.
    var isOrdered: Bool {
        guard bytes.starts(with: Self.heading) else { return false }
        var start = Self.heading.count
        var last = start..<start
        while start < bytes.count {
            guard let end = index(of: Self.newline, in: start..<bytes.count),
                let sign = index(of: Self.sign, in: start..<end), bytes[start] != UInt8(ascii: "["),
                bytes[start] != UInt8(ascii: "#"), order(bytes[last], start..<sign) < 0
            else { return false }
            last = start..<sign
            start = end + 1
        }
        return true
    }

    /// The contents after an entry has come to claim other types than before: in pieces, most of which are what they were; `nil`
    /// if they are like that.
    func changing(
        _ id: DesktopFileID,
        claims types: Set<String>,
        insteadOf before: Set<String>
    ) -> [ArraySlice<UInt8>]? {
        // With the separator after it.
        let element = Array(KeyFileText.strings([id.rawValue]).utf8).dropLast()
        var pieces: [ArraySlice<UInt8>] = []
        var position = 0
        for type in types.union(before).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let old = line(of: Array(type.utf8))
            var elements = elements(of: old)
            let index = elements.firstIndex { $0.elementsEqual(element) }
            guard types.contains(type) == (index == nil) else { continue }
            if let index {
                elements.remove(at: index)
            } else {
                let index = elements.firstIndex { element.lexicographicallyPrecedes($0) } ?? elements.endIndex
                elements.insert(element, at: index)
            }
            let value = elements.flatMap { $0 + [Self.separator] }
            let new = elements.isEmpty ? [] : Array(type.utf8) + [Self.sign] + value + [Self.newline]
            pieces += [bytes[position..<old.lowerBound], new[...]]
            position = old.upperBound
        }
        return pieces.isEmpty ? nil : pieces + [bytes[position...]]
    }

    /// The line of a type, or the empty range where it would be.
    private func line(of type: [UInt8]) -> Range<Int> {
        var (low, high) = (min(Self.heading.count, bytes.count), bytes.count)
        while low < high {
            let middle = (low + high) / 2
            let start = bytes[low..<middle].lastIndex(of: Self.newline).map { $0 + 1 } ?? low
            let end = index(of: Self.newline, in: middle..<high).map { $0 + 1 } ?? high
            let order = order(type[...], start..<(index(of: Self.sign, in: start..<end) ?? end))
            if order == 0 { return start..<end }
            if order < 0 { high = start } else { low = end }
        }
        return low..<low
    }

    /// The IDs in a line, as they are written.
    private func elements(of line: Range<Int>) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        var start = index(of: Self.sign, in: line).map { $0 + 1 } ?? line.upperBound
        var isEscaped = false
        for position in start..<line.upperBound {
            let byte = bytes[position]
            if byte == Self.newline || byte == Self.separator && !isEscaped {
                if start < position { elements.append(bytes[start..<position]) }
                start = position + 1
            }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return elements
    }

    private func index(of byte: UInt8, in range: Range<Int>) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress, let found = memchr(base + range.lowerBound, Int32(byte), range.count)
            else { return nil }
            return UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
    }

    /// How a text and a piece of the contents are ordered: negative if the text comes first, zero if they are the same.
    private func order(_ text: ArraySlice<UInt8>, _ range: Range<Int>) -> Int {
        let order = text.withUnsafeBytes { left in
            bytes[range].withUnsafeBytes { right -> Int32 in
                guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
                return memcmp(left, right, min(text.count, range.count))
            }
        }
        return order != 0 ? Int(order) : text.count - range.count
    }
}
