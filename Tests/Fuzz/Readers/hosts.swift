@testable import DBus
@testable import OpenURLBus

/// Reads what another host sends: the messages of a session of ssh, as they arrive whole and in pieces, and the bodies of a
/// broker's messages. The first byte chooses.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] {
    case UInt8(ascii: "h"): checkFrames(HostFrames.Hello.self, bytes)
    case UInt8(ascii: "q"): checkFrames(HostFrames.Request.self, bytes)
    case UInt8(ascii: "a"): checkFrames(HostFrames.Answer.self, bytes)
    case UInt8(ascii: "r"): checkBody(HostRequest.self, bytes)
    case UInt8(ascii: "o"): checkBody(OpenOutcome.self, bytes)
    default: break
    }
    return 0
}

/// Reads messages, and checks that they are the same in whatever pieces they arrive.
private func checkFrames<Body: MessageBody>(_ type: Body.Type, _ bytes: [UInt8]) {
    let whole = frames(type, [bytes[...]])
    let size = 1 + Int(bytes.first ?? 0) % 64
    let pieces = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
    let inPieces = frames(type, pieces)
    precondition(whole.bodies.count == inPieces.bodies.count && whole.isDamaged == inPieces.isDamaged)
    for (body, again) in zip(whole.bodies, inPieces.bodies) {
        precondition(archive(body).count == archive(again).count)
        checkWriting(body)
    }
}

private func frames<Body: MessageBody>(
    _ type: Body.Type,
    _ pieces: [ArraySlice<UInt8>]
) -> (bodies: [Body], isDamaged: Bool) {
    var input = HostFrames.Input()
    var bodies: [Body] = []
    do throws(MessageDecodingError) {
        for piece in pieces {
            input.append(piece)
            while let body = try input.next(type) { bodies.append(body) }
        }
    } catch {
        precondition(!error.description.isEmpty)
        return (bodies, true)
    }
    return (bodies, false)
}

private func checkBody<Body: MessageBody>(_ type: Body.Type, _ bytes: [UInt8]) {
    guard let body: Body = try? MessageArchive.body(from: bytes) else { return }
    checkWriting(body)
}

/// Checks that a body can be written and read again.
private func checkWriting<Body: MessageBody>(_ body: Body) {
    let written = archive(body)
    guard let again: Body = try? MessageArchive.body(from: written) else {
        preconditionFailure("\(body) was written but cannot be read")
    }
    // The order of a dictionary's entries is not fixed, so compare their size.
    precondition(archive(again).count == written.count)
}

private func archive<Body: MessageBody>(_ body: Body) -> [UInt8] {
    guard let bytes = try? MessageArchive.bytes(of: body, limit: .max) else {
        preconditionFailure("\(body) cannot be written")
    }
    return bytes
}
