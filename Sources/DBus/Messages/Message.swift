internal import CLinux
internal import Glibc

/// Thrown if bytes are not a message according to "Message Protocol" in the D-Bus specification. There is then no way
/// to find the next message.
struct MalformedMessage: Error {}

/// A message that has arrived, or that was read from bytes.
///
/// ``isValid`` is about the header. The ``MessageReader`` checks the body, value by value.
///
/// It is unchecked `Sendable` because nothing in it changes after its initializer.
final class Message: @unchecked Sendable {
    /// The kind; nil if the specification does not define it yet. Such a message is ignored.
    let kind: MessageHeader.Kind?
    /// Whether the header follows the rules for names, signatures and fields. If not, none of its other properties
    /// means anything.
    private(set) var isValid = true
    /// Whether the sender of a call wants an answer.
    let expectsAnswer: Bool
    let serial: UInt32
    private(set) var replySerial: UInt32 = 0
    private(set) var path: ObjectPath?
    private(set) var interface: InterfaceName?
    private(set) var member: MemberName?
    private(set) var errorName: ErrorName?
    /// The sender, which the bus guarantees; nil without a bus.
    private(set) var sender: BusName?
    /// Position of the body's signature.
    private(set) var signature = 0..<0
    /// The descriptors that numbers in the body refer to.
    private(set) var descriptors: [UnixFD] = []
    /// Beginning of the body.
    let body: Int
    /// Whether numbers have the other byte order.
    let isSwapped: Bool
    private let bytes: ByteBuffer

    /// Takes a whole message.
    ///
    /// - Parameters:
    ///   - recent: The names in earlier messages from the same connection.
    ///   - isOnBus: Whether the message comes from a bus, which sets the sender. Otherwise the other end could forge
    ///     the sender, even as the bus itself, so the message has none.
    ///   - descriptors: Returns the message's descriptors, given how many the header says there are.
    init(
        _ bytes: consuming ByteBuffer,
        _ recent: RecentNames,
        isOnBus: Bool = true,
        _ descriptors: (_ count: Int) throws(MalformedMessage) -> [UnixFD]
    ) throws(MalformedMessage) {
        guard bytes.count >= MessageSizes.headerBytes else { throw MalformedMessage() }
        let sizes = try MessageSizes(bytes.start, limit: bytes.count)
        guard sizes.message == bytes.count else { throw MalformedMessage() }
        kind = MessageHeader.Kind(rawValue: bytes[1])
        expectsAnswer = bytes[2] & 1 == 0
        isSwapped = sizes.isSwapped
        serial = bytes.number(at: MessageHeader.serialPlace, isSwapped)
        body = sizes.body
        self.bytes = bytes
        let count =
            switch kind {
            case .methodReturn, .error: try readFields(upTo: sizes.fieldsEnd, &recent.inAnswers)
            case .methodCall, .signal, nil: try readFields(upTo: sizes.fieldsEnd, &recent.inCalls)
            }
        if !hasNeededFields || serial == 0 || signature.isEmpty != (body == sizes.message)
            || !isPadding(sizes.fieldsEnd..<body)
        {
            isValid = false
        }
        if !isOnBus { sender = nil }
        if count > 0 { self.descriptors = try descriptors(count) }
    }

    /// Reads a message from bytes that arrived without descriptors.
    convenience init(_ bytes: [UInt8]) throws(MalformedMessage) {
        try self.init(ByteBuffer(bytes), RecentNames()) { _ throws(MalformedMessage) in throw MalformedMessage() }
    }

    /// Takes a message that this program has written.
    convenience init(_ written: WrittenMessage) throws(MalformedMessage) {
        try self.init(ByteBuffer(written.sentBytes), RecentNames()) { _ in written.descriptors }
    }

