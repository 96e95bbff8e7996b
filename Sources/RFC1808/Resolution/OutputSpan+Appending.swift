extension String {
    /// Creates a string from the ASCII bytes that `body` writes directly into its storage.
    init(utf8Capacity: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
        self = unsafe String(unsafeUninitializedCapacity: utf8Capacity) { buffer in
            var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
            body(&output)
            return unsafe output.finalize(for: buffer)
        }
    }
}

extension OutputSpan<UInt8> {
    /// Returns the byte at an offset, or 0 past the end. No URL contains a 0 byte.
    func byte(at offset: Int) -> UInt8 {
        offset < count ? self[offset] : 0
    }

    /// Returns the offset of the first `scalar`, or the end of the output.
    func firstIndex(of scalar: Unicode.Scalar, from start: Int) -> Int {
        var index = start
        while index < count, self[index] != UInt8(ascii: scalar) { index += 1 }
        return index
    }

    func hasColonInFirstSegment(from start: Int) -> Bool {
        for index in start..<count {
            switch self[index] {
            case UInt8(ascii: ":"): return true
            case UInt8(ascii: "/"), UInt8(ascii: ";"): return false
            default: continue
            }
        }
        return false
    }

    mutating func append(copying source: Span<UInt8>) {
        precondition(source.count <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            unsafe source.withUnsafeBufferPointer { source in
                _ = unsafe buffer.extracting(count...).initialize(fromContentsOf: source)
                count += source.count
            }
        }
    }

    /// Inserts scalars at `offset`, moving everything after it towards the end.
    mutating func insert(_ scalars: Unicode.Scalar..., at offset: Int) {
        for scalar in scalars { append(UInt8(ascii: scalar)) }
        for index in stride(from: count - 1, through: offset + scalars.count, by: -1) {
            self[index] = self[index - scalars.count]
        }
        for (index, scalar) in scalars.enumerated() { self[offset + index] = UInt8(ascii: scalar) }
    }

    /// Appends segments without their dot segments. Each `..` removes the segment before it.
    ///
    /// The segments already in the output start at `floor`, and each of them ends in a slash. A byte is read again only
    /// if a `..` removes it, so this takes linear time.
    mutating func appendSegments(_ bytes: Span<UInt8>, floor: Int, keepingSurplus: Bool) {
        var copied = 0
        var index = 0
        while index < bytes.count {
            // Almost every byte takes this path, and nothing is copied here: whole runs of bytes are copied at the next
            // dot segment.
            guard bytes[index] == UInt8(ascii: "."), index == 0 || bytes[index - 1] == UInt8(ascii: "/") else {
                index += 1
                continue
            }
            let segment = index
            while index < bytes.count, bytes[index] == UInt8(ascii: ".") { index += 1 }
            let length = index - segment
            guard length <= 2, index == bytes.count || bytes[index] == UInt8(ascii: "/") else { continue }
            if index < bytes.count { index += 1 }
            append(copying: bytes.extracting(copied..<segment))
            copied = index
            if length == 2, !removeLastSegment(floor: floor), keepingSurplus {
                append(copying: bytes.extracting(segment..<index))
            }
        }
        append(copying: bytes.extracting(copied...))
    }

    /// Removes the last segment and its slash, and returns `true`. If there is none, or if it is `..`, removes nothing
    /// and returns `false`.
    private mutating func removeLastSegment(floor: Int) -> Bool {
        guard count > floor else { return false }
        var start = count - 1
        while start > floor, self[start - 1] != UInt8(ascii: "/") { start -= 1 }
        if count - start == 3, self[start] == UInt8(ascii: "."), self[start + 1] == UInt8(ascii: ".") { return false }
        removeLast(count - start)
        return true
    }
}
