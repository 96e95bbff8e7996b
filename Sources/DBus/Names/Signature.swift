/// The types of a message's body, or of one value, in D-Bus's notation, such as `sa{sv}`.
public struct Signature: ValidatedName {
    /// The signature as a string.
    public let rawValue: String

    /// Takes a string that is known to follow the rule.
    public init(trusted: String) {
        rawValue = trusted
    }

    /// No value at all.
    public static let empty: Signature = ""

    /// Complete types one after the other, at most 255 bytes, arrays and structures nested at most 32 deep each
    /// ("Type System", D-Bus specification).
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= NameRule.maximumLength else { return false }
        var scanner = Scanner(bytes: Array(bytes))
        while scanner.hasMore {
            guard scanner.skipCompleteType() else { return false }
        }
        return true
    }

    /// Whether the signature is that of exactly one value.
    public var isSingle: Bool {
        var scanner = Scanner(bytes: Array(rawValue.utf8))
        return scanner.skipCompleteType() && !scanner.hasMore
    }

    /// The signature of one value after the other.
    static func + (a: Signature, b: Signature) -> Signature {
        Signature(trusted: a.rawValue + b.rawValue)
    }

    /// The signatures of the complete types in this one.
    var elements: [Signature] {
        var scanner = Scanner(bytes: Array(rawValue.utf8))
        var elements: [Signature] = []
        while scanner.hasMore {
            let start = scanner.position
            guard scanner.skipCompleteType() else { break }
            elements.append(
                Signature(trusted: String(decoding: scanner.bytes[start..<scanner.position], as: UTF8.self))
            )
        }
        return elements
    }

    private struct Scanner {
        let bytes: [UInt8]
        var position = 0
        var arrays = 0
        var structures = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        var hasMore: Bool { position < bytes.count }

        mutating func next() -> UInt8? {
            guard hasMore else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func skipCompleteType() -> Bool {
            guard let byte = next() else { return false }
            switch byte {
            case UInt8(ascii: "a"):
                arrays += 1
                defer { arrays -= 1 }
                guard arrays <= 32, hasMore else { return false }
                return bytes[position] == UInt8(ascii: "{") ? skipDictionaryEntry() : skipCompleteType()
            case UInt8(ascii: "("):
                structures += 1
                defer { structures -= 1 }
                guard structures <= 32, hasMore, bytes[position] != UInt8(ascii: ")") else { return false }
                while hasMore, bytes[position] != UInt8(ascii: ")") {
                    guard skipCompleteType() else { return false }
                }
                return next() == UInt8(ascii: ")")
            case UInt8(ascii: "v"): return true
            default: return Self.isBasic(byte)
            }
        }

        mutating func skipDictionaryEntry() -> Bool {
            structures += 1
            defer { structures -= 1 }
            guard structures <= 32, next() == UInt8(ascii: "{"), let key = next(), Self.isBasic(key) else {
                return false
            }
            return skipCompleteType() && next() == UInt8(ascii: "}")
        }

        static func isBasic(_ byte: UInt8) -> Bool {
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
