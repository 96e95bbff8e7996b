internal import Logging
internal import Processes
internal import SchemeRegistry
internal import UserFiles

/// The processes that routers have started for handlers, on record for the next router.
///
/// Each record is a file with the name of the handler's identifier. The file holds the number and the start time of one
/// process, so a process that took over the number is not the recorded process. The open background tasks of the process follow. The records are in `$XDG_RUNTIME_DIR`, which
/// is in memory, or else in the directory of the user's state. The identifier of the system's start belongs to each record,
/// because that directory outlives the system's processes.
///
/// A missing or damaged record costs a handler its identity after the router's next start, and nothing else. A directory that
/// is a link, or that other users may write to, is not used.
struct ProcessRecords: Sendable {
    private let directory: String
    private let bootID: String
    private let log: Logger

    /// The largest size of a record: two numbers, the system's start, the characters between them, and the tasks that the
    /// limits of a router allow.
    private static let limit = 128 + 1024 * (256 + 16)

    /// The records of the user whom an environment belongs to; nil if the environment gives no directory.
    init?(environment: [String: String], log: Logger) {
        let directories = BaseDirectories(environment: environment)
        guard let parent = directories.runtimeDirectory ?? directories.stateHome else { return nil }
        do throws(FileError) {
            let bytes = try contents(ofFile: "/proc/sys/kernel/random/boot_id", limit: 64)
            bootID = String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        } catch {
            log.warning(
                "the processes of handlers are not recorded, because the boot ID cannot be read: \(error)"
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
        write(Record(process: process, bootID: bootID), of: id)
    }

    /// Records the open background tasks of a process that is on record, instead of its earlier ones.
    func put(_ tasks: [UInt32: String], of id: BundleIdentifier, _ process: ProcessIdentity) {
        write(Record(process: process, bootID: bootID, tasks: tasks), of: id)
    }

    private func write(_ record: Record, of id: BundleIdentifier) {
        do throws(FileError) {
            try PrivateDirectory(directory, depth: 2, isMade: true).replace(id.rawValue, with: record.bytes)
        } catch {
            log.warning(
                "the process was not recorded: \(printable("\(directory)/\(id)")): \(error)",
                metadata: ["handler": "\(id)"]
            )
        }
    }

    /// The open background tasks of a handler's recorded process; none of any other process.
    func tasks(of id: BundleIdentifier, _ process: ProcessIdentity) -> [UInt32: String] {
        reading { (directory) throws(FileError) in
            guard let record = record(of: id, in: directory), record.isCurrent(bootID), record.process == process else {
                return [:]
            }
            return record.tasks
        } ?? [:]
    }

    /// Whether a router has started a process for a handler, and the process still runs.
    func contain(_ pid: UInt32, of id: BundleIdentifier) -> Bool {
        reading { (directory) throws(FileError) in
            record(of: id, in: directory)?.running(bootID)?.pid == pid
        } ?? false
    }

    /// Removes the record of a handler if its process has ended.
    func removeEnded(_ id: BundleIdentifier) {
        _ = reading { (directory) throws(FileError) in try isRunning(id, removingFrom: directory) }
    }

    /// Removes all records whose process has ended. Every other file stays.
    ///
    /// - Returns: the identifiers of the handlers whose recorded process runs.
    func removeEnded() -> [String] {
        reading { (directory) throws(FileError) in
            var running: [String] = []
            for name in try directory.names() {
                if let id = bundleIdentifier(name), try isRunning(id, removingFrom: directory) { running.append(name) }
            }
            return running
        } ?? []
    }

    /// - Returns: nil if the records cannot be read.
    private func reading<Result>(_ body: (borrowing PrivateDirectory) throws(FileError) -> Result) -> Result? {
        do throws(FileError) {
            return try body(PrivateDirectory(directory, depth: 2))
        } catch {
            if !error.isAbsence {
                log.warning("the records of processes cannot be used: \(printable(directory)) \(error)")
            }
            return nil
        }
    }

    /// Whether the recorded process of a handler runs. The record is removed if its process has ended.
    private func isRunning(
        _ id: BundleIdentifier,
        removingFrom directory: borrowing PrivateDirectory
    ) throws(FileError) -> Bool {
        guard let record = record(of: id, in: directory) else { return false }
        if record.running(bootID) != nil { return true }
        try directory.remove(id.rawValue)
        return false
    }

    /// Reads the record of a handler; nil without a record. A file that is not a record is left alone.
    private func record(of id: BundleIdentifier, in directory: borrowing PrivateDirectory) -> Record? {
        do throws(FileError) {
            let bytes = try directory.contents(of: id.rawValue, limit: Self.limit)
            guard let record = Record(bytes) else { throw FileError("is not the record of a process") }
            return record
        } catch {
            if !error.isAbsence { log.warning("ignored: \(printable("\(self.directory)/\(id)")): \(error)") }
            return nil
        }
    }

    /// The contents of a file: a line with the process, and then each task with a zero byte behind its name.
    private struct Record {
        let process: ProcessIdentity
        /// The identifier of the system's start at which the process was started.
        let bootID: String
        var tasks: [UInt32: String] = [:]

        init(process: ProcessIdentity, bootID: String, tasks: [UInt32: String] = [:]) {
            self.process = process
            self.bootID = bootID
            self.tasks = tasks
        }

        init?(_ bytes: [UInt8]) {
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
            let fields = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            guard fields.count == 3, let pid = UInt32(fields[0]), let startTime = UInt64(fields[1]) else { return nil }
            process = ProcessIdentity(pid: pid, startTime: startTime)
            bootID = String(fields[2])
            for task in bytes.dropFirst(line.count + 1).split(separator: 0) {
                let parts = task.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let number = UInt32(String(decoding: parts[0], as: UTF8.self)) else {
                    return nil
                }
                tasks[number] = String(decoding: parts[1], as: UTF8.self)
            }
        }

        var bytes: [UInt8] {
            let line = "\(process.pid) \(process.startTime) \(bootID)\n"
            return Array(line.utf8) + tasks.sorted { $0.key < $1.key }.flatMap { Array("\($0.key) \($0.value)\0".utf8) }
        }

        /// Whether the process was started since the start of the system.
        func isCurrent(_ bootID: String) -> Bool { self.bootID == bootID }

        /// The recorded process, if it runs.
        func running(_ bootID: String) -> ProcessIdentity? {
            isCurrent(bootID) && ProcessIdentity(pid: process.pid) == process ? process : nil
        }
    }
}

private func bundleIdentifier(_ text: String) -> BundleIdentifier? {
    do throws(BundleIdentifier.ParseError) {
        return try BundleIdentifier(text)
    } catch {
        return nil
    }
}
