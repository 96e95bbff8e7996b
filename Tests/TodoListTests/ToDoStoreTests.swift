import FoundationEssentials
import Glibc
import Synchronization
import TestSupport
import Testing
import TodoList

/// The to-do list's file.
@Suite(.timeLimit(.minutes(10))) struct ToDoStoreTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func missingListIsEmpty() throws {
        try #expect(store().items() == [])
    }

    @Test func itemsSurviveARestartInOrder() throws {
        let items = try ["b", "a", "b"].map { try ToDoItem(task: $0, due: .now) }
        for item in items { try store().add(item) }
        try #expect(store().items() == items)
    }

    @Test func fileIsAnArrayOfTasksAndDates() throws {
        let due = try DueDate(iso8601: "2008-06-23T13:00:00+02:00")
        try store().add(ToDoItem(task: "Café / “x”", due: due))
        let expected = """
            [
              {
                "due" : "2008-06-23T13:00:00+02:00",
                "task" : "Café / “x”"
              }
            ]

            """
        try #expect(String(contentsOfFile: list, encoding: .utf8) == expected)
    }

    @Test func directoryAndFileBelongToTheUserOnly() throws {
        try store().add(ToDoItem(task: "milk", due: .now))
        try #expect(mode(of: data) == 0o700)
        try #expect(mode(of: list) == 0o600)
    }

    @Test(
        arguments: [
            "", "[", "{}", #"[{"task": "milk"}]"#, #"[{"task": "", "due": "2008-06-23T13:00:00+02:00"}]"#, "not JSON",
        ]
    )
    func damagedFileIsKeptUnderAnotherName(contents: String) throws {
        let warnings = Warnings()
        try write("first", to: list)
        try #expect(store(warnings).items() == [])
        try write(contents, to: list)
        let item = try ToDoItem(task: "milk", due: .now)
        try store(warnings).add(item)

        try #expect(store().items() == [item])
        try #expect(String(contentsOfFile: list + ".damaged-1", encoding: .utf8) == "first")
        try #expect(String(contentsOfFile: list + ".damaged-2", encoding: .utf8) == contents)
        #expect(warnings.sentences.count == 2)
        #expect(warnings.sentences.last?.contains("items.json.damaged-2") == true)
    }

    @Test func leftOverDraftDoesNoHarm() throws {
        let item = try ToDoItem(task: "milk", due: .now)
        try store().add(item)
        try write(String(repeating: "x", count: 10_000), to: list + ".new")
        try #expect(store().items() == [item])
        try store().add(item)
        try #expect(store().items() == [item, item])
    }

    @Test func errorOfAnUnusableListNamesTheFile() throws {
        try FileManager.default.createDirectory(atPath: list, withIntermediateDirectories: true)
        #expect(throws: StoreError.system(operation: "read", path: list, code: EISDIR)) { try store().items() }

        let file = directory.path + "/file"
        try write("", to: file)
        let error = #expect(throws: StoreError.self) {
            try ToDoStore(directory: file + "/todolist", warn: { _ in }).items()
        }
        #expect(error?.description == "cannot make \(file)/todolist: Not a directory")
    }

    @Test func simultaneousProcessesLoseNoItems() async throws {
        async let other = #expect(processExitsWith: .success) { [data = data as String] in
            for number in 0..<20 {
                try ToDoStore(directory: data, warn: { _ in }).add(ToDoItem(task: "b\(number)", due: .now))
            }
        }
        for number in 0..<20 { try store().add(ToDoItem(task: "a\(number)", due: .now)) }
        _ = await other
        let tasks = try store().items().map(\.task)
        // The list keeps the order of each process.
        #expect(tasks.filter { $0.hasPrefix("a") } == (0..<20).map { "a\($0)" })
        #expect(tasks.filter { $0.hasPrefix("b") } == (0..<20).map { "b\($0)" })
    }

    @Test(
        arguments: [
            ("/data", "/home/u", "/data/todolist"),
            (nil, "/home/u", "/home/u/.local/share/todolist"),
            ("", "/home/u", "/home/u/.local/share/todolist"),
            ("relative", "/home/u", "/home/u/.local/share/todolist"),
        ] as [(String?, String?, String)]
    )
    func userDirectoryFollowsTheBaseDirectorySpecification(dataHome: String?, home: String?, expected: String) throws {
        try #expect(ToDoStore.directory(dataHome: dataHome, home: home) == expected)
    }

    @Test(arguments: [nil, "", "relative"])
    func missingHomeIsAnError(home: String?) {
        #expect(throws: StoreError.noHome) { try ToDoStore.directory(dataHome: nil, home: home) }
    }

    // MARK: - A store in a temporary directory

    private var data: String { directory.path + "/share/todolist" }
    private var list: String { data + "/items.json" }

    private func store(_ warnings: Warnings = Warnings()) -> ToDoStore {
        ToDoStore(directory: data, warn: warnings.add)
    }

    private func write(_ text: String, to path: String) throws {
        let parent = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    private func mode(of path: String) throws -> UInt32 {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_mode & 0o777
    }
}

private final class Warnings: Sendable {
    private let kept = Mutex<[String]>([])

    var sentences: [String] { kept.withLock { $0 } }

    func add(_ sentence: String) { kept.withLock { $0.append(sentence) } }
}
