public import DBus
public import RFC1808
public import URLHandler

/// Listing 6-2 of the iOS app programming guide: `todolist://anything?TASK#yyyymmddhhmm` becomes an item of the list.
public final class TodoDelegate: ApplicationDelegate {
    /// The item that the user looks at: the one that was added last, also when the handler was ended in between.
    public private(set) var selection: ToDoItem?
    private let store: () throws(StoreError) -> ToDoStore

    /// Makes a delegate.
    ///
    /// - Parameter store: finds the user's list, each time it is needed.
    public init(store: @escaping () throws(StoreError) -> ToDoStore) {
        self.store = store
    }

    /// Adds the item, and answers with its task and its date; an error is a no, with its description as the reason.
    public func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse {
        let item = try ToDoItem(url)
        // In the background too there is time until the item is on the disk.
        let task = await application.beginBackgroundTask(named: "adding a to-do")
        defer { application.endBackgroundTask(task) }
        try store().add(item)
        selection = item
        return .handled(reply: ["task": .string(item.task), "due": .string(item.due.iso8601)])
    }

    /// Keeps the selection.
    public func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) throws {
        if let selection { try coder.encode(selection, forKey: "selection") }
    }

    /// Selects what was selected, unless it has left the list meanwhile.
    public func application(
        _ application: Application,
        didDecodeRestorableStateWith coder: RestorableStateCoder
    ) throws {
        let item = try coder.decode(ToDoItem.self, forKey: "selection")
        if let item, try store().items().contains(item) { selection = item }
    }
}
