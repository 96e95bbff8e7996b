import Glibc
import TodoList

/// Returns the current user's list. Its warnings go to standard error.
func userStore() throws(StoreError) -> ToDoStore {
    let directory = try ToDoStore.directory(dataHome: variable("XDG_DATA_HOME"), home: variable("HOME"))
    return ToDoStore(directory: directory) { complain("todolist: \($0)\n") }
}

/// Runs `todolist` with arguments. `list` prints the items by their due dates.
///
/// - Returns: The exit status.
func runCommand(_ arguments: ArraySlice<String>) -> Int32 {
    do {
        switch arguments {
        case ["list"]:
            for item in try userStore().items().sorted() { print("\(item.due)  \(item.task)") }
        case ["list", "--json"]:
            let json = try ToDoStore.json(userStore().items().sorted())
            print(String(decoding: json, as: UTF8.self), terminator: "")
        default:
            complain(
                """
                usage: todolist                 handles URLs until the router ends it
                       todolist list [--json]   prints the list

                """
            )
            return 64
        }
        return 0
    } catch {
        complain("todolist: \(error)\n")
        return 1
    }
}

private func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

private func complain(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
