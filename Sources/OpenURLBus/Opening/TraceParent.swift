/// A request's place in a distributed trace: the value of the header `traceparent` in W3C Trace Context, level 1.
///
/// It is passed unchanged from the caller's options to the handler. The router neither creates nor changes one.
public struct TraceParent: RawRepresentable, Sendable, Hashable {
    /// This value as text.
    public let rawValue: String

    /// Maximum size in bytes. A later version of the format may add parts to the end.
    private static let maximumBytes = 256
    /// Lengths of the parts that every version has, in digits: the version, the trace, the parent and the flags.
    private static let parts = [2, 32, 16, 2]

    /// Creates a value; nil if the text breaks the rules of section 3.2 of the specification.
    public init?(rawValue: String) {
        let parts = rawValue.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard rawValue.utf8.count <= Self.maximumBytes, parts.count >= Self.parts.count,
            zip(parts, Self.parts).allSatisfy({ $0.count == $1 && $0.allSatisfy(\.isLowercaseHexDigit) }),
            // Version `ff` is invalid, and version `00` has only these parts.
            !parts[0].elementsEqual("ff".utf8), parts.count == Self.parts.count || !parts[0].elementsEqual("00".utf8),
            // If a trace or a parent is all zeros, there is none.
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