    /// Converts a value to another type by writing it into a message and reading it back, like the two sides of a call.
    static func converted<Content: DBusType>(_ value: Value) throws -> Content {
        let address = ReplyAddress(sender: nil, serial: 1, isExpected: true)
        let message = try Message(.reply(to: address, value, limit: .max))
        var reader = MessageReader(message: message, limit: .max)
        return try VariantContent<Content>(from: &reader).content
    }

    /// The address of the first byte. It is valid as long as the message exists.
    var start: UnsafeRawPointer { bytes.start }
    var count: Int { bytes.count }

    private var hasNeededFields: Bool {
        switch kind {
        case .methodCall: path != nil && member != nil
        case .methodReturn: replySerial != 0
        case .error: replySerial != 0 && errorName != nil
        case .signal: path != nil && interface != nil && member != nil
        case nil: bytes[1] != 0
        }
    }

    /// Reads the header's fields.
    ///
    /// - Returns: The number of descriptors.
    private func readFields(upTo end: Int, _ recent: inout HeaderNames) throws(MalformedMessage) -> Int {
        var descriptors: UInt32 = 0
        var place = MessageHeader.fieldsPlace
        var found: UInt16 = 0
        while place < end {
            let fieldStart = (place + 7) & ~7
            guard fieldStart + 4 <= end else { throw MalformedMessage() }
            if !isPadding(place..<fieldStart) { isValid = false }
            place = fieldStart
            let field = MessageHeader.Field(rawValue: bytes[place])
            guard let field else {
                place = try skipField(at: place, upTo: end)
                continue
            }
            guard bytes[place + 1] == 1, bytes[place + 2] == field.type, bytes[place + 3] == 0,
                found & 1 << UInt16(field.rawValue) == 0
            else { throw MalformedMessage() }
            found |= 1 << UInt16(field.rawValue)
            place += 4
            switch field {
            case .replySerial, .descriptors:
                guard place + 4 <= end else { throw MalformedMessage() }
                let number = bytes.number(at: place, isSwapped)
                if field == .descriptors { descriptors = number } else { replySerial = number }
                place += 4
            case .signature:
                guard place < end else { throw MalformedMessage() }
                signature = place + 1..<place + 1 + Int(bytes[place])
                guard signature.upperBound < end, bytes[signature.upperBound] == 0 else { throw MalformedMessage() }
                if !Signature.isValid(UnsafeRawBufferPointer(rebasing: bytes.contents[signature])) { isValid = false }
                place = signature.upperBound + 1
            default:
                guard place + 4 <= end else { throw MalformedMessage() }
                let length = Int(bytes.number(at: place, isSwapped))
                place += 4
                guard length < end - place, bytes[place + length] == 0 else { throw MalformedMessage() }
                if !take(field, at: place, length, &recent) { isValid = false }
                place += length + 1
            }
        }
        guard place == end else { throw MalformedMessage() }
        return Int(descriptors)
    }

    private func isPadding(_ range: Range<Int>) -> Bool { range.allSatisfy { bytes[$0] == 0 } }

    /// Returns whether the bytes of a name or a path are valid.
    private func take(_ field: MessageHeader.Field, at place: Int, _ length: Int, _ recent: inout HeaderNames) -> Bool {
        switch field {
        case .path:
            path = name(at: place, length, &recent.path)
            return path != nil && path != MessageHeader.reservedPath
        case .interface:
            interface = name(at: place, length, &recent.interface)
            return interface != nil && interface != MessageHeader.reservedInterface
        case .member:
            member = name(at: place, length, &recent.member)
            return member != nil
        case .errorName:
            errorName = name(at: place, length, &recent.errorName)
            return errorName != nil
        case .sender:
            sender = name(at: place, length, &recent.sender)
            return sender != nil
        default: return name(at: place, length, &recent.destination) != nil
        }
    }

