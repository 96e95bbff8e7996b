internal import Translations

/// A fact that a check has established.
struct Finding: Sendable, Hashable, Encodable {
    /// A fact's severity.
    enum Level: String, Sendable, Hashable, Encodable {
        /// All is well.
        case ok
        /// A URL may not go the way that the user expects.
        case warn
        /// A URL does not arrive.
        case fail
        /// The check could not be carried out.
        case skip
    }

    /// The part of the report in which a fact appears.
    enum Part: Sendable, Hashable, CaseIterable {
        case session
        case handlers
        case entries
        case openers
        case associations
        case router
        case probe

        /// The heading of the part.
        var title: String {
            switch self {
            case .session: translated("Session")
            case .handlers: translated("Handlers")
            case .entries: translated("Desktop entries")
            case .openers: translated("Who would open it")
            case .associations: translated("Associations")
            case .router: translated("Router")
            case .probe: translated("Probe")
            }
        }
    }

    let part: Part
    let level: Level
    /// The name of the check, such as `stale-cache`. It stays the same in later versions.
    let check: String
    /// The scheme, identifier, variable or program that the fact is about.
    let subject: String
    /// The fact, worded to follow the subject.
    let message: String
    /// The path of the file to change or to look at.
    var file: String?
    /// The line of the file, counted from 1; nil if the fact is about the whole file.
    var line: Int?
    /// The command that fixes the problem.
    var fix: String?
    /// The repair that `--fix` performs; nil if the user has to do it.
    var repair: Repair?

    /// The file in the form `file:line`, as compilers write it, so that editors can jump to the line.
    var place: String? {
        file.map { file in file + (line.map { ":\($0)" } ?? "") }
    }

    private enum CodingKeys: String, CodingKey {
        case level, check, subject, message, file, line, fix
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(level, forKey: .level)
        try container.encode(check, forKey: .check)
        try container.encode(subject, forKey: .subject)
        try container.encode(message, forKey: .message)
        // Encode absent values as null, so that a reader finds every key.
        try container.encode(file, forKey: .file)
        try container.encode(line, forKey: .line)
        try container.encode(fix, forKey: .fix)
    }
}
