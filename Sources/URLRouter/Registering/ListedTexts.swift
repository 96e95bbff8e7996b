/// A dictionary for one message, with room for a limited number of bytes.
///
/// A registry may be larger than a message. Elements that do not fit are left out and counted, so that the list as a
/// whole does not fail.
struct ListedTexts<Value> {
    private(set) var elements: [String: Value] = [:]
    /// Number of elements that did not fit.
    private(set) var omitted = 0
    private var room: Int

    /// Maximum size of a list in a message. A connection sends at most 16 MiB.
    static var messageBytes: Int { 15 << 20 }
    /// Number of bytes that a string takes besides its text: its length, its end and its alignment.
    private static var bytesAroundText: Int { 16 }

    init(bytes: Int = messageBytes) {
        room = bytes
    }

    /// Adds an element that consists of these strings.
    mutating func add(_ value: Value, for key: String, _ texts: [String]) {
        var size = key.utf8.count + 2 * Self.bytesAroundText
        for text in texts { size += text.utf8.count + Self.bytesAroundText }
        guard size <= room else {
            omitted += 1
            return
        }
        room -= size
        elements[key] = value
    }
}
