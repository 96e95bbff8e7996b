import CLinux
import Glibc

/// One entry's change of a `mimeinfo.cache`, made on its bytes.
///
/// One pass over the lines with a comparison or two for each. Types and IDs stay in the order of their bytes if they were in
/// it, as `update-desktop-database` writes them.
struct MimeCacheEdit {
    /// What becomes of the contents.
    enum Result: Hashable {
        /// They are like that.
        case unchanged
        /// They become these, in so many pieces: most of them are what they were.
        case changed([ArraySlice<UInt8>])
        /// They are those of no cache.
        case noCache
    }

    private(set) var result: Result = .noCache

    /// Bytes to be put in the place of others.
    private struct Replacement {
        var range: Range<Int>
        var bytes: [UInt8]
    }

    private let element: [UInt8]
    private let types: [[UInt8]]

    private static let newline = UInt8(ascii: "\n")
    private static let separator = UInt8(ascii: ";")

    init(_ bytes: [UInt8], of id: DesktopFileID, claims: Set<String>) {
        // With the separator after it.
        element = Array(KeyFileText.strings([id.rawValue]).utf8).dropLast()
        types = claims.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        var bytes = bytes
        if let last = bytes.last, last != Self.newline { bytes.append(Self.newline) }
        guard let replacements = bytes.withUnsafeBufferPointer(replacements(in:)) else { return }
        result = replacements.isEmpty ? .unchanged : .changed(applied(replacements, to: bytes))
    }

    /// What is to be changed; nil if it is no cache.
    private func replacements(in bytes: UnsafeBufferPointer<UInt8>) -> [Replacement]? {
        guard let base = bytes.baseAddress else { return nil }
        var replacements: [Replacement] = []
        /// Where the line of a type that has none goes.
        var places = [Int?](repeating: nil, count: types.count)
        var isFound = [Bool](repeating: false, count: types.count)
        /// The first type whose place has not been passed.
        var next = 0
        var isInGroup = false
        var groupEnd: Int?
        /// The key before this one, and whether all were in order so far.
        var last: Range<Int>?
        var isOrdered = true

        var start = 0
        while start < bytes.count, let found = memchr(base + start, Int32(Self.newline), bytes.count - start) {
            let end = UnsafeRawPointer(found) - UnsafeRawPointer(base) + 1
            defer { start = end }
            switch bytes[start] {
            case UInt8(ascii: "["):
                // The line may have blanks or a CR at its end.
                isInGroup = bytes[start + 1..<end].starts(with: "\(MimeInfoCache.groupName)]".utf8)
            case UInt8(ascii: "#"), Self.newline: continue
            default:
                guard isInGroup, let sign = memchr(base + start, Int32(UInt8(ascii: "=")), end - start) else {
                    continue
                }
                let key = start..<UnsafeRawPointer(sign) - UnsafeRawPointer(base)
                if isOrdered, let last { isOrdered = compare(bytes, last, key) <= 0 }
                last = key
                var order = 1
                while next < types.count {
                    order = types[next].withUnsafeBufferPointer { compare($0, 0..<$0.count, bytes, key) }
                    if order >= 0 { break }
                    places[next] = start
                    next += 1
                }
                // Among keys in order it is the next type or none.
                let claimed = next < types.count && order == 0 ? next : isOrdered ? nil : index(of: key, in: bytes)
                if let claimed { isFound[claimed] = true }
                guard claimed != nil || mayHoldElement(base + key.upperBound + 1, end - key.upperBound - 1) else {
                    break
                }
                let line = line(bytes, key, end, isClaimed: claimed != nil)
                if let line { replacements.append(Replacement(range: start..<end, bytes: line)) }
            }
            if isInGroup { groupEnd = end }
        }
        guard let groupEnd else { return nil }
        for (index, type) in types.enumerated() where !isFound[index] {
            let line = type + [UInt8(ascii: "=")] + element + [Self.separator, Self.newline]
            let place = places[index] ?? groupEnd
            replacements.append(Replacement(range: place..<place, bytes: line))
        }
        return replacements
    }

    /// The line with the ID or without it; `nil` if it is like that.
    private func line(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ key: Range<Int>,
        _ end: Int,
        isClaimed: Bool
    ) -> [UInt8]? {
        var elements = elements(bytes[key.upperBound + 1..<end - 1])
        let others = elements.filter { !$0.elementsEqual(element) }
        if isClaimed {
            guard others.count == elements.count else { return nil }
            let index = others.firstIndex { element.lexicographicallyPrecedes($0) } ?? others.count
            elements.insert(element[...], at: index)
        } else {
            guard others.count < elements.count else { return nil }
            elements = others
        }
        guard !elements.isEmpty else { return [] }
        return Array(bytes[key]) + [UInt8(ascii: "=")] + elements.flatMap { $0 + [Self.separator] } + [Self.newline]
    }

    /// The elements of a list as they are written.
    private func elements(_ value: Slice<UnsafeBufferPointer<UInt8>>) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        var element: ArraySlice<UInt8> = []
        var isEscaped = false
        for byte in value {
            if byte == Self.separator, !isEscaped {
                if !element.isEmpty { elements.append(element) }
                element = []
            } else if byte != UInt8(ascii: "\r") {
                element.append(byte)
            }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return element.isEmpty ? elements : elements + [element]
    }

    /// Whether a value has the ID in it, as an element or as a part of one.
    private func mayHoldElement(_ value: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        if count <= element.count { return false }
        // Nearly every value is one ID with a separator.
        if let separator = memchr(value, Int32(Self.separator), count),
            UnsafeRawPointer(separator) == UnsafeRawPointer(value + count - 2)
        {
            return count - 2 == element.count && memcmp(value, element, element.count) == 0
        }
        return memmem(value, count, element, element.count) != nil
    }

    /// Which of the types a key is.
    private func index(of key: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var low = 0
        var high = types.count
        while low < high {
            let middle = (low + high) / 2
            let order = types[middle].withUnsafeBufferPointer { compare($0, 0..<$0.count, bytes, key) }
            if order == 0 { return middle }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    private func compare(_ bytes: UnsafeBufferPointer<UInt8>, _ left: Range<Int>, _ right: Range<Int>) -> Int {
        compare(bytes, left, bytes, right)
    }

    /// The order of two pieces of text: negative if the left one comes first, zero if they are the same.
    private func compare(
        _ left: UnsafeBufferPointer<UInt8>,
        _ leftRange: Range<Int>,
        _ right: UnsafeBufferPointer<UInt8>,
        _ rightRange: Range<Int>
    ) -> Int {
        // Without an address there are no bytes to be compared.
        guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else {
            return left.count - right.count
        }
        let count = min(leftRange.count, rightRange.count)
        let order = memcmp(leftBase + leftRange.lowerBound, rightBase + rightRange.lowerBound, count)
        return order != 0 ? Int(order) : leftRange.count - rightRange.count
    }

    private func applied(_ replacements: [Replacement], to bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        // At one place a new line comes before the line that is replaced there, in the order in which they were found.
        let sorted = replacements.enumerated().sorted {
            ($0.element.range.lowerBound, $0.element.range.count, $0.offset)
                < ($1.element.range.lowerBound, $1.element.range.count, $1.offset)
        }
        var pieces: [ArraySlice<UInt8>] = []
        var position = 0
        for (_, replacement) in sorted {
            pieces.append(bytes[position..<replacement.range.lowerBound])
            pieces.append(replacement.bytes[...])
            position = replacement.range.upperBound
        }
        pieces.append(bytes[position...])
        return pieces
    }
}
