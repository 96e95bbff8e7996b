internal import UserFiles

/// An error in a manifest.
struct ManifestProblem: Error, Hashable {
    /// The key's path, such as `CFBundleURLTypes[1].CFBundleURLSchemes[0]`; `nil` if the whole file is invalid.
    var key: String?
    var reason: String
}

/// A reader for the keys in one dictionary, which collects the problems with their values.
///
/// It is a class because the readers of inner dictionaries add their problems to those of the outermost reader.
final class ManifestReader {
    private let keys: [String: PropertyListValue]
    private let path: String
    private(set) var problems: [ManifestProblem] = []

    init(_ keys: [String: PropertyListValue], path: String = "") {
        self.keys = keys
        self.path = path
    }

    /// Returns the value of a required key. If it is missing or invalid, returns `nil` and records a problem.
    func required<Value>(_ key: String, _ read: (PropertyListValue) throws -> Value) -> Value? {
        if keys[key] == nil { report(key, "is missing") }
        return optional(key, read)
    }

    /// Returns the value of a key; `nil` if the key is missing. If the value is invalid, returns `nil` and records a
    /// problem.
    func optional<Value>(_ key: String, _ read: (PropertyListValue) throws -> Value) -> Value? {
        keys[key].flatMap { value($0, of: key, read) }
    }

    /// Returns the valid elements of an array, and records a problem for each invalid one; `nil` if the key is missing.
    func list<Element>(
        _ key: String,
        isRequired: Bool = false,
        allowsEmpty: Bool = true,
        _ read: (PropertyListValue) throws -> Element
    ) -> [Element]? {
        guard let list = keys[key] else {
            if isRequired { report(key, "is missing") }
            return nil
        }
        guard case .array(let elements) = list else {
            report(key, list.isNotAnArray)
            return nil
        }
        if elements.isEmpty, !allowsEmpty { report(key, "is empty") }
        return elements.enumerated().compactMap { value($0.element, of: "\(key)[\($0.offset)]", read) }
    }

    /// Returns the elements of an array of dictionaries; empty if the key is missing.
    func dictionaries<Element>(_ key: String, _ read: (ManifestReader) -> Element) -> [Element] {
        let elements = list(key) { $0 } ?? []
        return elements.enumerated().compactMap { index, element in
            let name = "\(key)[\(index)]"
            guard case .dictionary(let keys) = element else {
                report(name, "is \(element.typeName), not a dictionary")
                return nil
            }
            let inner = ManifestReader(keys, path: path + name + ".")
            defer { problems += inner.problems }
            return read(inner)
        }
    }

    /// Reads the keys of an inner dictionary, if there is one.
    func dictionary(_ key: String, _ read: (ManifestReader) -> Void) {
        guard let value = keys[key] else { return }
        guard case .dictionary(let keys) = value else { return report(key, "is \(value.typeName), not a dictionary") }
        let inner = ManifestReader(keys, path: "\(path)\(key).")
        read(inner)
        problems += inner.problems
    }

    /// Returns the elements of an array, or, if there is a single value instead of an array, that value as the only
    /// element; empty if the key is missing.
    func oneOrMore<Element>(_ key: String, _ read: (PropertyListValue) throws -> Element) -> [Element] {
        guard case .string? = keys[key] else { return list(key, read) ?? [] }
        return optional(key, read).map { [$0] } ?? []
    }

    /// Returns a dictionary of environment variables; empty if the key is missing.
    func environment(_ key: String) -> [String: String] {
        guard let value = keys[key] else { return [:] }
        guard case .dictionary(let variables) = value else {
            report(key, "is \(value.typeName), not a dictionary")
            return [:]
        }
        var result: [String: String] = [:]
        for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
            let path = "\(key).\(printable(name))"
            if name.isEmpty || name.contains("=") || name.unicodeScalars.contains("\0") {
                report(path, "is not a valid name for an environment variable")
            } else {
                result[name] = self.value(value, of: path) { try $0.string(allowing: .anything) }
            }
        }
        return result
    }

    private func value<Value>(
        _ value: PropertyListValue,
        of key: String,
        _ read: (PropertyListValue) throws -> Value
    ) -> Value? {
        do {
            return try read(value)
        } catch {
            report(key, "\(error)")
            return nil
        }
    }

    /// Records a problem with a key.
    func report(_ key: String, _ reason: String) {
        problems.append(ManifestProblem(key: path + key, reason: reason))
    }
}

/// Thrown for a value that its key does not allow.
struct WrongValue: Error, CustomStringConvertible {
    var description: String
}

extension PropertyListValue {
    /// The characters that a string may contain.
    enum AllowedCharacters {
        /// All characters except control characters, at most 1 KiB: for names that are displayed.
        case text
        /// Any characters that fit in a C string, less than the 128 KiB that the kernel passes to a program: for
        /// arguments and environment variables.
        case anything

        fileprivate var longest: Int { self == .text ? 1024 : (128 << 10) - 1 }
    }

    func string(allowing allowed: AllowedCharacters = .text) throws -> String {
        guard case .string(let text) = self else { throw WrongValue(description: "is \(typeName), not a string") }
        guard text.utf8.count <= allowed.longest else {
            throw WrongValue(description: "has \(text.utf8.count) bytes; at most \(allowed.longest) are allowed")
        }
        for scalar in text.unicodeScalars
        where scalar == "\0" || (allowed == .text && isControl(scalar)) {
            throw WrongValue(description: "contains \(printable(scalar))")
        }
        return text
    }

    /// The reason to refuse a value that should be an array.
    var isNotAnArray: String {
        switch self {
        case .string, .dictionary: "is \(typeName), not an array; write <array> and </array> around it"
        default: "is \(typeName), not an array"
        }
    }

    /// Returns the elements of an array of strings, for a program's command line.
    func strings() throws -> [String] {
        guard case .array(let elements) = self else { throw WrongValue(description: isNotAnArray) }
        return try elements.map { try $0.string(allowing: .anything) }
    }

    func boolean() throws -> Bool {
        guard case .boolean(let value) = self else { throw WrongValue(description: "is \(typeName), not a boolean") }
        return value
    }

    /// Returns the value as a duration between a millisecond and a day, because no watchdog waits longer than a day.
    func seconds() throws -> Duration {
        let seconds: Double
        switch self {
        case .real(let value): seconds = value
        case .integer(let value): seconds = Double(value)
        default: throw WrongValue(description: "is \(typeName), not a number of seconds")
        }
        guard (0.001...86_400).contains(seconds) else {
            throw WrongValue(description: "is \(seconds) seconds; it has to be between 0.001 and 86400")
        }
        return .seconds(seconds)
    }

    /// Returns the value as an icon's name or an image's absolute path.
    func icon() throws -> String {
        let text = try string()
        return isAbsolute(text) ? text : try fileName()
    }

    /// Returns the value as the name of a file in the bundle; a path is not valid.
    func fileName() throws -> String {
        let name = try string()
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
            throw WrongValue(description: "is not a file name")
        }
        return name
    }
}
