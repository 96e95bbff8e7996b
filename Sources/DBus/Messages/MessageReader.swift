internal import ByteCoding
internal import CLinux
internal import Glibc

/// Why a message's body cannot be read.
public enum MessageDecodingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The body, or a value in it, has a type other than the requested one.
    case wrongType(expected: Signature, found: String)
    /// The values hold more bytes than the limit.
    case tooLarge(limit: Int)
    /// Containers are nested deeper than ``MessageReader/maximumDepth``.
    case tooDeep
    /// A value has the right type but breaks one of the type's rules.
    case invalidValue(String)

    /// The reason in words.
    public var description: String {
        switch self {
        case .wrongType(let expected, let found):
            "expected \(Self.name(expected.rawValue)), found \(Self.name(found))"
        case .tooLarge(let limit): "the message holds more than \(limit) bytes"
        case .tooDeep: "values are nested more than \(MessageReader.maximumDepth) deep"
        case .invalidValue(let reason): reason
        }
    }

    private static func name(_ signature: String) -> String {
        signature.isEmpty ? "nothing" : "'\(signature)'"
    }
}

/// Reads the values of a message's body in order.
///
/// It checks each value: the value lies within the message, a string is UTF-8 without a NUL, a path or a signature is
/// valid, and padding is zero.
///
/// Two rules go beyond those of D-Bus. A string with more than 30 combining marks in a row is an error, because the
/// time that Swift takes to compare it with any other string grows with the square of the number of marks. Two equal
/// keys in a dictionary are an error too, because Swift could keep only one of them.
public struct MessageReader: ~Copyable {
    /// Maximum depth of nested containers, including variants, according to "Message Protocol" in the D-Bus
    /// specification.
    public static let maximumDepth = 64

    private let message: Message
    private let bytes: UnsafeRawPointer
    private let isSwapped: Bool
    private var place: Place
    private let limit: Int
    private var budget: Int
    /// Descriptors that have been read.
    private(set) var descriptors: [UnixFD] = []
    private var depth = 0

    /// A position in the body, or in a container.
    private struct Place {
        /// Position of the next value. There may be padding in front of it.
        var position: Int
        /// End of the body, or of the array around this position.
        var end: Int
        /// Position of the next value's type. All signatures are in the message.
        var type: Int
        var typesEnd: Int
        /// Position of an array's element type; nil outside an array.
        var element: Int?
    }

    private var position: Int {
        get { place.position }
        set { place.position = newValue }
    }

    /// Number of bytes that have been read.
    var size: Int { limit - budget }

    /// Creates a reader at the first value of a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - limit: The maximum number of bytes to read.
    init(message: Message, limit: Int) {
        self.init(message, message.signature, at: message.body, upTo: message.count, limit: limit)
    }

    private init(_ message: Message, _ types: Range<Int>, at start: Int, upTo end: Int, limit: Int) {
        self.message = message
        bytes = message.start
        isSwapped = message.isSwapped
        place = Place(position: start, end: end, type: types.lowerBound, typesEnd: types.upperBound, element: nil)
        self.limit = limit
        budget = limit
    }

    /// Returns the end of a variant in a message's header.
    static func endOfVariant(_ message: Message, at start: Int, upTo end: Int) throws(MessageDecodingError) -> Int {
        var reader = MessageReader(message, 0..<0, at: start, upTo: end, limit: .max)
        try reader.skip(TypeCode.variant)
        return reader.position
    }

    // MARK: Types

    /// The first byte of the next value's signature; nil after the last value.
    private var code: UInt8? {
        guard place.element == nil || place.position < place.end, place.type < place.typesEnd else { return nil }
        return byte(at: place.type)
    }

    /// Checks that no byte follows the last value. The program does not have to have read that far.
    mutating func expectEnd() throws(MessageDecodingError) {
        while let code { try skip(code) }
        guard place.position == place.end else { throw .invalidValue("bytes follow the last value") }
    }

    /// Whether a value is left in this container or in the body.
    public var hasMore: Bool { code != nil }

    /// Moves on to the next type.
    private mutating func takeType(_ length: Int) {
        place.type += length
        if let element = place.element, place.type == place.typesEnd { place.type = element }
    }

