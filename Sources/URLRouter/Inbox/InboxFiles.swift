internal import CLinux
internal import Glibc
internal import Reactor
internal import UserFiles

/// Why a file did not get into an inbox.
struct InboxError: Error, Hashable {
    /// Whether the inbox or the file system is full.
    var isFull = false
    /// The reason, worded to follow the file's name.
    let reason: String
}

/// The handlers' inboxes: `$XDG_DATA_HOME/ID/Inbox`.
///
/// A file gets its name only when it is complete and on disk, so an inbox never contains half a file, even after a
/// crash. Every method blocks, and you may call it on any thread.
final class InboxFiles: Sendable {
    private let dataHome: String
    private let limits: InboxLimits
    /// Files that are being copied, by handler.
    private let copies = Lock<[String: (files: Int, bytes: Int)]>([:])

    init(dataHome: String, limits: InboxLimits = InboxLimits()) {
        self.dataHome = dataHome
        self.limits = limits
    }

    /// Returns the path of a handler's inbox.
    func path(of id: String) -> String { Self.path(of: id, dataHome: dataHome) }

    /// Returns the path of a handler's inbox in a data directory.
    static func path(of id: String, dataHome: String) -> String { "\(dataHome)/\(id)/Inbox" }

    /// Returns whether a path leads to a file in a handler's inbox. The file need not exist.
    func holds(_ path: [UInt8], of id: String) -> Bool {
        let directory = Array("\(self.path(of: id))/".utf8)
        guard path.starts(with: directory), let name = String(validating: path[directory.count...], as: UTF8.self)
        else {
            return false
        }
        do throws(InboxName.ParseError) {
            _ = try InboxName(name)
            return true
        } catch {
            return false
        }
    }

