/// How a task went.
public enum TaskResult: String, Sendable, Hashable, CaseIterable {
    /// The task is done. If it is a fetch, it has brought new data.
    case newData = "new-data"
    /// The task is done, and there was nothing new.
    case noData = "no-data"
    /// The task has failed, and is tried again.
    case failed
}
