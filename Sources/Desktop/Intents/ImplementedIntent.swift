internal import UserFiles

/// An intent that a desktop entry declares, from the key `Implements`.
public struct ImplementedIntent: Sendable, Hashable {
    /// The intent.
    public let intent: Intent
    /// The scopes that the application supports, from the key `Supports` in the group with the intent's name, without
    /// repetitions.
    public let scopes: [IntentScope]
    /// The line of `Implements` in the entry's file, counted from 1.
    public let line: Int

    static let key = "Implements"
    static let scopesKey = "Supports"

    /// Maximum number of intents in an entry, and of scopes in an intent.
    static let limit = 4096
}

extension ImplementedIntent {
    /// Reads the intents of an entry, each once and in the entry's order.
    ///
    /// Without a usable list, the entry declares nothing, and is otherwise unaffected: entries were valid before this
    /// key had a meaning for this module.
    ///
    /// - Parameters:
    ///   - file: the entry's key file, with its first group.
    ///   - bytes: the contents of the file.
    static func declared(in file: KeyFile, _ group: String, _ bytes: [UInt8], _ problems: inout Problems) -> [Self] {
        guard let (names, line) = list(of: key, in: file, group, &problems) else { return [] }
        var intents: [Intent] = []
        var seen: Set<Intent> = []
        for name in names {
            guard let intent = Intent(rawValue: name) else {
                problems.add(.warning, key, "contains '\(printable(name))', which is not the name of an interface")
                continue
            }
            if seen.insert(intent).inserted { intents.append(intent) }
        }
        guard !intents.isEmpty else { return [] }
        let details = KeyFile(bytes, groups: Set(intents.map(\.rawValue)))
        for problem in details.repeated { problems.add(.warning, problem) }
        return intents.map { intent in
            Self(intent: intent, scopes: scopes(of: intent, in: details, &problems), line: line)
        }
    }

    private static func scopes(
        of intent: Intent,
        in file: KeyFile,
        _ problems: inout Problems
    ) -> [IntentScope] {
        let names = list(of: scopesKey, in: file, intent.rawValue, &problems)?.names ?? []
        var scopes: [IntentScope] = []
        var seen: Set<IntentScope> = []
        for name in names {
            guard let scope = IntentScope(rawValue: name) else {
                problems.add(
                    .warning,
                    "[\(intent)] \(scopesKey)",
                    "contains '\(printable(name))', which cannot be a scope"
                )
                continue
            }
            if seen.insert(scope).inserted { scopes.append(scope) }
        }
        return scopes
    }

    /// Returns the elements of a list, and its line; `nil` if the key is missing or malformed.
    private static func list(
        of key: String,
        in file: KeyFile,
        _ group: String,
        _ problems: inout Problems
    ) -> (names: [String], line: Int)? {
        let found = file.entries(of: group).filter { $0.key.elementsEqual(key.utf8) }
        guard let (_, value, line) = found.last else { return nil }
        let place = key == Self.key ? key : "[\(group)] \(key)"
        if found.count > 1 { problems.add(.warning, place, "appears twice", .repetition) }
        do {
            let names = try value.strings()
            if names.count > limit {
                problems.add(.warning, place, "has \(names.count) elements; only the first \(limit) count")
            }
            return (Array(names.prefix(limit)), line)
        } catch {
            problems.add(.warning, place, "is ignored: it \(error.reason)")
            return nil
        }
    }
}
