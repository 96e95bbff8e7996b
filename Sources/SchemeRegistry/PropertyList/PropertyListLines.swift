/// The lines of keys and array elements in an XML property list.
///
/// The scan looks only at tags, so use it only for a list that the decoder has accepted: in that case, the
/// ``PropertyListLimits`` bound the number of its containers.
struct PropertyListLines {
    private enum Container {
        case dictionary(path: String, key: String)
        case array(path: String, count: Int)
    }

    /// Maximum length of a path whose line is stored, in bytes. Many elements below a long key would need a lot of
    /// memory.
    private static let longestPath = 256

    private var lines: [String: Int] = [:]
    private var containers: [Container] = []

    /// Creates a list's lines; none for a binary list.
    init(_ bytes: [UInt8]) {
        guard !bytes.starts(with: BinaryPropertyListGuard.magic) else { return }
        var line = 1
        var index = 0
        var keyStart: Int?
        while index < bytes.count {
            defer { index += 1 }
            if bytes[index] == UInt8(ascii: "\n") { line += 1 }
            guard bytes[index] == UInt8(ascii: "<") else { continue }
            let isComment = bytes[index...].starts(with: "<!--".utf8)
            guard let end = Self.end(ofTagAt: index, in: bytes, isComment: isComment) else { return }
            line += bytes[index...end].count { $0 == UInt8(ascii: "\n") }
            let tag = String(decoding: bytes[index + 1..<end], as: UTF8.self)
            if tag == "key" {
                keyStart = end + 1
            } else if tag == "/key", let start = keyStart {
                use(key: String(decoding: bytes[start..<index], as: UTF8.self), line)
                keyStart = nil
            } else if !isComment {
                use(tag: tag, line)
            }
            index = end
        }
    }

    /// The line of a key or an element, or of the innermost value around it that is in the list; nil for the list as a
    /// whole.
    subscript(path: String) -> Int? {
        var path = path[...]
        while true {
            if let line = lines[String(path)] { return line }
            guard let end = path.lastIndex(where: { $0 == "." || $0 == "[" }) else { return nil }
            path = path[..<end]
        }
    }

    /// Returns the index of the last byte of a tag or a comment.
    private static func end(ofTagAt start: Int, in bytes: [UInt8], isComment: Bool) -> Int? {
        guard isComment else { return bytes[start...].firstIndex(of: UInt8(ascii: ">")) }
        var index = start + 6
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: ">"), bytes[index - 1] == UInt8(ascii: "-"),
                bytes[index - 2] == UInt8(ascii: "-")
            {
                return index
            }
            index += 1
        }
        return nil
    }

    private mutating func use(key: String, _ line: Int) {
        guard case .dictionary(let path, _)? = containers.popLast() else { return }
        let isShort = path.utf8.count + key.utf8.count <= Self.longestPath
        containers.append(.dictionary(path: path, key: isShort ? key : ""))
        if isShort { lines[path + key] = line }
    }

    private mutating func use(tag: String, _ line: Int) {
        guard let first = tag.utf8.first, ![UInt8(ascii: "?"), UInt8(ascii: "!")].contains(first) else { return }
        if tag == "/dict" || tag == "/array" {
            _ = containers.popLast()
            return
        }
        let name = tag.prefix { $0 != " " && $0 != "/" && $0 != "\n" }
        guard first != UInt8(ascii: "/"), name != "plist" else { return }
        var path = ""
        switch containers.popLast() {
        case .dictionary(let above, let key):
            path = above + key
            containers.append(.dictionary(path: above, key: key))
        case .array(let above, let count):
            path = "\(above)[\(count)]"
            if path.utf8.count <= Self.longestPath { lines[path] = line }
            containers.append(.array(path: above, count: count + 1))
        case nil: break
        }
        guard !tag.hasSuffix("/") else { return }
        if name == "dict" {
            containers.append(.dictionary(path: path.isEmpty ? "" : path + ".", key: ""))
        } else if name == "array" {
            containers.append(.array(path: path, count: 0))
        }
    }
}
