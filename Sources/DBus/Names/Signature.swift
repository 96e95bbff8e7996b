/// The types of a message's body, or the type of one value, in D-Bus's notation, such as `sa{sv}`.
public struct Signature: ValidatedName {
    /// The signature as a string.
    public let rawValue: String

    /// Creates a signature from a string; nil if the string is not a valid signature.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Creates a signature from a string that you know is valid.
    init(trusted: String) {
        rawValue = trusted
    }

    /// The signature of a body without values.
    public static let empty = Signature(trusted: "")

    /// Maximum length of a signature, in bytes.
    static let maximumLength = 255
    /// Maximum depth of nested arrays, and also of nested structures.
    private static let maximumNesting = 32

    /// Whether the bytes are a valid signature.
    ///
    /// A signature is a sequence of complete types, at most 255 bytes long, in which arrays and structures are each
    /// nested at most 32 deep ("Type System", D-Bus specification).
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= maximumLength else { return false }
        var text = String(bytes)
        return text.withUTF8 { areTypes($0, entriesAreStructures: true) }
    }

    /// Whether bytes from a message are a valid signature.
    ///
    /// sd-bus counts dictionary entries as structures, and libdbus does not. So a signature that is sent has to follow
    /// both rules, while one that arrives has to follow only libdbus's.
    static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= maximumLength else { return false }
        return bytes.withMemoryRebound(to: UInt8.self) { areTypes($0, entriesAreStructures: false) }
    }

    private static func areTypes(_ bytes: UnsafeBufferPointer<UInt8>, entriesAreStructures: Bool) -> Bool {
        // Most values have a type of one byte.
        if bytes.count == 1 { return Scanner.isComplete(bytes[0]) }
        var scanner = Scanner(bytes, entriesAreStructures: entriesAreStructures)
        while scanner.hasMore {
            guard scanner.skipCompleteType() else { return false }
        }
        return true
    }

    /// Whether the signature is valid. One that was built from others may be too long or too deep.
    var isSendable: Bool { Self.isValid(rawValue.utf8) }

    /// Whether the signature is valid and describes exactly one value.
    public var isSingle: Bool {
        guard rawValue.utf8.count <= Self.maximumLength else { return false }
        if rawValue.utf8.count == 1, let byte = rawValue.utf8.first { return Scanner.isComplete(byte) }
        return Self.scan(rawValue) { $0.skipCompleteType() && !$0.hasMore }
    }

    /// Returns the signature for the values of `a` followed by those of `b`. It may be too long to be valid.
    static func + (a: Signature, b: Signature) -> Signature {
        Signature(trusted: a.rawValue + b.rawValue)
    }

    /// The signature of each complete type, in order.
    var elements: [Signature] {
        Self.scan(rawValue) { scanner in
            var elements: [Signature] = []
            while scanner.hasMore {
                let start = scanner.position
                guard scanner.skipCompleteType() else { break }
                let type = scanner.bytes[start..<scanner.position]
                elements.append(Signature(trusted: String(decoding: type, as: UTF8.self)))
            }
            return elements
        }
    }

    /// Calls a closure with the bytes of a signature. Scanning the string by its own indices would take several times
    /// as long.
    private static func scan<Result>(_ text: String, _ body: (inout Scanner) -> Result) -> Result {
        var text = text
        return text.withUTF8 { bytes in
            var scanner = Scanner(bytes, entriesAreStructures: true)
            return body(&scanner)
        }
    }

    private struct Scanner {
        let bytes: UnsafeBufferPointer<UInt8>
        private(set) var position = 0
        private var arrays = 0
        private var structures = 0

        /// Whether a dictionary entry counts as a structure. If not, it does not count at all, because the array around
        /// it already counts.
        private let entriesAreStructures: Bool

        init(_ bytes: UnsafeBufferPointer<UInt8>, entriesAreStructures: Bool) {
            self.bytes = bytes
            self.entriesAreStructures = entriesAreStructures
        }

        var hasMore: Bool { position != bytes.count }

        private var byte: UInt8? { hasMore ? bytes[position] : nil }

        private mutating func next() -> UInt8? {
            guard let byte else { return nil }
            position += 1
            return byte
        }

        mutating func skipCompleteType() -> Bool {
            switch next() {
            case UInt8(ascii: "a"):
                arrays += 1
                defer { arrays -= 1 }
                guard arrays <= maximumNesting else { return false }
                return byte == UInt8(ascii: "{") ? skipDictionaryEntry() : skipCompleteType()
            case UInt8(ascii: "("):
                structures += 1
                defer { structures -= 1 }
                guard structures <= maximumNesting, byte != UInt8(ascii: ")") else { return false }
                while let byte, byte != UInt8(ascii: ")") {
                    guard skipCompleteType() else { return false }
                }
                return next() != nil
            case let byte?: return Self.isComplete(byte)
            case nil: return false
            }
        }

        /// Whether a type consists of only this byte.
        static func isComplete(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "v") || isBasic(byte) }

        private mutating func skipDictionaryEntry() -> Bool {
            let level = entriesAreStructures ? 1 : 0
            structures += level
            defer { structures -= level }
            guard structures <= maximumNesting, next() == UInt8(ascii: "{"), let key = next(), Self.isBasic(key) else {
                return false
            }
            return skipCompleteType() && next() == UInt8(ascii: "}")
        }

        private static func isBasic(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "y"), UInt8(ascii: "b"), UInt8(ascii: "n"), UInt8(ascii: "q"), UInt8(ascii: "i"),
                UInt8(ascii: "u"), UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "s"),
                UInt8(ascii: "o"), UInt8(ascii: "g"), UInt8(ascii: "h"):
                true
            default: false
            }
        }
    }
}
