import Glibc
import TodoList

let usage = "usage: todolist list [--json]\n"

func complain(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

func sortedItems() throws(StoreError) -> [ToDoItem] {
    let directory = try ToDoStore.directory(dataHome: variable("XDG_DATA_HOME"), home: variable("HOME"))
    return try ToDoStore(directory: directory, warn: { complain("todolist: \($0)\n") }).items().sorted()
}

do {
    switch CommandLine.arguments.dropFirst() {
    case ["list"]:
        for item in try sortedItems() { print("\(item.due)  \(item.task)") }
    case ["list", "--json"]:
        print(String(decoding: try ToDoStore.json(sortedItems()), as: UTF8.self), terminator: "")
    default:
        complain(usage)
        exit(64)
    }
} catch {
    complain("todolist: \(error)\n")
    exit(1)
}
