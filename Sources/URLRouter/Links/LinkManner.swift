internal import Desktop
internal import Links
internal import RFC1808

/// The way in which a browser opens a link, if it is not the usual one: with a profile, or in a private window.
///
/// It is a class in order to save memory: thousands of URLs may wait, and few of them have one.
final class LinkManner: Sendable {
    /// The command instead of the one of the desktop entry; nil for the usual way.
    let command: ExecCommand?
    /// The rule that has chosen the program, as `file:line`.
    let rule: String

    init(_ command: ExecCommand?, rule: String) {
        self.command = command
        self.rule = rule
    }
}

extension GenericURL {
    /// Returns the link that opens this one in a container of Firefox, with the add-on "Open external links in a
    /// container".
    func inContainer(_ name: String) -> GenericURL? {
        let text = "ext+container:name=\(escaped(name))&url=\(escaped(description))"
        do throws(ParseError) {
            return try GenericURL(text)
        } catch {
            return nil
        }
    }
}

/// Returns a text with everything escaped that has a meaning in a query.
private func escaped(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            result.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let hex = String(byte, radix: 16, uppercase: true)
            result += hex.utf8.count == 1 ? "%0\(hex)" : "%\(hex)"
        }
    }
}
