@testable import DBus

/// Answers the lines with which another program connects, and reads them as the answers of the other end.
///
/// The first byte of the input gives the size of the pieces in which the lines arrive.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    let whole = answers(to: bytes, inPiecesOf: max(bytes.count, 1))
    // The same lines get the same answers, no matter how they arrive.
    precondition(answers(to: bytes, inPiecesOf: 1 + Int(start[0])) == whole)
    if whole.isDone {
        precondition(bytes.first == 0)
        precondition(whole.lines.contains("OK \(id)\r\n"))
    }
    readAnswers(bytes)
    return 0
}

private let id = String(repeating: "0123456789abcdef", count: 2)

private struct Answers: Equatable {
    var lines: [String] = []
    var isDone = false
    var passesDescriptors = false
    var isRefused = false
}

private func answers(to bytes: [UInt8], inPiecesOf size: Int) -> Answers {
    let sockets = SocketPair()
    var input = InputBuffer(linesBefore: 64 << 10)
    var authentication = PeerAuthentication(id: id)
    var answers = Answers()
    do throws(MalformedMessage) {
        for piece in pieces(of: bytes, size: size) where !authentication.isDone {
            sockets.send(piece)
            while !authentication.isDone, case .read = try input.read(from: sockets.near) {
                while let line = try authentication.answer(from: &input) { answers.lines.append(line) }
            }
        }
    } catch {
        answers.isRefused = true
    }
    answers.isDone = authentication.isDone
    answers.passesDescriptors = authentication.passesDescriptors
    return answers
}

/// Reads the lines as a program does that has connected.
private func readAnswers(_ bytes: [UInt8]) {
    let sockets = SocketPair()
    var input = InputBuffer(linesBefore: 64 << 10)
    var request = AuthenticationRequest()
    sockets.send(bytes)
    do throws(MalformedMessage) {
        while case .read = try input.read(from: sockets.near) {
            if try request.passesDescriptors(&input) != nil { return }
        }
    } catch {
        // The connection ends here.
    }
}
