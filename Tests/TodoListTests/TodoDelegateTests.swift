import DBus
import OpenURLBus
import TestSupport
import Testing
import TodoList
import URLHandler
import URLHandlerTesting

/// The to-do list as a handler.
@MainActor @Suite(.timeLimit(.minutes(10))) struct TodoDelegateTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var store: ToDoStore { ToDoStore(directory: directory.path) { Issue.record("\($0)") } }

    private func delegate() -> TodoDelegate {
        TodoDelegate { [store] () throws(StoreError) in store }
    }

    @Test func urlBecomesAnItemAndTheBackgroundTaskEnds() async throws {
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

    @Test func urlWithoutAnItemIsDeclinedWithTheReason() async throws {
        let delegate = delegate()
        let handler = HandlerDriver(delegate: delegate)
        let result = try await handler.open("todolist:nothing")
        #expect(throws: OpenURLError(.declined, "the URL names no task: it has no query")) { try result.outcome.get() }
        #expect(delegate.selection == nil)
        #expect(handler.openBackgroundTasks == 0)
    }

    @Test func nextProcessRestoresTheSelectedItem() async throws {
        let first = HandlerDriver(delegate: delegate())
        try await first.open("todolist:?Milk", inBackground: true)
        let second = delegate()
        await HandlerDriver(delegate: second, after: first).launch()
        #expect(second.selection?.task == "Milk")
    }

    @Test func removedItemIsNotRestored() async throws {
        let first = HandlerDriver(delegate: delegate())
        try await first.open("todolist:?Milk", inBackground: true)
        let other = try TemporaryDirectory()
        let second = TodoDelegate { () throws(StoreError) in ToDoStore(directory: other.path) { _ in } }
        let result = await HandlerDriver(delegate: second, after: first).launch()
        #expect(result.steps.contains("didDecodeRestorableState"))
        #expect(second.selection == nil)
    }

    @Test func emptyHandlerSavesNothing() async {
        let handler = HandlerDriver(delegate: delegate())
        await handler.enterBackground()
        #expect(!handler.hasSavedState)
    }
}
