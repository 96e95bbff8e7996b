internal import DBus
internal import Glibc
public import Logging
internal import OpenURLBus
public import Reactor
internal import UserFiles

/// The file with the registrations for pushes: `$XDG_STATE_HOME/openurl/pushes`, or below `$HOME/.local/state`. Only its
/// user may read it, because its tokens let a program send pushes.
///
/// Because read and write operations block, the store has its own thread.
public actor PushStore {
    /// Maximum size of the file: each registration has strings of limited size.
    private static let limit = PushInterface.registrations * 4096

    private let path: String
    private let loop: EventLoop
    private let log: Logger
    /// The right to use the file. Routers on other buses of the user would overwrite its registrations.
    private var lock: FileLock?

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
        self.path = path
        self.loop = loop
        self.log = log
    }

    /// Reads the registrations. If the file is damaged, there are none, and the handlers register again at their next
    /// launch.
    ///
    /// - Throws: `failed` if the file cannot be read now, or if another router of the user uses it.
    func load() throws(RemoteError) -> [StoredRegistration] {
        guard !isAbsent else { return [] }
        try takeLock()
        do throws(FileError) {
            let bytes = try contents(ofFile: path, limit: Self.limit)
            do throws(MessageDecodingError) {
                return try MessageArchive.body(from: bytes)
            } catch {
                log.error("the registrations for pushes in \(printable(path)) are damaged: \(error)")
            }
        } catch {
            // Without its registrations, the router would take pushes for others', and overwrite the file.
            guard error.isAbsence else {
                throw RemoteError(.failed, "the registrations for pushes cannot be read: \(printable(path)) \(error)")
            }
        }
        return []
    }

    private var isAbsent: Bool { access(path, F_OK) != 0 && errno == ENOENT }

    private func takeLock() throws(RemoteError) {
        guard lock == nil else { return }
        do throws(FileError) {
            _ = try PrivateDirectory(parentDirectory(of: path), isMade: true)
            lock = try FileLock.take("\(path).lock")
        } catch {
            throw Self.failure(error)
        }
        guard lock != nil else {
            throw RemoteError(.failed, "another router of this user, on another bus, is responsible for pushes")
        }
    }

    /// Writes the registrations. When this returns, they are on disk.
    ///
    /// - Throws: `failed` with the reason.
    func save(_ registrations: [StoredRegistration]) throws(RemoteError) {
        let bytes: [UInt8]
        do throws(MessageEncodingError) {
            bytes = try MessageArchive.bytes(of: registrations, limit: Self.limit)
        } catch {
            throw Self.failure(error)
        }
        try takeLock()
        do throws(FileWriteError) {
            try replaceFile(path, with: bytes, mode: 0o600)
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ reason: any Error) -> RemoteError {
        RemoteError(.failed, "the registration cannot be stored: \(reason)")
    }
}
