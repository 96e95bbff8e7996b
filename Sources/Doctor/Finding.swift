/// One fact that a check has found out.
struct Finding: Sendable, Hashable, Encodable {
    /// The weight of a fact.
    enum Level: String, Sendable, Hashable, Encodable {
        /// The fact is as it should be.
        case ok
        /// A URL may go another way than a person expects.
        case warn
        /// A URL does not arrive.
        case fail
        /// The check could not be made.
        case skip
    }

    /// The part of the examination that a fact belongs to.
    enum Part: String, Sendable, Hashable, CaseIterable {
        case session = "Session"
        case handlers = "Handlers"
        case entries = "Desktop entries"
        case openers = "Who would open it"
        case associations = "Associations"
        case router = "Router"
        case probe = "Probe"
    }

    let part: Part
    let level: Level
    /// The name of the check, such as `stale-cache`. It stays the same in later versions.
    let check: String
    /// The scheme, identifier, variable or program that the fact is about.
    let subject: String
    /// The fact, as text that follows the subject.
    let message: String
    /// The path of the file that has to be changed or looked at.
    var file: String?
    /// The line of the file, counted from 1; nil if the fact is about the whole file.
    var line: Int?
    /// The command that repairs a fault.
    var fix: String?
    /// The repair that `--fix` performs; nil for a fault that the person has to repair.
    var repair: Repair?

    /// The file as compilers write it, `file:line`, so that editors find the place.
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
        // A reader finds every key, so an absent value is null.
        try container.encode(file, forKey: .file)
        try container.encode(line, forKey: .line)
        try container.encode(fix, forKey: .fix)
    }
}
