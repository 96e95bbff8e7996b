internal import CGTK

/// Thrown if the question cannot be shown; gives the reason.
struct InvalidQuestion: Error, Hashable {
    var reason: String
}

/// A key file, which GLib reads and writes.
struct KeyFile: ~Copyable {
    private let file: OpaquePointer

    /// An empty file.
    init() {
        file = g_key_file_new()
    }

    /// Reads a file.
    init(_ bytes: [UInt8]) throws(InvalidQuestion) {
        self.init()
        // GLib would cut a value off there.
        guard !bytes.contains(0) else { throw InvalidQuestion(reason: "contains U+0000") }
        var error: UnsafeMutablePointer<GError>?
        let isRead = bytes.withUnsafeBytes {
            g_key_file_load_from_data(
                file,
                $0.baseAddress?.assumingMemoryBound(to: CChar.self),
                gsize($0.count),
                G_KEY_FILE_NONE,
                &error
            )
        }
        guard isRead != 0 else { throw InvalidQuestion(reason: "is not a key file: \(Self.message(&error))") }
    }

    deinit {
        g_key_file_unref(file)
    }

    func hasGroup(_ group: String) -> Bool { g_key_file_has_group(file, group) != 0 }

    /// Returns a text; empty if the key is absent.
    func string(_ key: String, in group: String) throws(InvalidQuestion) -> String {
        guard g_key_file_has_key(file, group, key, nil) != 0 else { return "" }
        var error: UnsafeMutablePointer<GError>?
        guard let text = g_key_file_get_string(file, group, key, &error) else {
            throw InvalidQuestion(reason: "has an invalid \(key) in [\(group)]: \(Self.message(&error))")
        }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Returns a text that is present and not empty.
    func required(_ key: String, in group: String) throws(InvalidQuestion) -> String {
        let text = try string(key, in: group)
        guard !text.isEmpty else { throw InvalidQuestion(reason: "has no \(key) in [\(group)]") }
        return text
    }

    /// Returns a Boolean; false if the key is absent.
    func boolean(_ key: String, in group: String) throws(InvalidQuestion) -> Bool {
        guard g_key_file_has_key(file, group, key, nil) != 0 else { return false }
        var error: UnsafeMutablePointer<GError>?
        let value = g_key_file_get_boolean(file, group, key, &error)
        guard error == nil else {
            throw InvalidQuestion(reason: "has an invalid \(key) in [\(group)]: \(Self.message(&error))")
        }
        return value != 0
    }

    /// Sets a text.
    mutating func set(_ key: String, in group: String, to value: String) {
        g_key_file_set_string(file, group, key, value)
    }

    /// The file's text.
    var text: String {
        guard let text = g_key_file_to_data(file, nil, nil) else { return "" }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Returns an error's message, and frees the error.
    private static func message(_ error: inout UnsafeMutablePointer<GError>?) -> String {
        defer { g_clear_error(&error) }
        return error.map { String(cString: $0.pointee.message) } ?? "unknown error"
    }
}
