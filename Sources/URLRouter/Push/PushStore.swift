internal import DBus
public import Logging
internal import OpenURLBus
public import Reactor
internal import UserFiles

/// The file with the registrations for pushes: `$XDG_STATE_HOME/openurl/pushes`, or below `$HOME/.local/state`. Only its
/// user may read it, because its tokens let a program send pushes.
///
/// Because read and write operations block, the store has its own thread.
public actor PushStore {
    private let loop: EventLoop
    private var file: ListFile<StoredRegistration>

    /// This store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's file.
    ///
    /// - Parameter loop: A loop whose thread may block.
    /// - Returns: Nil if the environment gives no directory.
    public init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        guard let directory = BaseDirectories(environment: environment).stateHome else { return nil }
        self.init(path: "\(directory)/openurl/pushes", on: loop, log: log)
    }

    init(path: String, on loop: EventLoop, log: Logger) {
        self.loop = loop
        // Each registration has strings of limited size.
        file = ListFile(
            path,
            limit: PushInterface.registrations * 4096,
            .init(contents: "registrations for pushes", element: "registration", purpose: "pushes"),
            log: log
        )
    }

    /// Reads the registrations. If the file is damaged, there are none, and the handlers register again at their next
    /// launch.
    ///
    /// - Parameter toChange: whether they will be changed. Otherwise, a missing file is left to the first router that needs
    ///   it.
    /// - Returns: nil if there are none yet, and any router may still make the file.
    /// - Throws: `failed` if the file cannot be read now, or if another router of the user uses it.
    func load(toChange: Bool = true) throws(RemoteError) -> [StoredRegistration]? {
        try file.load(toChange: toChange)
    }

    /// Writes the registrations. When this returns, they are on disk.
    ///
    /// - Throws: `failed` with the reason.
    func save(_ registrations: [StoredRegistration]) throws(RemoteError) { try file.save(registrations) }

    /// Leaves the file to the next router. From now on, it is neither read nor written.
    func release() { file.release() }
}
