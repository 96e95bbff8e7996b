internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import UserFiles

/// A record that the router keeps in a file, together with others of its kind.
protocol ListedRecord: FieldValue, Sendable {
    /// The file with the list.
    static var list: ListDescription { get }
    /// Whether the record's fields can be used. A damaged file may have anything.
    var isPossible: Bool { get }
}

/// A file with a list of records: its name and its size, and the words for messages about it.
struct ListDescription: Sendable {
    /// The name of the file in the user's directory for openurl, which is also the duty of the router that has the file.
    let name: String
    /// Maximum size of the file in bytes.
    let limit: Int
    /// The file's contents, in the plural.
    let contents: String
    /// One record, after "the".
    let element: String
}

/// A file with a list of records, which belongs to one of the user's routers at a time.
///
/// Read and write operations block, so it belongs to an actor with a thread of its own.
struct ListFile<Element: ListedRecord> {
    private let path: String
    private let log: Logger
    /// The right to use the file. Routers on other buses of the user would overwrite its contents.
    private var lock: FileLock?
    private var isReleased = false

    init(_ path: String, log: Logger) {
        self.path = path
        self.log = log
    }

    /// Reads the list, without records that are not possible. It is empty if the file is damaged, which is then kept under
    /// another name.
    ///
    /// - Parameter toChange: whether the list will be changed. Otherwise, a file that is missing is left to the first
    ///   router that needs it.
    /// - Returns: nil if the file is missing, and any router may still make it.
    /// - Throws: `failed` if the file cannot be read now, or if another router of the user uses it.
    mutating func load(toChange: Bool) throws(RemoteError) -> [Element]? {
        guard toChange || !isAbsent else { return nil }
        try takeLock()
        do throws(FileError) {
            let bytes = try UserFiles.contents(ofFile: path, limit: Element.list.limit)
            do throws(MessageDecodingError) {
                let records: [Element] = try MessageArchive.body(from: bytes)
                return records.filter(\.isPossible)
            } catch {
                setAside("\(error)")
            }
        } catch {
            // Without its contents, the router would overwrite the file.
            guard error.isAbsence else {
                throw RemoteError(.failed, "the \(Element.list.contents) cannot be read: \(printable(path)) \(error)")
            }
        }
        return []
    }

    /// Keeps a damaged file for its user, and begins a new one.
    private func setAside(_ reason: String) {
        let kept = "\(path).damaged"
        let isKept = rename(path, kept) == 0
        log.error(
            "the \(Element.list.contents) in \(printable(path)) are damaged: \(reason); \(isKept ? "they are kept as \(printable(kept))" : "they are lost")"
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
            let reason = "another router of this user, on another bus, is responsible for \(Element.list.name)"
            throw RemoteError(.failed, reason)
        }
    }

    /// Writes the list. When this returns, it is on disk.
    ///
    /// - Throws: `failed` with the reason.
    mutating func save(_ list: [Element]) throws(RemoteError) {
        let bytes: [UInt8]
        do throws(MessageEncodingError) {
            bytes = try MessageArchive.bytes(of: list, limit: Element.list.limit)
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
        RemoteError(.failed, "the \(Element.list.element) cannot be stored: \(reason)")
    }
}