    /// Returns the end of a type that begins at a position in the signature, which is valid.
    private func endOfType(at start: Int) -> Int {
        var end = start
        var depth = 0
        while end < place.typesEnd {
            let code = byte(at: end)
            end += 1
            switch code {
            case TypeCode.array: continue
            case TypeCode.structure, TypeCode.dictionaryEntry: depth += 1
            case TypeCode.endOfStructure, TypeCode.endOfDictionaryEntry: depth -= 1
            default: break
            }
            if depth == 0 { break }
        }
        return end
    }

    private func expect(_ expected: UInt8) throws(MessageDecodingError) {
        guard code == expected else {
            throw .wrongType(expected: TypeCode.signature(of: expected), found: TypeCode.name(of: code))
        }
    }

    private func currentSignature() -> String { text(place.type..<endOfType(at: place.type)) }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: UnsafeRawBufferPointer(start: bytes + range.lowerBound, count: range.count), as: UTF8.self)
    }

    // MARK: Bytes

    private func byte(at place: Int) -> UInt8 { bytes.load(fromByteOffset: place, as: UInt8.self) }

    private static let endedTooSoon = MessageDecodingError.invalidValue("the message ends within a value")

    private mutating func spend(_ bytes: Int) throws(MessageDecodingError) {
        budget -= bytes
        guard budget >= 0 else { throw .tooLarge(limit: limit) }
    }

    /// Takes the bytes of a number.
    private mutating func take<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type = Number.self
    ) throws(MessageDecodingError) -> Number {
        let size = MemoryLayout<Number>.size
        try pad(to: size)
        let start = position
        guard start + size <= place.end else { throw Self.endedTooSoon }
        position = start + size
        let number = bytes.load(fromByteOffset: start, as: Number.self)
        return isSwapped ? number.byteSwapped : number
    }

    private mutating func pad(to alignment: Int) throws(MessageDecodingError) {
        let end = (position + alignment - 1) & ~(alignment - 1)
        guard end <= place.end else { throw Self.endedTooSoon }
        while position < end {
            guard byte(at: position) == 0 else { throw .invalidValue("padding is not zero") }
            position += 1
        }
    }

    /// The valid signature whose length is at a position.
    private func signature(at start: Int) throws(MessageDecodingError) -> Range<Int> {
        guard start < place.end else { throw Self.endedTooSoon }
        let types = start + 1..<start + 1 + Int(byte(at: start))
        guard types.upperBound < place.end else { throw Self.endedTooSoon }
        guard byte(at: types.upperBound) == 0,
            Signature.isValid(UnsafeRawBufferPointer(start: bytes + types.lowerBound, count: types.count))
        else { throw .invalidValue("a signature is not valid") }
        return types
    }

    // MARK: Basic types

    private mutating func readNumber<Number: FixedWidthInteger & BitwiseCopyable>(
        _ code: UInt8
    ) throws(MessageDecodingError) -> Number {
        try expect(code)
        try spend(MemoryLayout<Number>.size)
        let number: Number = try take()
        takeType(1)
        return number
    }

    private mutating func readText(_ code: UInt8) throws(MessageDecodingError) -> String {
        try expect(code)
        let length = Int(try take(UInt32.self))
        guard length < place.end - position else { throw Self.endedTooSoon }
        // Check the size before creating the string, so that a string above the limit is not copied.
        try spend(length + 1)
        guard byte(at: position + length) == 0,
            let text = String(validatingCString: (bytes + position).assumingMemoryBound(to: CChar.self)),
            text.utf8.count == length
        else { throw .invalidValue("a string is not UTF-8 without a NUL") }
        guard !text.hasTooManyMarks else { throw Self.tooManyMarks }
        position += length + 1
        takeType(1)
        return text
    }

    /// Reads a value of type `y`.
    public mutating func readUInt8() throws(MessageDecodingError) -> UInt8 { try readNumber(TypeCode.byte) }
    /// Reads a value of type `b`.
    public mutating func readBool() throws(MessageDecodingError) -> Bool {
        let number: UInt32 = try readNumber(TypeCode.boolean)
        guard number <= 1 else { throw .invalidValue("a boolean is neither 0 nor 1") }
        return number == 1
    }
    /// Reads a value of type `n`.
    public mutating func readInt16() throws(MessageDecodingError) -> Int16 { try readNumber(TypeCode.int16) }
    /// Reads a value of type `q`.
    public mutating func readUInt16() throws(MessageDecodingError) -> UInt16 { try readNumber(TypeCode.uint16) }
    /// Reads a value of type `i`.
    public mutating func readInt32() throws(MessageDecodingError) -> Int32 { try readNumber(TypeCode.int32) }
    /// Reads a value of type `u`.
    public mutating func readUInt32() throws(MessageDecodingError) -> UInt32 { try readNumber(TypeCode.uint32) }
    /// Reads a value of type `x`.
    public mutating func readInt64() throws(MessageDecodingError) -> Int64 { try readNumber(TypeCode.int64) }
    /// Reads a value of type `t`.
    public mutating func readUInt64() throws(MessageDecodingError) -> UInt64 { try readNumber(TypeCode.uint64) }
    /// Reads a value of type `d`.
    public mutating func readDouble() throws(MessageDecodingError) -> Double {
        Double(bitPattern: try readNumber(TypeCode.double))
    }
    /// Reads a value of type `s`.
    public mutating func readString() throws(MessageDecodingError) -> String { try readText(TypeCode.string) }
    /// Reads a value of type `o`.
    public mutating func readObjectPath() throws(MessageDecodingError) -> ObjectPath {
        guard let path = ObjectPath(rawValue: try readText(TypeCode.objectPath)) else {
            throw .invalidValue("an object path is not valid")
        }
        return path
    }
    /// Reads a value of type `g`.
    public mutating func readSignature() throws(MessageDecodingError) -> Signature {
        try expect(TypeCode.signature)
        let types = try signature(at: position)
        try spend(types.count + 1)
        position = types.upperBound + 1
        takeType(1)
        return Signature(trusted: text(types))
    }
    /// Reads a value of type `h`. The caller owns the descriptor.
    public mutating func readUnixFD() throws(MessageDecodingError) -> UnixFD { try UnixFD(from: &self) }

    static let keyIsNotANumber = MessageDecodingError.invalidValue("the key of an entry is not a number")
    /// A dictionary contains the same key twice.
    package static let repeatedKey = MessageDecodingError.invalidValue("two keys of a dictionary are equal")
    static let tooManyMarks = MessageDecodingError.invalidValue(
        "a string has more than \(String.maximumMarks) combining marks in a row"
    )
    static let missingDescriptor = MessageDecodingError.invalidValue("a file descriptor did not arrive")

    mutating func readDescriptor() throws(MessageDecodingError) -> CInt {
        let index: UInt32 = try readNumber(TypeCode.unixFD)
        guard index < message.descriptors.count else { throw Self.missingDescriptor }
        // A body may refer to the same descriptor many times.
        guard descriptors.count < InputBuffer.descriptorsAtOnce else {
            throw .invalidValue("too many file descriptors")
        }
        let descriptor = fcntl(message.descriptors[Int(index)].rawValue, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Self.missingDescriptor }
        return descriptor
    }

    /// Notes the owner of a descriptor that has been read.
    mutating func add(_ descriptor: UnixFD) {
        descriptors.append(descriptor)
    }

    // MARK: Containers

    /// Reads an array. `body` is called for each element, and must read it.
    public mutating func readArray(
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try expect(TypeCode.array)
        try within({ (reader) throws(MessageDecodingError) in try reader.enterArray() }) {
            (reader) throws(MessageDecodingError) in
            while reader.hasMore {
                try reader.spend(1)
                try body(&reader)
            }
            guard reader.position == reader.place.end else { throw Self.endedTooSoon }
        }
    }

    /// Reads a whole array of numbers in one step.
    ///
    /// - Parameters:
    ///   - element: The type of the numbers.
    ///   - body: Gets the numbers as they are laid out in memory. The bytes belong to the message.
    mutating func readNumbers<Result>(
        _ element: FixedType,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(MessageDecodingError) -> Result {
        try expect(TypeCode.array)
        let found = byte(at: place.type + 1)
        guard found == element.code else {
            throw .wrongType(expected: element.signature, found: TypeCode.name(of: found))
        }
        return try within({ (reader) throws(MessageDecodingError) in try reader.enterArray() }) {
            (reader) throws(MessageDecodingError) in
            let numbers = UnsafeRawBufferPointer(
                start: reader.bytes + reader.position,
                count: reader.place.end - reader.position
            )
            guard numbers.count % element.size == 0 else { throw Self.endedTooSoon }
            try reader.spend(numbers.count)
            reader.position = reader.place.end
            return reader.isSwapped ? element.swapped(numbers, body) : body(numbers)
        }
    }

    /// Reads a dictionary's entry. `body` must read the key and then the value.
    public mutating func readEntry(
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try readFields(TypeCode.dictionaryEntry, body)
    }

    /// Reads a structure. `body` must read the fields.
    public mutating func readStructure(
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try readFields(TypeCode.structure, body)
    }

    private mutating func readFields(
        _ code: UInt8,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try expect(code)
        try within({ (reader) throws(MessageDecodingError) in try reader.enterFields() }) {
            (reader) throws(MessageDecodingError) in
            try body(&reader)
            while let code = reader.code { try reader.skip(code) }
        }
    }

    /// Reads a variant.
    public mutating func readVariant() throws(MessageDecodingError) -> Value {
        try expect(TypeCode.variant)
        return try within({ (reader) throws(MessageDecodingError) in try reader.enterVariant() }) {
            (reader) throws(MessageDecodingError) in try reader.readValue()
        }
    }

    /// Reads a variant that must hold a value of type `content`. `body` reads that value.
    public mutating func readVariant(
        of content: Signature,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Void
    ) throws(MessageDecodingError) {
        try expect(TypeCode.variant)
        try within({ (reader) throws(MessageDecodingError) in try reader.enterVariant() }) {
            (reader) throws(MessageDecodingError) in
            guard reader.holds(content) else { throw .wrongType(expected: content, found: reader.currentSignature()) }
            try body(&reader)
        }
    }

    /// Reads a variant if it holds one value of type `content`. `body` reads that value.
    ///
    /// - Returns: The result of `body`; nil for a value of another type, which you can then read in another way.
    package mutating func readVariant<Content>(
        ifOf content: Signature,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Content
    ) throws(MessageDecodingError) -> Content? {
        try expect(TypeCode.variant)
        let before = place
        let result: Content? = try within({ (reader) throws(MessageDecodingError) in try reader.enterVariant() }) {
            (reader) throws(MessageDecodingError) in
            reader.holds(content) ? try body(&reader) : nil
        }
        if result == nil { place = before }
        return result
    }

    /// Whether one value of the given type comes next, and no other value after it.
    private func holds(_ type: Signature) -> Bool {
        let expected = type.rawValue.utf8
        guard place.typesEnd - place.type == expected.count else { return false }
        var index = place.type
        for code in expected {
            guard byte(at: index) == code else { return false }
            index += 1
        }
        return true
    }

    /// Enters a container, runs `body`, and continues after the container. After an error, the container has not been
    /// read.
    private mutating func within<Result>(
        _ enter: (inout MessageReader) throws(MessageDecodingError) -> Int,
        _ body: (inout MessageReader) throws(MessageDecodingError) -> Result
    ) throws(MessageDecodingError) -> Result {
        let outer = place
        guard depth < Self.maximumDepth else { throw .tooDeep }
        depth += 1
        defer { depth -= 1 }
        do throws(MessageDecodingError) {
            let length = try enter(&self)
            let result = try body(&self)
            let position = position
            place = outer
            place.position = position
            takeType(length)
            return result
        } catch {
            place = outer
            throw error
        }
    }

    /// Goes to the first element of the array that comes next.
    ///
    /// - Returns: The length of the array's type.
    private mutating func enterArray() throws(MessageDecodingError) -> Int {
        let start = place.type
        let element = start + 1
        let end = endOfType(at: start)
        let length = Int(try take(UInt32.self))
        try pad(to: TypeCode.alignment(of: byte(at: element)))
        guard length <= ConnectionLimits.largestMessage, length <= place.end - position else { throw Self.endedTooSoon }
        place.end = position + length
        place.type = element
        place.typesEnd = end
        place.element = element
        return end - start
    }

    /// Goes to the first field of the structure or entry that comes next.
    ///
    /// - Returns: The length of its type.
    private mutating func enterFields() throws(MessageDecodingError) -> Int {
        let start = place.type
        let end = endOfType(at: start)
        try pad(to: 8)
        place.type = start + 1
        place.typesEnd = end - 1
        place.element = nil
        return end - start
    }

    /// Goes to the value in the variant that comes next.
    ///
    /// - Returns: The length of the variant's type.
    private mutating func enterVariant() throws(MessageDecodingError) -> Int {
        let types = try signature(at: position)
        place.type = types.lowerBound
        place.typesEnd = types.upperBound
        place.element = nil
        guard !types.isEmpty, endOfType(at: types.lowerBound) == types.upperBound else {
            throw .invalidValue("a variant does not hold one value")
        }
        position = types.upperBound + 1
        return 1
    }

    // MARK: Any type

    /// Skips the next value.
    package mutating func skip() throws(MessageDecodingError) {
        if let code { try skip(code) }
    }

    private mutating func skip(_ code: UInt8) throws(MessageDecodingError) {
        switch code {
        case TypeCode.byte:
            _ = try take(UInt8.self)
        case TypeCode.int16, TypeCode.uint16:
            _ = try take(UInt16.self)
        case TypeCode.int64, TypeCode.uint64, TypeCode.double:
            _ = try take(UInt64.self)
        case TypeCode.string, TypeCode.objectPath:
            let length = Int(try take(UInt32.self))
            guard length < place.end - position else { throw Self.endedTooSoon }
            position += length + 1
        case TypeCode.signature:
            position = try signature(at: position).upperBound + 1
        case TypeCode.array:
            return try within({ (reader) throws(MessageDecodingError) in try reader.enterArray() }) {
                $0.position = $0.place.end
            }
        case TypeCode.structure, TypeCode.dictionaryEntry: return try readFields(code) { _ in }
        case TypeCode.variant:
            return try within({ (reader) throws(MessageDecodingError) in try reader.enterVariant() }) {
                (reader) throws(MessageDecodingError) in try reader.skip()
            }
        default:
            _ = try take(UInt32.self)
        }
        takeType(1)
    }

    /// Reads the next value, which may have any type.
    public mutating func readValue() throws(MessageDecodingError) -> Value {
        // A value takes more memory here than in the message, so it is the memory that counts towards the limit.
        try spend(MemoryLayout<Value>.stride)
        switch code {
        case TypeCode.byte: return .byte(try readUInt8())
        case TypeCode.boolean: return .boolean(try readBool())
        case TypeCode.int16: return .int16(try readInt16())
        case TypeCode.uint16: return .uint16(try readUInt16())
        case TypeCode.int32: return .int32(try readInt32())
        case TypeCode.uint32: return .uint32(try readUInt32())
        case TypeCode.int64: return .int64(try readInt64())
        case TypeCode.uint64: return .uint64(try readUInt64())
        case TypeCode.double: return .double(try readDouble())
        case TypeCode.string: return .string(try readString())
        case TypeCode.objectPath: return .objectPath(try readObjectPath())
        case TypeCode.signature: return .signature(try readSignature())
        case TypeCode.unixFD: return .unixFD(try readUnixFD())
        case TypeCode.variant: return .variant(try readVariant())
        case TypeCode.array: return try readArrayValue()
        case TypeCode.structure:
            var fields: [Value] = []
            try readStructure { (reader) throws(MessageDecodingError) in
                while reader.hasMore { fields.append(try reader.readValue()) }
            }
            return .structure(fields)
        case let found: throw .wrongType(expected: "v", found: TypeCode.name(of: found))
        }
    }

    private mutating func readArrayValue() throws(MessageDecodingError) -> Value {
        let signature = currentSignature()
        let element = Signature(trusted: String(signature.dropFirst()))
        guard element.rawValue.utf8.first == UInt8(ascii: "{") else {
            var elements: [Value] = []
            try readArray { (reader) throws(MessageDecodingError) in elements.append(try reader.readValue()) }
            return .array(elements, of: element)
        }
        // The signature is "{", the key's one byte, the value's signature, "}".
        let types = element.rawValue.dropFirst().dropLast()
        let key = Signature(trusted: String(types.prefix(1)))
        let value = Signature(trusted: String(types.dropFirst()))
        var entries: [Value: Value] = [:]
        try readArray { (reader) throws(MessageDecodingError) in
            try reader.readEntry { (reader) throws(MessageDecodingError) in
                let key = try reader.readValue()
                // NaN does not equal itself, and for each such key a dictionary would search all the others.
                if case .double(let number) = key, number.isNaN { throw Self.keyIsNotANumber }
                guard entries.updateValue(try reader.readValue(), forKey: key) == nil else { throw Self.repeatedKey }
            }
        }
        return .dictionary(entries, key: key, value: value)
    }
}
