public import UserFiles

/// A line of an `intentapps.list` that names an application for an intent.
public struct IntentChoice: Sendable, Hashable {
    /// The application, which need not be installed.
    public let id: DesktopFileID
    /// The path of the file.
    public let file: String
    /// The line in the file, counted from 1.
    public let line: Int
}

/// The applications that the user and the system prefer for intents: the contents of all `intentapps.list` files, in
/// order of precedence.
///
/// The rules are those of Intent Apps 0.1, a draft: `[Default Applications]` names applications for an intent, and a
/// group with the intent's name names them for one of its scopes. The files only order applications. They cannot add an
/// association or remove one, so groups that `mimeapps.list` has for that purpose are ignored.
public struct IntentChoices: Sendable, Hashable {
    /// Problems in the files. An unusable line has no effect, and the other lines still count.
    public let diagnostics: [Diagnostic]

    private let choices: [Target: [IntentChoice]]

    /// An intent as a whole, or one of its scopes.
    struct Target: Hashable {
        let intent: Intent
        let scope: IntentScope?
    }

    /// Creates an empty set of choices.
    public init() {
        diagnostics = []
        choices = [:]
    }

    /// Reads all files in one pass. Blocks while it reads. A missing file has no effect.
    public init(loading directories: DesktopDirectories) {
        var choices: [Target: [IntentChoice]] = [:]
        var diagnostics: [Diagnostic] = []
        for path in directories.intentFiles {
            do throws(FileError) {
                let bytes = try contents(ofFile: path, limit: MimeAssociations.limit, followingLinks: true)
                let list = IntentList(bytes, path)
                choices.merge(list.choices) { $0 + $1 }
                diagnostics += list.diagnostics
            } catch {
                guard !error.isAbsence else { continue }
                diagnostics.append(Diagnostic(severity: .error, file: path, reason: error.reason))
            }
        }
        self.choices = choices
        self.diagnostics = diagnostics
    }

    /// Returns the lines that name applications for an intent, in order of precedence, each application once.
    ///
    /// - Parameter scope: the scope whose lines count; `nil` for those about the intent as a whole.
    public func choices(for intent: Intent, scope: IntentScope? = nil) -> [IntentChoice] {
        var seen: Set<DesktopFileID> = []
        return choices[Target(intent: intent, scope: scope), default: []].filter { seen.insert($0.id).inserted }
    }

    /// Returns the scopes of an intent for which a file names applications, in byte order.
    public func scopes(of intent: Intent) -> [IntentScope] {
        choices.keys.filter { $0.intent == intent }.compactMap(\.scope).sorted()
    }

    /// All intents that appear in the files.
    public var intents: Set<Intent> { Set(choices.keys.map(\.intent)) }
}

/// The choices in one `intentapps.list`.
struct IntentList {
    private(set) var choices: [IntentChoices.Target: [IntentChoice]] = [:]
    private var problems: Problems

    var diagnostics: [Diagnostic] { problems.diagnostics }

    init(_ bytes: [UInt8], _ path: String) {
        problems = Problems(file: path)
        let ignored = [AssociationLists.addedGroup, AssociationLists.removedGroup]
        let file = KeyFile(bytes) { name in
            name == AssociationLists.defaultGroup || ignored.contains(name) || Intent(rawValue: name) != nil
        }
        for problem in file.malformed + file.repeated { problems.add(.warning, problem) }
        for group in file.groupNames {
            if let intent = Intent(rawValue: group) {
                read(file, group, path) { text in
                    IntentScope(rawValue: text).map { .init(intent: intent, scope: $0) }
                }
            } else if ignored.contains(group) {
                problems.add(.warning, "[\(group)]", "is ignored: this file can only choose between applications")
            } else {
                read(file, group, path) { text in Intent(rawValue: text).map { .init(intent: $0, scope: nil) } }
            }
        }
    }

    /// Reads the lists in a group. The last one for a key counts, as in GLib.
    private mutating func read(
        _ file: KeyFile,
        _ group: String,
        _ path: String,
        target: (String) -> IntentChoices.Target?
    ) {
        for (key, value, line) in file.entries(of: group) {
            let name = "[\(group)] \(printable(String(decoding: key, as: UTF8.self)))"
            guard let target = String(validating: key, as: UTF8.self).flatMap(target) else {
                let expected = group == AssociationLists.defaultGroup ? "the name of an interface" : "a scope"
                problems.add(.warning, name, "is not \(expected)")
                continue
            }
            do {
                var ids: [DesktopFileID] = []
                for text in try value.strings() {
                    guard let id = DesktopFileID(rawValue: text) else {
                        problems.add(.warning, name, "contains '\(printable(text))', which is not a desktop file ID")
                        continue
                    }
                    ids.append(id)
                }
                let found = ids.map { IntentChoice(id: $0, file: path, line: line) }
                if choices.updateValue(found, forKey: target) != nil {
                    problems.add(.warning, name, "appears twice", .repetition)
                }
            } catch {
                problems.add(.warning, name, error.reason)
            }
        }
    }
}

extension DesktopDirectories {
    /// All places of `intentapps.list`, in order of precedence (Intent Apps 0.1, "File name and location").
    ///
    /// In each directory, `$desktop-intentapps.list` comes before `intentapps.list`. Unlike `mimeapps.list`, the file has
    /// no place in the user's own directory of entries.
    public var intentFiles: [String] {
        let names = (currentDesktop.map { "\($0)-" } + [""]).map { "\($0)\(Self.intentFileName)" }
        let directories =
            [configurationHome].compactMap { $0 } + configurationDirectories
            + dataDirectories.map { "\($0)/applications" }
        return directories.flatMap { directory in names.map { "\(directory)/\($0)" } }
    }

    /// The file for the user's choices: `intentapps.list` in ``configurationHome``.
    public var writtenIntentFile: String? { configurationHome.map { "\($0)/\(Self.intentFileName)" } }

    private static let intentFileName = "intentapps.list"
}
