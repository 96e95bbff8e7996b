internal import OpenURLBus

/// The file with the handlers' scheduled tasks. If it is damaged, the handlers schedule theirs at their next launch.
typealias TaskStore = StoredList<ScheduledTask>

extension ScheduledTask: ListedRecord {
    // Each task has strings of limited size.
    static let list = ListDescription(
        name: "tasks",
        limit: TasksInterface.tasks * 4096,
        contents: "scheduled tasks",
        element: "task"
    )
}
