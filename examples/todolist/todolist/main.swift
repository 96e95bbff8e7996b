import DBus
import Glibc
import TodoList
import URLHandler

if CommandLine.argc > 1 { exit(runCommand(CommandLine.arguments.dropFirst())) }
await Application.main("com.acme.todolist", delegate: TodoDelegate(store: userStore))
