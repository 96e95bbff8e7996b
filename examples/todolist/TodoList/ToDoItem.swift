public import RFC1808

/// A task and its due date. In Listing 6-2 of the iOS app programming guide, this is the model object that is made from
/// a URL.
public struct ToDoItem: Hashable, Sendable {
    /// The name of the task: one line of text that is not blank.
    public let task: String

    /// The due date of the task.
    public let due: DueDate

    /// Creates an item.
    ///
    /// - Throws: ``ToDoError/blankTask`` or ``ToDoError/controlCharacter(_:)`` if the task is not a line of text.
    public init(task: String, due: DueDate) throws(ToDoError) {
        guard task.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { throw .blankTask }
        for scalar in task.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: throw .controlCharacter(scalar)
            // Otherwise the list would show text other than the task's.
            case _ where scalar.properties.isBidiControl: throw .controlCharacter(scalar)
            default: continue
            }
        }
        self.task = task
        self.due = due
    }

    /// Reads `todolist://anything?TASK#DATE`.
    ///
    /// The percent-decoded query is the task. The fragment is the date: `yyyymmddhhmm` or `today`. Without a fragment,
    /// the date is now. An empty fragment is refused, because it does not name a date.
    ///
    /// - Throws: ``ToDoError`` with the problem of the URL.
    public init(_ url: GenericURL) throws(ToDoError) {
        guard url.lowercasedScheme == "todolist" else { throw .otherScheme(url.scheme) }
        guard let task = try Self.text(.query, of: url) else { throw .noTask }
        let due: DueDate
        switch try Self.text(.fragment, of: url) {
        case nil, "today": due = .now
        case let date?: do { due = try DueDate(date) } catch { throw .invalidDate(error) }
        }
        var marks = 0
        for scalar in task.unicodeScalars {
            // Such a task could not be sent back as the reply.
            marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
            if marks > 30 { throw .tooManyMarks }
        }
        try self.init(task: task, due: due)
    }

    private static func text(_ component: GenericURL.Component, of url: GenericURL) throws(ToDoError) -> String? {
        do { return try url.decoded(component) } catch { throw .undecodable(component, error) }
    }
}

extension ToDoItem: Comparable {
    /// Compares the due dates. If they are equal, the task decides.
    public static func < (left: ToDoItem, right: ToDoItem) -> Bool {
        (left.due, left.task) < (right.due, right.task)
    }
}

extension ToDoItem: Codable {
    private enum CodingKeys: CodingKey {
        case task, due
    }

    /// Decodes an object with `task` and `due`, by the rules of ``init(task:due:)``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let task = try container.decode(String.self, forKey: .task)
        let due = try container.decode(DueDate.self, forKey: .due)
        do {
            try self.init(task: task, due: due)
        } catch {
            throw DecodingError.dataCorruptedError(forKey: .task, in: container, debugDescription: error.description)
        }
    }
}

/// Thrown for a URL that does not describe a to-do.
public enum ToDoError: Error, Hashable, CustomStringConvertible {
    /// The URL has another scheme.
    case otherScheme(String?)
    /// The URL has no query.
    case noTask
    /// The task has no visible character.
    case blankTask
    /// The task contains a control character.
    case controlCharacter(Unicode.Scalar)
    /// The task contains more than 30 combining marks in a row.
    case tooManyMarks
    /// The query or the fragment cannot be decoded as text.
    case undecodable(GenericURL.Component, GenericURL.PercentDecodingError)
    /// The fragment is not a date.
    case invalidDate(InvalidDate)

    /// A sentence about the problem.
    public var description: String {
        switch self {
        case .otherScheme(let scheme): "a to-do has the scheme todolist, not \(scheme ?? "none")"
        case .noTask: "the URL names no task: it has no query"
        case .blankTask: "the task is blank"
        case .controlCharacter(let scalar):
            "the task holds the control character U+\(String(scalar.value, radix: 16, uppercase: true))"
        case .tooManyMarks: "the task has more than 30 combining marks in a row"
        case .undecodable(let component, let error): "the \(component) is not text: \(error)"
        case .invalidDate(let error): error.description
        }
    }
}