    /// Copies an open file into a handler's inbox.
    ///
    /// - Parameters:
    ///   - source: The descriptor of a regular file that is open for reading. Its file position does not matter, and
    ///     does not change.
    ///   - name: The name that the sender gives to the file.
    ///   - id: The identifier of a registered handler.
    /// - Returns: The path of the copy. Only the user may read it.
    func receive(_ source: CInt, named name: InboxName, for id: String) throws(InboxError) -> String {
        var status = stat()
        guard fstat(source, &status) == 0 else { throw InboxError(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw InboxError(reason: "is \(fileTypeName(status)), not a file")
        }
        var excess: String?
        do throws(FileError) {
            let parts = try Self.data(of: source, status, limit: limits.bytes)
            let size = parts.reduce(0) { $0 + $1.count }
            let directory = try PrivateDirectory(path(of: id), depth: 2, isMade: true)
            excess = try reserve(size, for: id, in: directory)
            guard excess == nil else { throw FileError(code: EDQUOT) }
            defer { release(size, of: id) }
            try checkSpace(directory.descriptor)
            let taken = Set(try directory.names())
            let file = try Self.unnamedFile(in: directory.descriptor)
            defer { close(file) }
            for part in parts { try Self.copy(source, to: file, part) }
            try Self.setSize(of: file, to: status.st_size, as: source)
            guard fsync(file) == 0 else { throw FileError(code: errno) }
            let chosen = try link(file, into: directory.descriptor, name, taken)
            try flushDirectory(directory.descriptor)
            return "\(path(of: id))/\(chosen)"
        } catch {
            throw excess.map { InboxError(isFull: true, reason: $0) } ?? InboxError(error)
        }
    }

    /// Removes a file that no handler has been told about. It is not an error if the file is missing.
    ///
    /// In the meantime, the handler may have replaced its inbox with a link, so the name is looked up in the directory
    /// that was checked.
    func remove(_ path: String) {
        guard let name = names(onPath: path).last else { return }
        do throws(FileError) {
            let directory = try PrivateDirectory(parentDirectory(of: path), depth: 2)
            _ = unlinkat(directory.descriptor, name, 0)
        } catch {
            // This directory is no longer the inbox, so the copy is out of reach.
            return
        }
    }

    // MARK: Limits

    /// Checks that there is room for all copies that have begun, as if nothing of them had been written yet.
    private func checkSpace(_ directory: CInt) throws(FileError) {
        let size = copies.withLock { $0.values.reduce(0) { $0 + $1.bytes } }
        var space = statvfs()
        guard fstatvfs(directory, &space) == 0 else { throw FileError(code: errno) }
        let (free, isOverflow) = Int(clamping: space.f_bavail).multipliedReportingOverflow(by: Int(space.f_frsize))
        guard isOverflow || free - size >= limits.spare else { throw FileError(code: ENOSPC) }
    }

    /// Reserves room for a copy before it begins, taking into account the files that are already in the inbox.
    ///
    /// - Returns: The limit that the copy would exceed, in words; nil if the room is reserved.
    private func reserve(
        _ size: Int,
        for id: String,
        in directory: borrowing PrivateDirectory
    ) throws(FileError) -> String? {
        let (files, bytes) = try Self.contents(of: directory)
        return copies.withLock { copies in
            let other = copies[id, default: (0, 0)]
            let room = bytes <= limits.bytes ? limits.bytes - bytes - other.bytes : 0
            if size > limits.bytes { return "is too large: an inbox has room for \(limits.bytes) bytes" }
            if files + other.files >= limits.files {
                return "does not fit into the inbox, which has \(limits.files) files"
            }
            if size > room {
                return "does not fit into the inbox, which has \(max(room, 0)) of \(limits.bytes) bytes left"
            }
            copies[id] = (other.files + 1, other.bytes + size)
            return nil
        }
    }

    private func release(_ size: Int, of id: String) {
        copies.withLock { copies in
            guard let all = copies[id] else { return }
            copies[id] = all.files == 1 ? nil : (all.files - 1, all.bytes - size)
        }
    }

    private static func contents(
        of directory: borrowing PrivateDirectory
    ) throws(FileError) -> (files: Int, bytes: Int) {
        var (files, bytes) = (0, 0)
        for name in try directory.names() {
            var status = stat()
            // Meanwhile, the handler may have deleted the file.
            guard fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
            files += 1
            // Holes in a file take up no space.
            let sum = bytes.addingReportingOverflow(min(Int(status.st_size), Int(status.st_blocks) * 512))
            bytes = sum.overflow ? .max : sum.partialValue
        }
        return (files, bytes)
    }

    // MARK: Files

    private static func unnamedFile(in directory: CInt) throws(FileError) -> CInt {
        let file = FileCopying.openUnnamedFile(in: directory, mode: 0o600)
        guard file >= 0 else { throw FileError(code: errno) }
        return file
    }

    /// Returns the parts of a file that are not holes, in order. If they have more bytes than the limit, the last parts
    /// are left out.
    private static func data(of source: CInt, _ status: stat, limit: Int) throws(FileError) -> [Range<Int>] {
        let size = Int(status.st_size)
        // The search moves the file position, which the sender may share, so this opens the file again.
        let file = open("/proc/self/fd/\(source)", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        // This may be a file that only the sender could open.
        guard file >= 0 else { return size > 0 ? [0..<size] : [] }
        defer { close(file) }
        var parts: [Range<Int>] = []
        var (place, bytes) = (0, 0)
        while place < size, bytes <= limit {
            guard let part = FileCopying.data(in: file, from: place) else {
                guard errno == ENXIO else { throw FileError(code: errno) }
                break
            }
            guard part.lowerBound < size else { break }
            // If a part has become a hole in the meantime, it is empty, and more data may follow.
            place = max(part.upperBound, part.lowerBound + 1)
            let within = part.clamped(to: 0..<size)
            if within.isEmpty { continue }
            parts.append(within)
            bytes += within.count
        }
        return parts
    }

    /// Copies a part of a file to the same position in another file. If the file system can share blocks between two
    /// files, it does.
    private static func copy(_ source: CInt, to file: CInt, _ part: Range<Int>) throws(FileError) {
        var place = part.lowerBound
        while place < part.upperBound {
            let count = FileCopying.copyRange(from: source, to: file, at: place, atMost: part.upperBound - place)
            place += max(count, 0)
            if count > 0 || count < 0 && errno == EINTR { continue }
            guard count < 0 else { break }
            // The kernel cannot copy between some file systems.
            guard [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) else { throw FileError(code: errno) }
            place = try copyBytes(source, to: file, place..<part.upperBound)
            break
        }
        guard place == part.upperBound else { throw FileError("became shorter while it was being copied") }
    }

    private static func copyBytes(_ source: CInt, to file: CInt, _ part: Range<Int>) throws(FileError) -> Int {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var place = part.lowerBound
        while place < part.upperBound {
            let count = pread(source, &buffer, min(buffer.count, part.upperBound - place), off_t(place))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(code: errno) }
            guard count > 0 else { break }
            var written = 0
            while written < count {
                let result = buffer.withUnsafeBytes {
                    pwrite(file, $0.baseAddress?.advanced(by: written), count - written, off_t(place + written))
                }
                if result < 0, errno == EINTR { continue }
                guard result >= 0 else { throw FileError(code: errno) }
                written += result
            }
            place += count
        }
        return place
    }

    /// Gives a copy the size that its original had, if the original has not changed its size. The copy may end with a
    /// hole.
    private static func setSize(of file: CInt, to size: off_t, as source: CInt) throws(FileError) {
        while ftruncate(file, size) != 0 {
            guard errno == EINTR else { throw FileError(code: errno) }
        }
        var status = stat()
        guard fstat(source, &status) == 0 else { throw FileError(code: errno) }
        guard status.st_size == size else { throw FileError("changed its size while it was being copied") }
    }

    /// Gives a file the first name that is free.
    private func link(
        _ file: CInt,
        into directory: CInt,
        _ name: InboxName,
        _ taken: Set<String>
    ) throws(FileError) -> String {
        // Because a handler may also create files in its inbox, more names than the limit may be taken.
        for number in 0...(limits.files + taken.count) {
            let chosen = name.alternative(number)
            if taken.contains(chosen) { continue }
            // This is the only way to name a file from O_TMPFILE without a privilege (open(2)).
            if linkat(AT_FDCWD, "/proc/self/fd/\(file)", directory, chosen, AT_SYMLINK_FOLLOW) == 0 { return chosen }
            guard errno == EEXIST else { throw FileError(code: errno) }
        }
        throw FileError(code: EEXIST)
    }
}

extension InboxError {
    fileprivate init(_ code: CInt) {
        self.init(FileError(code: code))
    }

    fileprivate init(_ error: FileError) {
        switch error {
        case FileError(code: ENOSPC), FileError(code: EDQUOT):
            self.init(isFull: true, reason: "does not fit on the disk")
        default: self.init(reason: error.reason)
        }
    }
}
