extension GenericURL {
    /// A component's bytes, as a view of the stored string.
    ///
    /// An index is an offset from the start of the URL, in bytes, as in ``ParseError/offset``. Equality and hashing
    /// compare the bytes, and a string literal can stand for its bytes: `url.bytes.scheme == "http"`.
    public struct Bytes: Sendable {
        @usableFromInline let string: String
        @usableFromInline let range: Range<Int>

        @inlinable @inline(__always)
        init(of string: String, _ range: Range<Int>) {
            self.string = string
            self.range = range
        }

        /// Calls a closure with the bytes, and returns its result.
        @inlinable
        public func withSpan<Result: ~Copyable, Failure: Error>(
            _ body: (Span<UInt8>) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try body(string.utf8.span.extracting(range))
        }
    }
}

extension GenericURL.Bytes: RandomAccessCollection {
    /// The offset of the component's first byte in the URL.
    @inlinable @inline(__always)
    public var startIndex: Int { range.lowerBound }

    /// The offset in the URL that follows the component's last byte.
    @inlinable @inline(__always)
    public var endIndex: Int { range.upperBound }

    /// Returns the byte at an offset in the URL.
    @inlinable
    public subscript(position: Int) -> UInt8 {
        precondition(range.contains(position), "index out of range")
        return string.utf8.span[position]
    }

    /// Returns the bytes in a range of offsets in the URL.
    @inlinable
    public subscript(bounds: Range<Int>) -> GenericURL.Bytes {
        precondition(
            range.lowerBound <= bounds.lowerBound && bounds.upperBound <= range.upperBound,
            "range out of bounds"
        )
        return GenericURL.Bytes(of: string, bounds)
    }

    /// Calls a closure with the bytes as a buffer, which is always available.
    @inlinable
    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        // The protocol asks for a buffer. This span keeps it within the closure.
        try unsafe string.utf8.span.extracting(range).withUnsafeBufferPointer(body)
    }
}

extension GenericURL.Bytes: Hashable, ExpressibleByStringLiteral {
    /// Returns whether both have the same bytes, regardless of their offsets.
    @inlinable
    public static func == (a: GenericURL.Bytes, b: GenericURL.Bytes) -> Bool {
        guard a.count == b.count else { return false }
        let (a, b) = (a.string.utf8.span.extracting(a.range), b.string.utf8.span.extracting(b.range))
        for index in a.indices where a[index] != b[index] { return false }
        return true
    }

    /// Adds the bytes to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        withSpan { span in unsafe span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
    }

    /// Creates the bytes of a literal, for comparing them with a URL's bytes.
    @inlinable
    public init(stringLiteral value: String) {
        self.init(of: value, 0..<value.utf8.count)
    }
}

extension GenericURL.Bytes: CustomStringConvertible, CustomReflectable {
    /// The bytes as text.
    public var description: String { String(self) }

    /// The text of the bytes as the only child, so that `dump` does not print the rest of the URL.
    public var customMirror: Mirror {
        Mirror(self, children: ["text": description], displayStyle: .struct)
    }
}

extension Substring {
    /// Creates text from a component's bytes, as a view of the stored string.
    @inline(__always)
    public init(_ bytes: GenericURL.Bytes) {
        self.init(bytes.string, bytes.range)
    }

    /// Creates a view of a range of a string's bytes.
    @inline(__always)
    init(_ string: String, _ range: Range<Int>) {
        let utf8 = string.utf8
        let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
        let end = utf8.index(start, offsetBy: range.count)
        self.init(utf8[start..<end])
    }
}

extension String {
    /// Creates text by copying a component's bytes.
    @inline(__always)
    public init(_ bytes: GenericURL.Bytes) {
        self.init(ascii: bytes.string.utf8.span.extracting(bytes.range))
    }

    /// Creates a string from bytes that are known to be ASCII.
    init(ascii bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
