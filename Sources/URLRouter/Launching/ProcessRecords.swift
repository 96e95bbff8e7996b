internal import Logging
internal import Processes
internal import SchemeRegistry
internal import UserFiles

/// Processes that routers have started for handlers, recorded for the next router.
///
/// Each record is a file named after the handler's identifier. It holds the ID and the start time of one process, so
/// that another process with the same ID is not mistaken for it, and then the open background tasks, with the process
/// that began them. The records are in `$XDG_RUNTIME_DIR`, which is in memory, or else in the user's state directory.
/// Because that directory survives a reboot, each record also identifies the boot during which it was made.
///
/// If a record is missing or damaged, the only consequence is that the handler loses its identity when the router is
/// started again. If the directory is a link, or if other users may write to it, it is not used.
struct ProcessRecords: Sendable {
    private let directory: String
    private let bootID: String
    private let log: Logger

    /// Maximum size of a record: four numbers, the boot ID, the characters between them, and the tasks that a router's
    /// limits allow.
    private static let limit = 192 + 1024 * (256 + 16)

    /// Creates the records for the user to whom the given environment belongs; nil if the environment names no
    /// directory.
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

    /// Records a process that was just started for a handler, in place of an earlier one.
    func add(_ pid: CInt, of id: BundleIdentifier) {
        // If a process has already exited, it needs no record.
        guard let process = UInt32(exactly: pid).flatMap(ProcessIdentity.init(pid:)) else { return }
        write(Record(process: process, bootID: bootID), of: id)
    }

    /// Records a handler's open background tasks in place of its earlier ones.
    ///
    /// - Parameter owner: the process that has begun the tasks. It may differ from the started process, which then
    ///   stays on record: for example, it may be the child of a script, or a process inside a sandbox.
    func put(_ tasks: [UInt32: String], of id: BundleIdentifier, _ owner: ProcessIdentity) {
        let started = reading { (directory) throws(FileError) in record(of: id, in: directory)?.running(bootID) } ?? nil
        write(Record(process: started ?? owner, bootID: bootID, owner: owner, tasks: tasks), of: id)
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

    /// The open background tasks that a process has begun; none if another process began them.
    func tasks(of id: BundleIdentifier, _ process: ProcessIdentity) -> [UInt32: String] {
        reading { (directory) throws(FileError) in
            guard let record = record(of: id, in: directory), record.isCurrent(bootID),
                (record.owner ?? record.process) == process
            else {
                return [:]
            }
            return record.tasks
        } ?? [:]
    }

    /// Returns whether this process was started by a router for a handler and is still running.
    func contain(_ pid: UInt32, of id: BundleIdentifier) -> Bool {
        reading { (directory) throws(FileError) in
            record(of: id, in: directory)?.running(bootID)?.pid == pid
        } ?? false
    }

    /// Removes a handler's record if its process has exited.
    func removeEnded(_ id: BundleIdentifier) {
        _ = reading { (directory) throws(FileError) in try isRunning(id, removingFrom: directory) }
    }

    /// Removes all records whose process has exited. Other files are left alone.
    ///
    /// - Returns: the identifiers of the handlers whose recorded process is running.
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

    /// Returns whether a handler's recorded process is running. If it has exited, its record is removed.
    private func isRunning(
        _ id: BundleIdentifier,
        removingFrom directory: borrowing PrivateDirectory
    ) throws(FileError) -> Bool {
        guard let record = record(of: id, in: directory) else { return false }
        if record.running(bootID) != nil { return true }
        try directory.remove(id.rawValue)
        return false
    }

    /// Reads a handler's record; nil without a record. If the file is not a record, it is left as it is.
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

    /// The contents of a file: a line with the processes, and then each task with a zero byte after its name.
    private struct Record {
        let process: ProcessIdentity
        /// Identifies the boot of the system during which the process was started.
        let bootID: String
        /// The process that has begun the tasks; nil without tasks.
        var owner: ProcessIdentity?
        var tasks: [UInt32: String] = [:]

        init(
            process: ProcessIdentity,
            bootID: String,
            owner: ProcessIdentity? = nil,
            tasks: [UInt32: String] = [:]
        ) {
            self.process = process
            self.bootID = bootID
            self.owner = tasks.isEmpty ? nil : owner
            self.tasks = tasks
        }

        init?(_ bytes: [UInt8]) {
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
            let fields = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            guard fields.count == 3 || fields.count == 5, let process = Self.process(fields[0], fields[1]) else {
                return nil
            }
            self.process = process
            bootID = String(fields[2])
            if fields.count == 5 {
                guard let owner = Self.process(fields[3], fields[4]) else { return nil }
                self.owner = owner
            }
            for task in bytes.dropFirst(line.count + 1).split(separator: 0) {
                let parts = task.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, let number = UInt32(String(decoding: parts[0], as: UTF8.self)) else {
                    return nil
                }
                tasks[number] = String(decoding: parts[1], as: UTF8.self)
            }
        }

        private static func process(_ pid: Substring, _ startTime: Substring) -> ProcessIdentity? {
            guard let pid = UInt32(pid), let startTime = UInt64(startTime) else { return nil }
            return ProcessIdentity(pid: pid, startTime: startTime)
        }

        var bytes: [UInt8] {
            let beginner = owner.map { " \($0.pid) \($0.startTime)" } ?? ""
            let line = "\(process.pid) \(process.startTime) \(bootID)\(beginner)\n"
            return Array(line.utf8) + tasks.sorted { $0.key < $1.key }.flatMap { Array("\($0.key) \($0.value)\0".utf8) }
        }

        /// Returns whether the process was started since the system was booted.
        func isCurrent(_ bootID: String) -> Bool { self.bootID == bootID }

        /// Returns the recorded process if it is running.
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
