public import RFC1808

/// A task and when it is due: the model object that Listing 6-2 of the iOS app programming guide makes from a URL.
public struct ToDoItem: Hashable, Sendable {
    /// The name of the task: one line of text, not blank.
    public let task: String

    /// When it is due.
    public let due: DueDate

    /// Creates an item.
    ///
    /// - Throws: ``ToDoError/blankTask`` or ``ToDoError/controlCharacter(_:)`` for a task that is not a line of text.
    public init(task: String, due: DueDate) throws(ToDoError) {
        guard task.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { throw .blankTask }
        for scalar in task.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: throw .controlCharacter(scalar)
            default: continue
            }
        }
        self.task = task
        self.due = due
    }

    /// Reads `todolist://anything?TASK#DATE`.
    ///
    /// The task is the query, percent-decoded. The date is the fragment: `yyyymmddhhmm`, or `today`, or no fragment at
    /// all for this moment. An empty fragment is a date that says nothing, so it is refused.
    ///
    /// - Throws: ``ToDoError`` with what is wrong with the URL.
    public init(_ url: GenericURL) throws(ToDoError) {
        guard url.lowercasedScheme == "todolist" else { throw .otherScheme(url.scheme) }
        guard let task = try Self.text(.query, of: url) else { throw .noTask }
        let due: DueDate
        switch try Self.text(.fragment, of: url) {
        case nil, "today": due = .now
        case let date?: do { due = try DueDate(date) } catch { throw .invalidDate(error) }
        }
        try self.init(task: task, due: due)
    }

    private static func text(_ component: GenericURL.Component, of url: GenericURL) throws(ToDoError) -> String? {
        do { return try url.decoded(component) } catch { throw .undecodable(component, error) }
    }
}

extension ToDoItem: Comparable {
    /// The one that is due earlier is the smaller item.
    public static func < (left: ToDoItem, right: ToDoItem) -> Bool {
        (left.due, left.task) < (right.due, right.task)
    }
}

extension ToDoItem: Codable {
    private enum CodingKeys: CodingKey {
        case task, due
    }

    /// Reads an object with `task` and `due`, by the rules that hold for items from a URL.
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

/// Why there is no to-do in a URL.
public enum ToDoError: Error, Hashable, CustomStringConvertible {
    /// The URL is for somebody else.
    case otherScheme(String?)
    /// The URL has no query.
    case noTask
    /// The task has no visible character.
    case blankTask
    /// The task holds a character that is no text.
    case controlCharacter(Unicode.Scalar)
    /// The query or the fragment does not decode to text.
    case undecodable(GenericURL.Component, GenericURL.PercentDecodingError)
    /// The fragment is no date.
    case invalidDate(InvalidDate)

    /// A sentence for a person.
    public var description: String {
        switch self {
        case .otherScheme(let scheme): "a to-do has the scheme todolist, not \(scheme ?? "none")"
        case .noTask: "the URL names no task: it has no query"
        case .blankTask: "the task is blank"
        case .controlCharacter(let scalar):
            "the task holds the control character U+\(String(scalar.value, radix: 16, uppercase: true))"
        case .undecodable(let component, let error): "the \(component) is not text: \(error)"
        case .invalidDate(let error): error.description
        }
    }
}
