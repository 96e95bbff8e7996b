internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import UserFiles

/// A file with a list of records, which belongs to one of the user's routers at a time.
///
/// Read and write operations block, so it belongs to an actor with a thread of its own.
struct ListFile<Element: FieldValue & Sendable> {
    /// The words for the messages about one file.
    struct Words {
        /// The file's contents, in the plural.
        let contents: String
        /// One element, after "the".
        let element: String
        /// The duty of the router that has the file.
        let purpose: String
    }

    private let path: String
    /// Maximum size of the file in bytes.
    private let limit: Int
    private let words: Words
    private let log: Logger
    /// The right to use the file. Routers on other buses of the user would overwrite its contents.
    private var lock: FileLock?
    private var isReleased = false

    init(_ path: String, limit: Int, _ words: Words, log: Logger) {
        self.path = path
        self.limit = limit
        self.words = words
        self.log = log
    }

    /// Reads the list. It is empty if the file is damaged, which is then kept under another name.
    ///
    /// - Parameter toChange: whether the list will be changed. Otherwise, a file that is missing is left to the first
    ///   router that needs it.
    /// - Returns: nil if the file is missing, and any router may still make it.
    /// - Throws: `failed` if the file cannot be read now, or if another router of the user uses it.
    mutating func load(toChange: Bool) throws(RemoteError) -> [Element]? {
        guard toChange || !isAbsent else { return nil }
        try takeLock()
        do throws(FileError) {
            let bytes = try UserFiles.contents(ofFile: path, limit: limit)
            do throws(MessageDecodingError) {
                return try MessageArchive.body(from: bytes)
            } catch {
                setAside("\(error)")
            }
        } catch {
            // Without its contents, the router would overwrite the file.
            guard error.isAbsence else {
                throw RemoteError(.failed, "the \(words.contents) cannot be read: \(printable(path)) \(error)")
            }
        }
        return []
    }

    /// Keeps a damaged file for its user, and begins a new one.
    private func setAside(_ reason: String) {
        let kept = "\(path).damaged"
        let isKept = rename(path, kept) == 0
        log.error(
            "the \(words.contents) in \(printable(path)) are damaged: \(reason); \(isKept ? "they are kept as \(printable(kept))" : "they are lost")"
        )
    }

    private var isAbsent: Bool { access(path, F_OK) != 0 && errno == ENOENT }

    private mutating func takeLock() throws(RemoteError) {
        guard lock == nil else { return }
        guard !isReleased else { throw RemoteError(.failed, "the router is ending") }
        do throws(FileError) {
            _ = try PrivateDirectory(parentDirectory(of: path), isMade: true)
            lock = try FileLock.take("\(path).lock")
        } catch {
            throw failure(error)
        }
        guard lock != nil else {
            let reason = "another router of this user, on another bus, is responsible for \(words.purpose)"
            throw RemoteError(.failed, reason)
        }
    }

    /// Writes the list. When this returns, it is on disk.
    ///
    /// - Throws: `failed` with the reason.
    mutating func save(_ list: [Element]) throws(RemoteError) {
        let bytes: [UInt8]
        do throws(MessageEncodingError) {
            bytes = try MessageArchive.bytes(of: list, limit: limit)
        } catch {
            throw failure(error)
        }
        try takeLock()
        do throws(FileWriteError) {
            try replaceFile(path, with: bytes, mode: 0o600)
        } catch {
            throw failure(error)
        }
    }

    /// Leaves the file to the next router. From now on, it is neither read nor written.
    mutating func release() {
        isReleased = true
        lock = nil
    }

    private func failure(_ reason: any Error) -> RemoteError {
        RemoteError(.failed, "the \(words.element) cannot be stored: \(reason)")
    }
}
