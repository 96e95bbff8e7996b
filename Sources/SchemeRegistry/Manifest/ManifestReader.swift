internal import UserFiles

/// A mistake in a manifest: which key, as a path such as `CFBundleURLTypes[1].CFBundleURLSchemes[0]`, and what it is.
struct ManifestProblem: Error, Hashable {
    /// The key; `nil` if it is the file as a whole.
    var key: String?
    var reason: String
}

/// Takes the keys of one dictionary apart and collects what is wrong with them.
///
/// A class because the readers of inner dictionaries add to the problems of the outermost one.
final class ManifestReader {
    private let keys: [String: PropertyListValue]
    private let path: String
    private(set) var problems: [ManifestProblem] = []

    init(_ keys: [String: PropertyListValue], path: String = "") {
        self.keys = keys
        self.path = path
    }

    /// The value of a key that has to be there, or `nil` with a problem.
    func required<Value>(_ key: String, _ read: (PropertyListValue) throws -> Value) -> Value? {
        if keys[key] == nil { report(key, "is missing") }
        return optional(key, read)
    }

    /// The value of a key, or `nil` if it is absent or, with a problem, wrong.
    func optional<Value>(_ key: String, _ read: (PropertyListValue) throws -> Value) -> Value? {
        keys[key].flatMap { value($0, of: key, read) }
    }

    /// The elements of an array that are right, with a problem for each other one; `nil` if the key is absent.
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
            report(key, "is \(list.typeName), not an array")
            return nil
        }
        if elements.isEmpty, !allowsEmpty { report(key, "is empty") }
        return elements.enumerated().compactMap { value($0.element, of: "\(key)[\($0.offset)]", read) }
    }

    /// The elements of an array of dictionaries, empty if the key is absent.
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

    /// A dictionary of environment variables, empty if the key is absent.
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
                report(path, "is no name of an environment variable")
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

    private func report(_ key: String, _ reason: String) {
        problems.append(ManifestProblem(key: path + key, reason: reason))
    }
}

/// A value that is not what its key needs.
private struct WrongValue: Error, CustomStringConvertible {
    var description: String
}

extension PropertyListValue {
    /// Which characters a string may hold.
    enum AllowedCharacters {
        /// No control characters: names, which are shown to people.
        case text
        /// All that fits in a C string: arguments and environment.
        case anything
    }

    func string(allowing allowed: AllowedCharacters = .text) throws -> String {
        guard case .string(let text) = self else { throw WrongValue(description: "is \(typeName), not a string") }
        for scalar in text.unicodeScalars
        where scalar == "\0" || (allowed == .text && isControl(scalar)) {
            throw WrongValue(description: "holds \(printable(scalar))")
        }
        return text
    }

    func boolean() throws -> Bool {
        guard case .boolean(let value) = self else { throw WrongValue(description: "is \(typeName), not a boolean") }
        return value
    }

    /// A time: more than nothing, and no more than a day, which no watchdog waits.
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

    /// A name of a file in the bundle, not a path.
    func fileName() throws -> String {
        let name = try string()
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            throw WrongValue(description: "is no name of a file")
        }
        return name
    }
}
