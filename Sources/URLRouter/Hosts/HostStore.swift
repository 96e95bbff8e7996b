internal import ByteCoding
internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import UserFiles

/// The result of reading the file with the other hosts.
struct HostReading: Sendable {
    /// The hosts; nil if a temporary error prevents the reading, and the file has to be read again.
    let list: HostList?
    /// Why lines, or the whole file, cannot be used.
    let problems: [String]
}

/// The file with the other hosts: `$XDG_CONFIG_HOME/openurl/hosts.conf`, or below `$HOME/.config`.
///
/// Because read and write operations block, the store has its own thread.
actor HostStore {
    private let loop: EventLoop
    /// The path of the file. When the file changes, the hosts may change.
    nonisolated let path: String
    private let log: Logger
    /// The problems of the last reading.
    private var problems: [String] = []

    /// This store's own thread as the actor's executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's file.
    ///
    /// - Parameter loop: A loop whose thread may block.
    /// - Returns: Nil if the environment gives no directory.
    init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        guard let directory = BaseDirectories(environment: environment).configurationHome else { return nil }
        self.init(path: "\(directory)/openurl/hosts.conf", on: loop, log: log)
    }

    init(path: String, on loop: EventLoop, log: Logger) {
        self.path = path
        self.loop = loop
        self.log = log
    }

    /// Reads the hosts. If the file cannot be used, or if another user may change it, there are none.
    ///
    /// Problems are logged once, and again only after they were gone.
    func read() -> HostReading {
        let reading: HostReading
        do throws(FileError) {
            let list = HostList(text: try text())
            reading = HostReading(list: list, problems: list.problems.map { "\(printable(path)): \($0)" })
        } catch {
            let effect = error.isTemporary ? "the other hosts cannot be read for now" : "the other hosts are unknown"
            reading = HostReading(
                list: error.isTemporary ? nil : HostList(),
                problems: ["\(effect): \(error.clause(about: printable(path)))"]
            )
        }
        for problem in reading.problems where !problems.contains(problem) { log.warning("\(problem)") }
        problems = reading.problems
        return reading
    }

    /// Adds, changes or removes a host, and reads the hosts again.
    ///
    /// - Throws: `failed` with the reason.
    func change(_ name: String, to address: HostAddress?) throws(RemoteError) -> HostReading {
        do throws(FileError) {
            _ = try PrivateDirectory(parentDirectory(of: path), isMade: true)
            let changed = HostList.changing(try text(), name, to: address)
            guard changed.utf8.count <= HostList.largestText else { throw FileError("would be too large") }
            do throws(FileWriteError) {
                try replaceFile(path, with: Array(changed.utf8), mode: 0o600, followingLinks: true)
            } catch {
                throw FileError("\(error.reason)")
            }
        } catch {
            throw RemoteError(.failed, "the hosts cannot be changed: \(error.clause(about: printable(path)))")
        }
        return read()
    }

    /// Returns the file's contents; an empty text if there is no file.
    private func text() throws(FileError) -> String {
        do throws(FileError) {
            var trust = TrustedPaths()
            try trust.check(path)
            let bytes = try contents(ofFile: path, limit: HostList.largestText, followingLinks: true)
            guard let text = String(validating: bytes, as: UTF8.self), !text.hasTooManyMarks else {
                throw FileError("is not UTF-8")
            }
            return text
        } catch {
            if error.isAbsence { return "" }
            throw error
        }
    }
}