    /// Returns the name in these bytes, which a NUL follows; nil if they break the rule for this kind of name.
    private func name<Name: ValidatedName>(at place: Int, _ length: Int, _ recent: inout Name?) -> Name? {
        let bytes = UnsafeRawBufferPointer(start: start + place, count: length)
        if let recent, recent.rawValue.hasBytes(bytes) { return recent }
        guard let text = String(validatingCString: (start + place).assumingMemoryBound(to: CChar.self)),
            text.utf8.count == length, let name = Name(rawValue: text)
        else { return nil }
        // Only a path may be longer, and it must not stay in memory after its message.
        if length <= NameRule.maximumLength { recent = name }
        return name
    }

    /// Returns the end of a field that the specification does not define yet.
    private func skipField(at place: Int, upTo end: Int) throws(MalformedMessage) -> Int {
        guard bytes[place] != 0 else { throw MalformedMessage() }
        do throws(MessageDecodingError) {
            return try MessageReader.endOfVariant(self, at: place + 1, upTo: end)
        } catch {
            throw MalformedMessage()
        }
    }
}

/// The names in the last messages that arrived on a connection.
///
/// Most messages have the same names as the one before, so these need not be checked and copied again. Calls and answers
/// come from different programs, so each kind is remembered separately.
final class RecentNames {
    var inCalls = HeaderNames()
    var inAnswers = HeaderNames()
}

/// The latest name in each field of a header.
struct HeaderNames {
    var path: ObjectPath?
    var interface: InterfaceName?
    var member: MemberName?
    var errorName: ErrorName?
    var destination: BusName?
    var sender: BusName?
}

extension String {
    /// Whether the string has exactly these bytes.
    func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        utf8.withContiguousStorageIfAvailable {
            guard $0.count == bytes.count, let own = $0.baseAddress, let other = bytes.baseAddress else { return false }
            return memcmp(own, other, bytes.count) == 0
        } ?? false
    }
}

/// A message's sizes, according to the first 16 bytes of its header.
struct MessageSizes {
    /// End of the header's fields.
    let fieldsEnd: Int
    /// Beginning of the body.
    let body: Int
    /// The size of the whole message.
    let message: Int
    let isSwapped: Bool

    /// Number of bytes needed to know the sizes.
    static let headerBytes = 16

    init(_ start: UnsafeRawPointer, limit: Int) throws(MalformedMessage) {
        let isLittle = 1.littleEndian == 1
        switch start.load(as: UInt8.self) {
        case UInt8(ascii: "l"): isSwapped = !isLittle
        case UInt8(ascii: "B"): isSwapped = isLittle
        default: throw MalformedMessage()
        }
        guard start.load(fromByteOffset: 3, as: UInt8.self) == 1 else { throw MalformedMessage() }
        let body = start.loadUnaligned(fromByteOffset: MessageHeader.bodyLengthPlace, as: UInt32.self)
        let fields = start.loadUnaligned(fromByteOffset: MessageHeader.fieldsLengthPlace, as: UInt32.self)
        fieldsEnd = MessageHeader.fieldsPlace + Int(isSwapped ? fields.byteSwapped : fields)
        self.body = (fieldsEnd + 7) & ~7
        message = self.body + Int(isSwapped ? body.byteSwapped : body)
        guard message <= limit else { throw MalformedMessage() }
    }
}

/// The destination for the answer to a call.
struct ReplyAddress: Sendable {
    let sender: BusName?
    let serial: UInt32
    let isExpected: Bool
}

extension ReplyAddress {
    init(ofCall message: Message, from sender: BusName?) {
        self.sender = sender
        serial = message.serial
        isExpected = message.expectsAnswer
    }
}

/// An object that another program exports.
public struct RemoteObject: Sendable, Hashable {
    /// The connection that exports the object; nil for the other end of a connection without a bus.
    public let destination: BusName?
    /// The object's path.
    public let path: ObjectPath

    /// Whether the bus may start the service that provides the destination's name. In C, this is
    /// `dbus_message_set_auto_start`.
    public let startsService: Bool

    /// Creates a reference to an object.
    public init(_ destination: BusName?, _ path: ObjectPath, startsService: Bool = true) {
        self.destination = destination
        self.path = path
        self.startsService = startsService
    }
}
