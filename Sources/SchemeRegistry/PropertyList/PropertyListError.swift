internal import UserFiles

/// Why bytes are no property list that the registry reads.
enum PropertyListError: Error, Hashable, CustomStringConvertible {
    /// Neither `bplist00` nor `<` at the start.
    case unknownFormat
    /// XML that is not UTF-8.
    case notUTF8
    /// XML with a NUL byte.
    case containsNUL
    /// More arrays and dictionaries than ``PropertyListLimits/containers``, which endless nesting amounts to as well.
    case tooManyContainers
    /// More values than ``PropertyListLimits/values``, or more text than ``PropertyListLimits/payload``.
    case tooLarge
    /// A binary property list whose structure is broken, and how.
    case corrupt(String)
    /// What the decoder says.
    case malformed(String)

    var description: String {
        switch self {
        case .unknownFormat: "is neither an XML nor a binary property list"
        case .notUTF8: "is not UTF-8"
        case .containsNUL: "holds a NUL byte"
        case .tooManyContainers:
            "nests or holds more than \(PropertyListLimits.containers) arrays and dictionaries"
        case .tooLarge:
            "holds more than \(PropertyListLimits.values) values or \(PropertyListLimits.payload) bytes of them"
        case .corrupt(let what): "is a damaged binary property list: \(what)"
        case .malformed(let reason): "is not a property list: \(printable(reason))"
        }
    }
}

/// How much of a property list is handed to the decoder.
///
/// `PropertyListDecoder` trusts its input: a container that holds itself, or 10,000 nested ones, overflow the stack; 60
/// arrays of 16 references to the next one never end; and every level of dictionaries multiplies its time. The checks
/// before it therefore bound the containers, which bounds the depth whatever the decoder makes of the text, and what
/// shared references add up to.
enum PropertyListLimits {
    /// Arrays and dictionaries, each counted every time that something refers to it.
    ///
    /// As many, nested, take the decoder less than 1 MiB of stack.
    static let containers = 256
    /// Values of any type, counted alike.
    static let values = 65_536
    /// Bytes of strings and data, counted alike.
    static let payload = 1 << 20
}
