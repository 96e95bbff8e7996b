/// The codes of the types in a signature. libdbus's own constants are macros that Swift does not import.
enum TypeCode {
    static let byte = code("y")
    static let boolean = code("b")
    static let int16 = code("n")
    static let uint16 = code("q")
    static let int32 = code("i")
    static let uint32 = code("u")
    static let int64 = code("x")
    static let uint64 = code("t")
    static let double = code("d")
    static let string = code("s")
    static let objectPath = code("o")
    static let signature = code("g")
    static let unixFD = code("h")
    static let array = code("a")
    static let variant = code("v")
    static let structure = code("r")
    static let dictionaryEntry = code("e")
    static let invalid: CInt = 0

    /// The alignment of a type in a message, by the first byte of its signature.
    static func alignment(of byte: UInt8) -> Int {
        switch CInt(byte) {
        case Self.byte, signature, variant: 1
        case int16, uint16: 2
        case int64, uint64, double: 8
        case CInt(UInt8(ascii: "(")), CInt(UInt8(ascii: "{")): 8
        default: 4
        }
    }

    private static func code(_ character: Unicode.Scalar) -> CInt { CInt(character.value) }
}

/// A type of number that has the same format in memory and in a message. An array of such numbers is read and written
/// at once.
///
/// `Bool` is not such a type, because it has one byte in Swift and four bytes in D-Bus.
struct FixedType {
    let code: CInt
    let size: Int
    var signature: Signature { Signature(trusted: String(UnicodeScalar(UInt8(truncatingIfNeeded: code)))) }

    /// Creates the description of a type; nil for any other type, even if its signature has the same letter.
    init?<T>(_ type: T.Type) {
        if type == UInt8.self {
            code = TypeCode.byte
        } else if type == Int16.self {
            code = TypeCode.int16
        } else if type == UInt16.self {
            code = TypeCode.uint16
        } else if type == Int32.self {
            code = TypeCode.int32
        } else if type == UInt32.self {
            code = TypeCode.uint32
        } else if type == Int64.self {
            code = TypeCode.int64
        } else if type == UInt64.self {
            code = TypeCode.uint64
        } else if type == Double.self {
            code = TypeCode.double
        } else {
            return nil
        }
        size = MemoryLayout<T>.size
    }
}
