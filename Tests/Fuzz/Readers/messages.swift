@testable import DBus

/// Reads a message and its values, and then the same bytes as they arrive at a socket in pieces.
///
/// The first byte of the input gives the size of the pieces, and the number of descriptors that come with each.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    let (size, descriptors) = (1 + 16 * Int(start[0] >> 2), Int(start[0] & 3))
    let before = nextDescriptor
    let first = checkArrival(of: bytes, inPiecesOf: size, withDescriptors: descriptors)
    precondition(nextDescriptor == before)
    guard let message = try? Message(bytes) else { return 0 }
    if descriptors == 0 {
        precondition(first.map { $0.size == message.count && $0.isValid == message.isValid } == true)
    }
    if message.isValid { checkValues(of: message) }
    return 0
}

/// Checks the messages that a connection takes from bytes that arrive, and returns what the first of them is like.
private func checkArrival(
    of bytes: [UInt8],
    inPiecesOf size: Int,
    withDescriptors descriptors: Int
) -> (size: Int, isValid: Bool)? {
    let sockets = SocketPair()
    var input = InputBuffer(limit: 64 << 10, descriptors: 4)
    var first: (size: Int, isValid: Bool)?
    do throws(MalformedMessage) {
        for piece in pieces(of: bytes, size: size) {
            sockets.send(piece, descriptors: descriptors)
            while case .read = try input.read(from: sockets.near) {
                while let message = try input.nextMessage() {
                    if first == nil { first = (message.count, message.isValid) }
                    if message.isValid { checkValues(of: message) }
                }
            }
        }
    } catch {
        // The connection ends here.
    }
    return first
}

/// Checks that the values are the same after they have been written and read again, and that skipping agrees with reading.
private func checkValues(of message: Message) {
    let isSkipped = isSkipped(message)
    for limit in [64, 64 << 10] {
        guard let values = values(of: message, limit: limit) else { continue }
        precondition(isSkipped)
        for value in values { checkWriting(value) }
    }
    _ = body(of: message, as: Arguments<String, [String: Value]>.self)
    _ = body(of: message, as: [[String: [UInt32]]].self)
    _ = body(of: message, as: [Double].self)
    _ = body(of: message, as: [Bool].self)
}

private func checkWriting(_ value: Value) {
    let written: WrittenMessage
    do throws(MessageEncodingError) {
        written = try WrittenMessage.reply(
            to: ReplyAddress(sender: nil, serial: 1, isExpected: true),
            value,
            limit: .max
        )
    } catch {
        // The variant around the value is one level more.
        precondition(error == .tooDeep)
        return
    }
    guard let copy = try? Message(written), copy.isValid, let again = values(of: copy, limit: .max) else {
        preconditionFailure("\(value) was written but cannot be read")
    }
    // A value that is not a number differs from itself, and a descriptor is passed on as another one.
    precondition(again == [.variant(value)] || "\(value)".contains("nan") || "\(value)".contains("an open file"))
}

private func values(of message: Message, limit: Int) -> [Value]? {
    var reader = MessageReader(message: message, limit: limit)
    var values: [Value] = []
    do throws(MessageDecodingError) {
        while reader.hasMore { values.append(try reader.readValue()) }
        try reader.expectEnd()
        return values
    } catch {
        precondition(!error.description.isEmpty)
        return nil
    }
}

private func isSkipped(_ message: Message) -> Bool {
    var reader = MessageReader(message: message, limit: .max)
    do throws(MessageDecodingError) {
        while reader.hasMore { try reader.skip() }
        try reader.expectEnd()
        return true
    } catch {
        return false
    }
}

/// Reads a body whose type the message may not have, without the comparison of signatures that would refuse most messages.
private func body<Body: MessageBody>(of message: Message, as type: Body.Type) -> Body? {
    var reader = MessageReader(message: message, limit: 64 << 10)
    return try? Body(from: &reader)
}
