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
    /// Maximum size of the file: each registration has strings of limited size.
    private static let limit = PushInterface.registrations * 4096

    private let path: String
    private let loop: EventLoop
    private let log: Logger

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
    func load() -> [StoredRegistration] {
        do throws(FileError) {
            let bytes = try contents(ofFile: path, limit: Self.limit)
            do throws(MessageDecodingError) {
                return try MessageArchive.body(from: bytes)
            } catch {
                log.error("the registrations for pushes in \(printable(path)) are damaged: \(error)")
            }
        } catch {
            if !error.isAbsence {
                log.error("the registrations for pushes cannot be read: \(printable(path)) \(error)")
            }
        }
        return []
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
        do throws(FileError) {
            _ = try PrivateDirectory(parentDirectory(of: path), isMade: true)
        } catch {
            throw Self.failure(error)
        }
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
