internal import Glibc
internal import Logging
internal import SchemeRegistry
internal import UserFiles

/// The processes that routers have started for handlers, on record for the next router.
///
/// Each record is a file with the name of the handler's identifier. The file holds the number and the start time of one
/// process, so a process that took over the number is not the recorded process. The records are in `$XDG_RUNTIME_DIR`, which
/// is in memory, or else in the directory of the user's state. The identifier of the system's start belongs to each record,
/// because that directory outlives the system's processes.
///
/// A missing or damaged record costs a handler its identity after the router's next start, and nothing else.
struct ProcessRecords: Sendable {
    private let directory: String
    private let bootID: String
    private let log: Logger

    /// The largest size of a record: two numbers, the system's start, and the characters between them.
    private static let limit = 128

    /// The records of the user whom an environment belongs to; nil if the environment gives no directory.
    init?(environment: [String: String], log: Logger) {
        let directories = BaseDirectories(environment: environment)
        guard let parent = directories.runtimeDirectory ?? directories.stateHome else { return nil }
        do throws(FileError) {
            let bytes = try contents(ofFile: "/proc/sys/kernel/random/boot_id", limit: 64)
            bootID = String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        } catch {
            log.warning(
                "the processes of handlers are not put on record: the system's start has no identifier: \(error)"
            )
            return nil
        }
        directory = "\(parent)/openurl/processes"
        self.log = log
    }

    /// Records a process that was just started for a handler, instead of an earlier process.
    func add(_ pid: CInt, of id: BundleIdentifier) {
        // A process that has ended already needs no record.
        guard let process = UInt32(exactly: pid).flatMap(ProcessIdentity.init(pid:)) else { return }
        let text = "\(process.pid) \(process.startTime) \(bootID)\n"
        do throws(FileWriteError) {
            // A link in the place of the record would lead the writer elsewhere.
            try removeFile(path(of: id.rawValue))
            try replaceFile(path(of: id.rawValue), with: Array(text.utf8), mode: 0o600, isDurable: false)
        } catch {
            log.warning("the process is not put on record: \(error)", metadata: ["handler": "\(id)"])
        }
    }

    /// Whether a router has started a process for a handler, and the process still runs.
    func contain(_ pid: UInt32, of id: BundleIdentifier) -> Bool {
        guard let recorded = process(of: id.rawValue) else { return false }
        return recorded == ProcessIdentity(pid: pid)
    }

    /// Removes the record of a handler if its process has ended.
    func removeEnded(_ id: BundleIdentifier) {
        removeEnded(id.rawValue)
    }

    /// Removes all records whose process has ended, and all files that are not records.
    ///
    /// - Returns: the identifiers of the handlers whose recorded process runs.
    func removeEnded() -> [String] {
        do throws(FileError) {
            let names = try names(inDirectory: directory) ?? []
            return names.compactMap { String(validating: $0, as: UTF8.self) }.filter { !removeEnded($0) }
        } catch {
            log.warning("the records of processes cannot be read: \(printable(directory)): \(error)")
            return []
        }
    }

    /// - Returns: false if the recorded process runs.
    @discardableResult private func removeEnded(_ name: String) -> Bool {
        if let recorded = process(of: name), recorded == ProcessIdentity(pid: recorded.pid) { return false }
        do throws(FileWriteError) {
            try removeFile(path(of: name))
        } catch {
            log.debug("a record of a process stays: \(error)")
        }
        return true
    }

    private func path(of name: String) -> String { "\(directory)/\(name)" }

    private func process(of name: String) -> ProcessIdentity? {
        let path = path(of: name)
        do throws(FileError) {
            let status = try status(of: path, followingLinks: false)
            guard status.st_mode & S_IFMT == S_IFREG else { throw FileError("is \(fileTypeName(status)), not a file") }
            guard status.st_uid == getuid() else { throw FileError("belongs to another user") }
            let text = String(decoding: try contents(ofFile: path, limit: Self.limit), as: UTF8.self)
            let fields = text.split(whereSeparator: \.isWhitespace)
            guard fields.count == 3, let pid = UInt32(fields[0]), let startTime = UInt64(fields[1]) else {
                throw FileError("is not the record of a process")
            }
            return fields[2] == bootID ? ProcessIdentity(pid: pid, startTime: startTime) : nil
        } catch {
            if !error.isAbsence { log.warning("ignored: \(printable(path)): \(error)") }
            return nil
        }
    }
}
