internal import UserFiles

/// Why the registry rejects a property list's bytes.
enum PropertyListError: Error, Hashable, CustomStringConvertible {
    /// The bytes begin neither with `bplist00` nor with `<`. The text says what they are; nil if it is not known.
    case unknownFormat(String?)
    /// The XML is not UTF-8.
    case notUTF8
    /// The XML contains a NUL byte.
    case containsNUL
    /// There are more arrays and dictionaries than ``PropertyListLimits/containers``. Endless nesting also ends here.
    case tooManyContainers
    /// There are more values than ``PropertyListLimits/values``, or more text than ``PropertyListLimits/payload``.
    case tooLarge
    /// There are more combining marks than ``PropertyListLimits/marks``.
    case tooManyMarks
    /// A binary property list is damaged in the described way.
    case corrupt(String)
    /// The decoder failed.
    case malformed(String)

    var description: String {
        switch self {
        case .unknownFormat(let kind):
            "is neither an XML nor a binary property list\(kind.map { ", but \($0)" } ?? ""); "
                + "'openurl new' writes a manifest that you can start from"
        case .notUTF8: "is not UTF-8"
        case .containsNUL: "contains a NUL byte"
        case .tooManyContainers:
            "nests or contains more than \(PropertyListLimits.containers) arrays and dictionaries"
        case .tooLarge:
            "contains more than \(PropertyListLimits.values) values or \(PropertyListLimits.payload) bytes of them"
        case .tooManyMarks:
            "contains more than \(PropertyListLimits.marks) combining marks and character references"
        case .corrupt(let what): "is a damaged binary property list: \(what)"
        case .malformed(let reason):
            "is not a property list: \(printable(reason)); "
                + (Self.advice.first(where: { reason.contains($0.part) })?.advice
                    ?? "correct the XML, or start from the manifest that 'openurl new' writes")
        }
    }

    /// Advice on the decoder's errors, by a part of their text.
    private static let advice: [(part: String, advice: String)] = [
        ("ampersand", "write '&' as &amp; and '<' as &lt;"),
        ("Non key string", "each value must follow a <key>"),
        ("looking for close tag", "a tag before it is not closed"),
        ("unknown tag", "a value is a <string>, an <array>, a <dict>, <true/>, <false/>, an <integer> or a <real>"),
    ]

    /// Creates the error for bytes that are not a property list.
    init(ofOtherFormat bytes: ArraySlice<UInt8>) {
        let marks: [[UInt8]] = [[0xFE, 0xFF], [0xFF, 0xFE]]
        switch bytes.first(where: { !isXMLSpace($0) }) {
        case nil: self = .unknownFormat("empty")
        case 0xFE?, 0xFF?: self = .unknownFormat(marks.contains(where: bytes.starts) ? "text in UTF-16" : nil)
        case UInt8(ascii: "{")? where !bytes.contains(UInt8(ascii: "=")): self = .unknownFormat("JSON")
        default: self = .unknownFormat(nil)
        }
    }

    /// Returns the line of an XML property list on which decoding failed with this error, counted from 1; nil for an
    /// error in the list as a whole, and for a binary list.
    ///
    /// The decoder reads from the front and does not report a line, so the error's line is where the shortest beginning
    /// with the same error ends. Finding it takes about 20 attempts to decode the list.
    func line(in bytes: [UInt8]) -> Int? {
        guard !bytes.starts(with: BinaryPropertyListGuard.magic) else { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let index: Int?
        switch self {
        case .unknownFormat, .tooManyContainers, .tooLarge, .tooManyMarks, .corrupt: index = nil
        case .notUTF8: index = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil }
        case .containsNUL: index = lines.firstIndex { $0.contains(0) }
        case .malformed(let reason) where reason.contains("unexpected EOF"):
            index = lines.lastIndex { $0.contains { $0 != UInt8(ascii: " ") } }
        case .malformed:
            var (low, high) = (0, lines.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if isError(of: bytes[..<lines[middle].endIndex]) { high = middle } else { low = middle + 1 }
            }
            index = low
        }
        return index.map { $0 + 1 }
    }

    private func isError(of beginning: ArraySlice<UInt8>) -> Bool {
        do throws(PropertyListError) {
            // The decoder looks ahead by the length of a closing tag.
            _ = try PropertyListValue(bytes: beginning + [UInt8](repeating: UInt8(ascii: "\n"), count: 64))
            return false
        } catch {
            return error == self
        }
    }
}

/// Limits on the property lists that reach the decoder.
///
/// `PropertyListDecoder` trusts its input. A container that contains itself overflows the stack, and so do 10,000
/// nested containers. A list of 60 arrays, each with 16 references to the next, keeps the decoder busy forever. Every
/// level of dictionaries multiplies the running time. That is why the checks run before the decoder. The limit on
/// containers also limits the depth, no matter what structure the decoder finds in the text. The limits on values and
/// bytes limit the effect of shared references.
enum PropertyListLimits {
    /// Maximum number of arrays and dictionaries. A container counts once for every reference to it.
    ///
    /// With this many nested containers, the decoder needs less than 1 MiB of stack.
    static let containers = 256
    /// Maximum number of values of any type, counted in the same way.
    static let values = 65_536
    /// Maximum number of combining marks in all strings together, counted in the same way. The decoder compares and
    /// hashes keys many times, which takes time that grows with the square of the number of consecutive marks in a key.
    static let marks = 4096
    /// Maximum number of bytes in strings and data, counted in the same way.
    static let payload = 1 << 20
}
