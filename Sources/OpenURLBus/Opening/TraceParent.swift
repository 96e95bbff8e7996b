/// The place of a request in a distributed trace: the value of the header `traceparent` of W3C Trace Context, level 1.
///
/// The value goes from the caller's options to the handler unchanged. The router makes none and does not change any.
public struct TraceParent: RawRepresentable, Sendable, Hashable {
    /// The value as text.
    public let rawValue: String

    /// The largest size in bytes. A later version of the format may add parts to the end.
    private static let maximumBytes = 256
    /// The parts of every version: the version, the trace, the parent and the flags, by their number of digits.
    private static let parts = [2, 32, 16, 2]

    /// Creates a value; nil if the text breaks the rules of section 3.2 of the specification.
    public init?(rawValue: String) {
        let parts = rawValue.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard rawValue.utf8.count <= Self.maximumBytes, parts.count >= Self.parts.count,
            zip(parts, Self.parts).allSatisfy({ $0.count == $1 && $0.allSatisfy(\.isLowercaseHexDigit) }),
            // The version `ff` means nothing, and the version `00` has no further parts.
            !parts[0].elementsEqual("ff".utf8), parts.count == Self.parts.count || !parts[0].elementsEqual("00".utf8),
            // A trace or a parent of zeros is none.
            parts[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } }),
            parts.dropFirst(Self.parts.count).allSatisfy({ $0.allSatisfy { (0x21...0x7E).contains($0) } })
        else { return nil }
        self.rawValue = rawValue
    }
}

extension TraceParent: Word {
    package static func problem(with word: String) -> String { "'traceparent' breaks the rules of W3C Trace Context" }
}

extension UInt8 {
    fileprivate var isLowercaseHexDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}
