public import DBus
public import RFC1808
public import URLHandler

/// The delegate of Listing 6-2 in the iOS app programming guide. It makes an item of the list from a URL
/// `todolist://anything?TASK#yyyymmddhhmm`.
public final class TodoDelegate: ApplicationDelegate {
    /// The selected item, which is the one added last. State restoration keeps it when the handler exits.
    public private(set) var selection: ToDoItem?
    private let store: () throws(StoreError) -> ToDoStore

    /// Creates a delegate.
    ///
    /// - Parameter store: Finds the user's list, each time the delegate needs it.
    public init(store: @escaping () throws(StoreError) -> ToDoStore) {
        self.store = store
    }

    /// Adds the item and answers with its task and its date. If an error is thrown, it declines the URL, with its
    /// description as the reason.
    public func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse {
        let item = try ToDoItem(url)
        // This background task keeps the handler running in the background until the item is on the disk.
        let task = await application.beginBackgroundTask(named: "adding a to-do")
        defer { application.endBackgroundTask(task) }
        try store().add(item)
        selection = item
        return .handled(reply: ["task": .string(item.task), "due": .string(item.due.iso8601)])
    }

    /// Saves the selection.
    public func application(
        _ application: Application,
        willEncodeRestorableStateWith coder: RestorableStateCoder
    ) throws {
        if let selection { try coder.encode(selection, forKey: "selection") }
    }

    /// Restores the selection if the item is still in the list.
    public func application(
        _ application: Application,
        didDecodeRestorableStateWith coder: RestorableStateCoder
    ) throws {
        let item = try coder.decode(ToDoItem.self, forKey: "selection")
        if let item, try store().items().contains(item) { selection = item }
    }
}
