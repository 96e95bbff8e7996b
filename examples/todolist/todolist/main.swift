import DBus
import Glibc
import RFC1808
import TodoList
import URLHandler

/// Listing 6-2 of the iOS app programming guide: `todolist://anything?TASK#yyyymmddhhmm` becomes an item of the list.
final class TodoDelegate: ApplicationDelegate {
    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) throws -> OpenResponse {
        let item = try ToDoItem(url)  // An error is a no, with its description as the reason.
        try userStore().add(item)
        return .handled(reply: ["task": .string(item.task), "due": .string(item.due.iso8601)])
    }
}

if CommandLine.argc > 1 { exit(runCommand(CommandLine.arguments.dropFirst())) }
await Application.main("com.acme.todolist", delegate: TodoDelegate())
