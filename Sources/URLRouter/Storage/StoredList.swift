internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import UserFiles

/// A list of records in a file, which is read and written as a whole.
///
/// Because read and write operations block, the list has its own thread.
actor StoredList<Element: ListedRecord> {
    private let loop: EventLoop
    private var file: ListFile<Element>

    /// This list's own thread as the actor's executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's file in `$XDG_STATE_HOME/openurl`, or below `$HOME/.local/state`.
    ///
    /// - Parameter loop: A loop whose thread may block.
    /// - Returns: Nil if the environment gives no directory.
    init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        guard let directory = BaseDirectories(environment: environment).stateHome else { return nil }
        self.init(path: "\(directory)/openurl/\(Element.list.name)", on: loop, log: log)
    }

    init(path: String, on loop: EventLoop, log: Logger) {
        self.loop = loop
        file = ListFile(path, log: log)
    }

    /// Reads the list, which is empty if the file is damaged.
    ///
    /// - Parameter toChange: whether the list will be changed. Otherwise, a missing file is left to the first router that
    ///   needs it.
    /// - Returns: nil if there is no file yet, and any router may still make it.
    /// - Throws: `failed` if the file cannot be read now, or if another router of the user uses it.
    func load(toChange: Bool = true) throws(RemoteError) -> [Element]? { try file.load(toChange: toChange) }

    /// Writes the list. When this returns, it is on disk.
    ///
    /// - Throws: `failed` with the reason.
    func save(_ list: [Element]) throws(RemoteError) { try file.save(list) }

    /// Leaves the file to the next router. From now on, it is neither read nor written.
    func release() { file.release() }
}
