internal import CLinux
internal import Glibc

/// This program's side of the authentication, which ``PeerAuthentication`` answers.
///
/// A program that does not need to know the answer before its first message sends all lines at once, followed by the
/// message.
struct AuthenticationRequest {
    private var isAccepted = false

    /// Lines that come before the first message.
    static var lines: String { "\0AUTH EXTERNAL \(user)\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n" }

    /// This process's user: the digits of the decimal number, written as hexadecimal bytes.
    static var user: String {
        var text = ""
        for digit in String(getuid()).unicodeScalars {
            text += "3"
            text.unicodeScalars.append(digit)
        }
        return text
    }

    /// Takes the answer.
    ///
    /// - Returns: Whether the other end accepts descriptors; nil if part of the answer is missing.
    /// - Throws: ``MalformedMessage`` if the other end does not accept this program.
    mutating func passesDescriptors(_ input: inout InputBuffer) throws(MalformedMessage) -> Bool? {
        while let line = try input.nextLine() {
            if isAccepted { return line == "AGREE_UNIX_FD" }
            guard line.hasPrefix("OK ") else { throw MalformedMessage() }
            isAccepted = true
        }
        return nil
    }
}
