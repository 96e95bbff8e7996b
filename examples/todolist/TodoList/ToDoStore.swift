import FoundationEssentials
import Glibc

/// The to-do list in the file `items.json` of a directory, an array of objects with `task` and `due`.
///
/// Every change replaces the whole file and is on the disk when the method returns, so a crash leaves either the old
/// list or the new one. A lock on `items.lock` makes processes take turns, so none overwrites an item of another. If
/// the file has other contents, it is kept under another name, and the list starts empty.
public struct ToDoStore: Sendable {
    private let directory: String
    private let warn: @Sendable (String) -> Void

    /// Creates a store, without accessing the file system.
    ///
    /// - Parameters:
    ///   - directory: The directory of the list. If it is missing, the first access creates it.
    ///   - warn: Gets a sentence about a damaged file that was set aside.
    public init(directory: String, warn: @escaping @Sendable (String) -> Void) {
        self.directory = directory
        self.warn = warn
    }

    /// Returns the user's directory: `todolist` in `$XDG_DATA_HOME`, or in `~/.local/share` if the variable is unset,
    /// empty or relative (XDG base directory specification).
    ///
    /// - Throws: ``StoreError/noHome`` if neither variable contains an absolute path.
    public static func directory(dataHome: String?, home: String?) throws(StoreError) -> String {
        if let dataHome, dataHome.hasPrefix("/") { return dataHome + "/todolist" }
        guard let home, home.hasPrefix("/") else { throw .noHome }
        return home + "/.local/share/todolist"
    }

    /// Returns all items in the order in which they were added.
    public func items() throws(StoreError) -> [ToDoItem] {
        try locked { () throws(StoreError) in try read() }
    }

    /// Adds an item at the end.
    public func add(_ item: ToDoItem) throws(StoreError) {
        try locked { () throws(StoreError) in try write(read() + [item]) }
    }

    /// Returns the contents of the file: one array of objects with `task` and `due`, in UTF-8.
    public static func json(_ items: [ToDoItem]) throws(StoreError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(items)) + [UInt8(ascii: "\n")] } catch { throw .unwritable("\(error)") }
    }

    private var path: String { directory + "/items.json" }

    private func locked<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try makeDirectories(directory)
        let lock = try File(directory + "/items.lock", O_RDWR | O_CREAT)
        try lock.lock()
        return try body()
    }

    private func read() throws(StoreError) -> [ToDoItem] {
        let bytes: [UInt8]
        do { bytes = try File(path, O_RDONLY).readAll() } catch .system(_, _, ENOENT) { return [] }
        do {
            return try JSONDecoder().decode([ToDoItem].self, from: Data(bytes))
        } catch {
            let kept = try setAside()
            warn("\(path) is damaged and was kept as \(kept); the list starts again from empty")
            return []
        }
    }

    /// Renames the file to the first free name. No other process takes it, because the caller holds the lock.
    private func setAside() throws(StoreError) -> String {
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        let kept = "\(path).damaged-\(number)"
        try moveFile(path, to: kept)
        return kept
    }

    private func write(_ items: [ToDoItem]) throws(StoreError) {
        let draft = path + ".new"
        let file = try File(draft, O_WRONLY | O_CREAT | O_TRUNC)
        try file.writeAll(Self.json(items))
        try file.synchronize()
        try moveFile(draft, to: path)
        try File(directory, O_RDONLY | O_DIRECTORY).synchronize()
    }
}

/// Thrown when reading or writing the list fails.
public enum StoreError: Error, Hashable, CustomStringConvertible {
    /// Neither `XDG_DATA_HOME` nor `HOME` is an absolute path.
    case noHome
    /// The system refused an operation (`open`, …) on a file, with this `errno`.
    case system(operation: String, path: String, code: Int32)
    /// The list has no JSON form; the text says why.
    case unwritable(String)

    /// A sentence about the problem.
    public var description: String {
        switch self {
        case .noHome: "neither XDG_DATA_HOME nor HOME says where your data is"
        case .system(let operation, let path, let code):
            "cannot \(operation) \(path): \(String(cString: strerror(code)))"
        case .unwritable(let reason): "the list cannot be written as JSON: \(reason)"
        }
    }
}
