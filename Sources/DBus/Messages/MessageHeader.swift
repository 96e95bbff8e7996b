/// The header of a message in bytes, by "Message Format" in the D-Bus specification.
struct MessageHeader: ~Copyable {
    enum Kind: UInt8 {
        case methodCall = 1
        case methodReturn = 2
        case error = 3
        case signal = 4
    }

    enum Field: UInt8 {
        case path = 1
        case interface = 2
        case member = 3
        case errorName = 4
        case replySerial = 5
        case destination = 6
        case signature = 8
        case descriptors = 9
    }

    private(set) var bytes: ByteBuffer
    /// The bytes of the path, which alone has no limit of its own.
    private(set) var pathLength = 0

    private static let noAnswerFlag: UInt8 = 1
    private static let noStartFlag: UInt8 = 2
    private static let flagsPlace = 2
    private static let bodyLengthPlace = 4
    /// The place of the serial in a message.
    static let serialPlace = 8
    private static let fieldsLengthPlace = 12
    private static let fieldsPlace = 16

    /// Begins a header, whose serial is replaced when the message is sent.
    init(_ kind: Kind, expectsAnswer: Bool = true, startsService: Bool = true) {
        bytes = ByteBuffer(capacity: 1024)
        let isLittle = 1.littleEndian == 1
        bytes.append(UInt8(ascii: isLittle ? "l" : "B"))
        bytes.append(kind.rawValue)
        bytes.append((expectsAnswer ? 0 : Self.noAnswerFlag) | (startsService ? 0 : Self.noStartFlag))
        bytes.append(1)
        bytes.append(number: UInt32(0))
        bytes.append(number: UInt32(1))
        bytes.append(number: UInt32(0))
    }

    /// Begins the header of an answer.
    init(_ kind: Kind, to call: ReplyAddress) {
        self.init(kind, expectsAnswer: false)
        begin(.replySerial, "u")
        bytes.append(number: call.serial)
        if let sender = call.sender { add(.destination, sender.rawValue) }
    }

    private mutating func begin(_ field: Field, _ type: Signature) {
        bytes.pad(to: 8)
        bytes.append(field.rawValue)
        bytes.append(signature: type)
    }

    /// Adds a name or a path, which holds no NUL.
    mutating func add(_ field: Field, _ name: String) {
        begin(field, field == .path ? "o" : "s")
        if field == .path { pathLength = name.utf8.count }
        _ = bytes.append(text: name)
    }

    /// Takes the unfinished header of a message that has been written.
    init(fields: ArraySlice<UInt8>) {
        bytes = ByteBuffer(fields)
        bytes.set(0, at: Self.bodyLengthPlace)
    }

    /// Ends the header, before the body is written.
    mutating func finish(_ body: Signature) {
        if body != .empty {
            begin(.signature, "g")
            bytes.append(signature: body)
        }
        bytes.set(UInt32(bytes.count - Self.fieldsPlace), at: Self.fieldsLengthPlace)
        bytes.pad(to: 8)
    }

    /// Completes the header that a message begins with.
    static func complete(_ message: inout ByteBuffer, afterBodyFrom start: Int) {
        message.set(UInt32(message.count - start), at: bodyLengthPlace)
    }

    /// Adds the number of descriptors to a finished header, in front of the signature.
    static func addDescriptors(_ count: Int, to message: inout [UInt8], after fieldsEnd: Int) {
        var field = ByteBuffer(capacity: 8)
        field.append(Field.descriptors.rawValue)
        field.append(signature: "u")
        field.append(number: UInt32(count))
        message.insert(contentsOf: field.array, at: (fieldsEnd + 7) & ~7)
        let length = message.withUnsafeBytes { $0.load(fromByteOffset: fieldsLengthPlace, as: UInt32.self) }
        message.set(length + UInt32(field.count), at: fieldsLengthPlace)
    }

    static func expectNoAnswer(to message: inout [UInt8]) {
        message[flagsPlace] |= noAnswerFlag
    }
}
