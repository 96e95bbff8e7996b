internal import RFC1808

/// The path of a link in the one form in which all programs agree on it, decoded once.
///
/// A server, a browser and an app may read the same path differently: with `..`, with `//`, with a backslash, with an
/// escaped slash, decoded twice. A path that leaves room for that is refused, so it never enters a pattern and never
/// escapes from one.
public struct LinkPath: Sendable, Hashable {
    /// The decoded path, which is UTF-8 and begins with a slash.
    let bytes: [UInt8]

    /// Maximum length of a path, as it is written.
    public static let maximumLength = 2048

    /// Why a path is not for apps.
    public enum Refusal: Error, Hashable, CustomStringConvertible {
        /// The path is longer than ``LinkPath/maximumLength``.
        case tooLong
        /// The path does not begin with a slash.
        case relative
        /// A segment is `.` or `..`, or empty.
        case segment
        /// The path has an escape for a slash, a backslash, a semicolon, a control character or another escape, or has such
        /// a character itself.
        case ambiguous
        /// The decoded path is not UTF-8.
        case notUTF8

        /// The refusal, worded to follow "the path".
        public var description: String {
            switch self {
            case .tooLong: "is longer than \(maximumLength) bytes"
            case .relative: "does not begin with '/'"
            case .segment: "has an empty segment, or one that is '.' or '..'"
            case .ambiguous: "has characters or escapes that programs read differently"
            case .notUTF8: "is not UTF-8"
            }
        }
    }

    /// Checks and decodes the path of a URL. An empty path is `/`.
    public init(_ text: some StringProtocol) throws(Refusal) {
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong }
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { throw .relative }
        let decoded = try Self.decoded(text.isEmpty ? [UInt8(ascii: "/")] : Array(text.utf8))
        try Self.checkSegments(decoded)
        bytes = decoded
    }

    /// Decodes the escapes of a path once.
    static func decoded(_ text: [UInt8]) throws(Refusal) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            var byte = text[position]
            position += 1
            if byte == UInt8(ascii: "%") {
                guard position + 1 < text.count, let high = digit(text[position]), let low = digit(text[position + 1])
                else { throw .ambiguous }
                byte = high << 4 | low
                position += 2
                guard byte != UInt8(ascii: "/") else { throw .ambiguous }
            }
            guard !isAmbiguous(byte) else { throw .ambiguous }
            bytes.append(byte)
        }
        // An escape that is left was escaped twice, and a program that decodes twice would read another path.
        for index in bytes.indices.dropLast(2) where bytes[index] == UInt8(ascii: "%") {
            guard digit(bytes[index + 1]) == nil || digit(bytes[index + 2]) == nil else { throw .ambiguous }
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
        return bytes
    }

    /// Checks the segments of a decoded path. Only the last one may be empty.
    static func checkSegments(_ bytes: [UInt8]) throws(Refusal) {
        let segments = bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for segment in segments {
            let dots = segment.count <= 2 && segment.allSatisfy { $0 == UInt8(ascii: ".") }
            guard !dots || segment.isEmpty && segment.endIndex == bytes.endIndex else { throw .segment }
        }
    }

    /// Returns whether programs may read a byte of a path differently. A server may end the path at a semicolon, and a
    /// browser turns a backslash into a slash.
    private static func isAmbiguous(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: ";")
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
