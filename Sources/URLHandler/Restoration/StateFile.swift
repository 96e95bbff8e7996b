internal import DBus
internal import Glibc
internal import OpenURLBus
internal import SystemPackage

/// The storage of a handler's state between two processes of the handler.
@MainActor package protocol RestorableStateStore: AnyObject {
    /// Returns the saved state, once.
    ///
    /// If the launch ends before ``finishRestoring()``, the state is suspected of having crashed it. The next launch
    /// then runs without the state.
    func beginRestoring() -> SavedState?
    /// Deletes the state that ``beginRestoring()`` returned, when the launch is over.
    func finishRestoring()
    /// Replaces the saved state; nil deletes it.
    func save(_ state: SavedState?)
}

/// The file of one handler's state, at the path that `RestorationFile` gives.
///
/// An error does not stop the handler: it is only written to standard error.
final class StateFile: RestorableStateStore {
    private let path: String
    private let warn: (String) -> Void
    private var restoring: String { path + ".restoring" }

    /// Creates the storage for the file at `path`.
    ///
    /// - Parameter warn: a function that reports a problem; its argument is a sentence without a full stop.
    init(_ path: String, warn: @escaping (String) -> Void) {
        self.path = path
        self.warn = warn
    }

    func beginRestoring() -> SavedState? {
        // A file that is still here was not deleted by `finishRestoring()`: the launch that used it has crashed.
        if unlink(restoring) == 0 {
            warn("its state is not restored, as the launch before did not survive that")
            return nil
        }
        guard rename(path, restoring) == 0 else {
            if errno != ENOENT { warn("its state cannot be restored: \(Errno(rawValue: errno))") }
            return nil
        }
        do {
            return try SavedState(bytes: read(restoring))
        } catch is DamagedArchive {
            warn("its state is damaged and was deleted: \(path)")
        } catch {
            warn("its state cannot be read and was deleted: \(path): \(error)")
        }
        finishRestoring()
        return nil
    }

    func finishRestoring() {
        remove(restoring)
    }

    func save(_ state: SavedState?) {
        guard let state else { return remove(path) }
        do {
            try write(state.bytes)
        } catch {
            warn("its state cannot be saved: \(path): \(error)")
        }
    }

    private func remove(_ path: String) {
        if unlink(path) != 0, errno != ENOENT { warn("\(path) cannot be deleted: \(Errno(rawValue: errno))") }
    }

    private func read(_ path: String) throws -> [UInt8] {
        let file = try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
        return try file.closeAfter {
            var contents: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while case let count = try chunk.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0 {
                contents += chunk[..<count]
            }
            return contents
        }
    }

    /// Replaces the file, so that a reader finds either the old or the new contents, even after a crash.
    ///
    /// The name of the draft is fixed, because only one process at a time owns the handler's bus name and writes the
    /// file.
    private func write(_ bytes: [UInt8]) throws {
        try makeDirectory(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
        let draft = path + ".new"
        let file = try FileDescriptor.open(
            draft,
            .writeOnly,
            options: [.create, .truncate, .closeOnExec],
            permissions: .ownerReadWrite
        )
        try file.closeAfter {
            try file.writeAll(bytes)
            if fsync(file.rawValue) != 0 { throw Errno(rawValue: errno) }
        }
        if rename(draft, path) != 0 { throw Errno(rawValue: errno) }
    }

    private func makeDirectory(_ path: String) throws {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
            throw Errno(rawValue: errno)
        }
        try makeDirectory(String(path[..<slash]))
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw Errno(rawValue: errno) }
    }
}
