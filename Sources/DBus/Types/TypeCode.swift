/// The bytes that stand for types in a signature.
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
    static let structure = code("(")
    static let endOfStructure = code(")")
    static let dictionaryEntry = code("{")
    static let endOfDictionaryEntry = code("}")

    /// The alignment of a type in a message, from the first byte of its signature.
    static func alignment(of byte: UInt8) -> Int {
        switch byte {
        case Self.byte, signature, variant: 1
        case int16, uint16: 2
        case int64, uint64, double: 8
        case structure, dictionaryEntry: 8
        default: 4
        }
    }

    /// The signature of a basic type, or the beginning of a container's.
    static func signature(of code: UInt8) -> Signature { Signature(trusted: String(UnicodeScalar(code))) }

    /// The type as it appears in an error message; empty if there is no value.
    static func name(of code: UInt8?) -> String { code.map { String(UnicodeScalar($0)) } ?? "" }

    private static func code(_ character: Unicode.Scalar) -> UInt8 { UInt8(ascii: character) }
}

/// A numeric type that has the same format in memory and in a message, so that a whole array of such numbers is read or
/// written in one step.
///
/// `Bool` is not one of them, because it has one byte in Swift and four in D-Bus.
struct FixedType {
    let code: UInt8
    let size: Int
    var signature: Signature { TypeCode.signature(of: code) }

    /// Creates the description of such a type; nil for any other type, even if its signature has the same letter.
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

    /// Calls a closure with the numbers in this machine's byte order.
    func swapped<Result>(_ numbers: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch size {
        case 2: Self.swapped(numbers, UInt16.self, body)
        case 4: Self.swapped(numbers, UInt32.self, body)
        case 8: Self.swapped(numbers, UInt64.self, body)
        default: body(numbers)
        }
    }

    private static func swapped<Number: FixedWidthInteger & BitwiseCopyable, Result>(
        _ numbers: UnsafeRawBufferPointer,
        _ type: Number.Type,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        numbers.bindMemory(to: type).map(\.byteSwapped).withUnsafeBytes(body)
    }
}
