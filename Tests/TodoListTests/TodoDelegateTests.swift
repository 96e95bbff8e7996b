import DBus
import OpenURLBus
import Testing
import TodoList
import URLHandler
import URLHandlerTesting

@Suite("The to-do list as a handler") @MainActor
struct TodoDelegateTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var store: ToDoStore { ToDoStore(directory: directory.path) { Issue.record("\($0)") } }

    private func delegate() -> TodoDelegate {
        TodoDelegate { [store] () throws(StoreError) in store }
    }

    @Test("A URL becomes an item, and no background task is left")
    func add() async throws {
        let delegate = delegate()
        let handler = HandlerDriver(delegate: delegate)
        let result = try await handler.open("todolist://x?Milk#202001011200")
        let item = try #require(store.items().first)
        #expect(item.task == "Milk")
        #expect(try result.outcome.get() == ["task": "Milk", "due": .string(item.due.iso8601)])
        #expect(result.steps == ["willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive"])
        #expect(delegate.selection == item)
        #expect(handler.openBackgroundTasks == 0)
    }

    @Test("A URL that is no item is declined with the reason")
    func refusal() async throws {
        let delegate = delegate()
        let handler = HandlerDriver(delegate: delegate)
        let result = try await handler.open("todolist:nothing")
        #expect(throws: OpenURLError(.declined, "the URL names no task: it has no query")) { try result.outcome.get() }
        #expect(delegate.selection == nil)
        #expect(handler.openBackgroundTasks == 0)
    }

    @Test("The next process shows the item that the one before showed")
    func restoration() async throws {
        let first = HandlerDriver(delegate: delegate())
        try await first.open("todolist:?Milk", inBackground: true)
        let second = delegate()
        await HandlerDriver(delegate: second, after: first).launch()
        #expect(second.selection?.task == "Milk")
    }

    @Test("An item that has left the list is not shown again")
    func goneMeanwhile() async throws {
        let first = HandlerDriver(delegate: delegate())
        try await first.open("todolist:?Milk", inBackground: true)
        let other = try TemporaryDirectory()
        let second = TodoDelegate { () throws(StoreError) in ToDoStore(directory: other.path) { _ in } }
        let result = await HandlerDriver(delegate: second, after: first).launch()
        #expect(result.steps.contains("didDecodeRestorableState"))
        #expect(second.selection == nil)
    }

    @Test("An empty handler saves nothing")
    func nothingToSave() async {
        let handler = HandlerDriver(delegate: delegate())
        await handler.enterBackground()
        #expect(!handler.hasSavedState)
    }
}
