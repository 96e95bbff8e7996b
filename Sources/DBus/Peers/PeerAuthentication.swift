internal import CLinux
internal import Glibc

/// The authentication of a program that has connected, according to "Authentication Protocol" in the D-Bus
/// specification.
///
/// `EXTERNAL` is the only mechanism. The kernel has already proved that the program belongs to this user, so the
/// program only has to name the same user.
struct PeerAuthentication {
    private enum State {
        case waitingForNUL
        case waitingForMechanism
        case waitingForData
        case waitingForBegin
        case done
    }

    private var state = State.waitingForNUL
    private var refusals = 0
    private let id: String
    /// Whether the other end accepts descriptors.
    private(set) var passesDescriptors = false

    /// Number of refusals after which the connection ends.
    private static let maximumRefusals = 8
    private static let refusal = "REJECTED EXTERNAL\r\n"
    private static let error = "ERROR\r\n"

    /// - Parameter id: The identifier of the listening socket, 32 hexadecimal digits.
    init(id: String) {
        self.id = id
    }

    /// Whether messages follow.
    var isDone: Bool { state == .done }

    /// Reads and handles the next line.
    ///
    /// - Returns: The answer; nil if part of the line is missing, or messages follow.
    /// - Throws: ``MalformedMessage`` if the other end sends `BEGIN` before it is accepted, or is refused too often.
    mutating func answer(from input: inout InputBuffer) throws(MalformedMessage) -> String? {
        if state == .waitingForNUL {
            guard let byte = input.nextByte() else { return nil }
            guard byte == 0 else { throw MalformedMessage() }
            state = .waitingForMechanism
        }
        guard state != .done, let line = try input.nextLine() else { return nil }
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        switch (state, words[0]) {
        case (.waitingForMechanism, "AUTH") where words.count == 2 && words[1] == "EXTERNAL":
            state = .waitingForData
            return "DATA\r\n"
        case (.waitingForMechanism, "AUTH") where words.count == 3 && words[1] == "EXTERNAL":
            return try answer(to: words[2])
        case (.waitingForMechanism, "AUTH"): return try refuse()
        case (.waitingForData, "DATA") where words.count <= 2:
            return try answer(to: words.count == 2 ? words[1] : "")
        case (.waitingForBegin, "NEGOTIATE_UNIX_FD") where !passesDescriptors:
            passesDescriptors = true
            return "AGREE_UNIX_FD\r\n"
        case (.waitingForBegin, "BEGIN"):
            state = .done
            return nil
        case (.waitingForData, "CANCEL"), (.waitingForBegin, "CANCEL"), (_, "ERROR"): return try refuse()
        case (_, "BEGIN"): throw MalformedMessage()
        default: return try answerError()
        }
    }

    /// Answers a user's name, which is the decimal number in hexadecimal digits, or empty for the socket's user.
    private mutating func answer(to name: Substring) throws(MalformedMessage) -> String {
        guard name.utf8.count.isMultiple(of: 2), name.utf8.allSatisfy(Self.isHexadecimal) else {
            return try answerError()
        }
        guard name.isEmpty || name == AuthenticationRequest.user else { return try refuse() }
        state = .waitingForBegin
        return "OK \(id)\r\n"
    }

    private mutating func refuse() throws(MalformedMessage) -> String {
        try countRefusal()
        state = .waitingForMechanism
        passesDescriptors = false
        return Self.refusal
    }

    /// Answers a line that the protocol does not allow in this state, without changing the state.
    private mutating func answerError() throws(MalformedMessage) -> String {
        try countRefusal()
        return Self.error
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "a")...UInt8(ascii: "f"):
            true
        default: false
        }
    }

    private mutating func countRefusal() throws(MalformedMessage) {
        refusals += 1
        if refusals > Self.maximumRefusals { throw MalformedMessage() }
    }
}
