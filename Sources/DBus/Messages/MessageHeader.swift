/// A message's header as bytes, according to "Message Format" in the D-Bus specification.
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
        case sender = 7
        case signature = 8
        case descriptors = 9

        /// The type of the field's value.
        var type: UInt8 {
            switch self {
            case .path: UInt8(ascii: "o")
            case .replySerial, .descriptors: UInt8(ascii: "u")
            case .signature: UInt8(ascii: "g")
            case .interface, .member, .errorName, .destination, .sender: UInt8(ascii: "s")
            }
        }
    }

    /// Reserved for use within a program. No message has this path or this interface.
    static let reservedPath: ObjectPath = "/org/freedesktop/DBus/Local"
    static let reservedInterface: InterfaceName = "org.freedesktop.DBus.Local"

    private(set) var bytes: ByteBuffer
    /// The path's length in bytes. The path is the only field without a limit of its own.
    private(set) var pathLength = 0

    private static let noAnswerFlag: UInt8 = 1
    private static let noStartFlag: UInt8 = 2
    private static let flagsPlace = 2
    static let bodyLengthPlace = 4
    /// Position of the serial in a message.
    static let serialPlace = 8
    static let fieldsLengthPlace = 12
    static let fieldsPlace = 16

    /// Begins a header. Its serial is set when the message is sent.
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
        begin(.replySerial)
        bytes.append(number: call.serial)
        if let sender = call.sender { add(.destination, sender.rawValue) }
    }

    private mutating func begin(_ field: Field) {
        bytes.pad(to: 8)
        bytes.append(field.rawValue)
        bytes.append(1)
        bytes.append(field.type)
        bytes.append(0)
    }

    /// Adds a name or a path, which must not contain a NUL.
    mutating func add(_ field: Field, _ name: String) {
        begin(field)
        if field == .path { pathLength = name.utf8.count }
        _ = bytes.append(text: name)
    }

    /// Ends the header, before the body is written.
    mutating func finish(_ body: Signature) {
        if body != .empty {
            begin(.signature)
            bytes.append(signature: body)
        }
        bytes.set(UInt32(bytes.count - Self.fieldsPlace), at: Self.fieldsLengthPlace)
        bytes.pad(to: 8)
    }

    /// Completes the header at the beginning of a message.
    static func complete(_ message: inout ByteBuffer, afterBodyFrom start: Int) {
        message.set(UInt32(message.count - start), at: bodyLengthPlace)
    }

    /// Adds the number of descriptors to a finished header, in front of the signature.
    static func addDescriptors(_ count: Int, to message: inout [UInt8], after fieldsEnd: Int) {
        var field = ByteBuffer(capacity: 8)
        field.append(Field.descriptors.rawValue)
        field.append(1)
        field.append(Field.descriptors.type)
        field.append(0)
        field.append(number: UInt32(count))
        message.insert(contentsOf: field.array, at: (fieldsEnd + 7) & ~7)
        let length = message.withUnsafeBytes { $0.load(fromByteOffset: fieldsLengthPlace, as: UInt32.self) }
        message.set(length + UInt32(field.count), at: fieldsLengthPlace)
    }

    static func expectNoAnswer(to message: inout [UInt8]) {
        message[flagsPlace] |= noAnswerFlag
    }
}
