internal import Glibc
internal import UserFiles

/// The place of a handler's state between two of its processes.
@MainActor package protocol RestorableStateStore: AnyObject {
    /// Returns the saved state, once.
    ///
    /// A launch that does not reach ``finishRestoring()`` makes the state suspect. The next launch starts without a state.
    func beginRestoring() -> SavedState?
    /// Ends the launch that has begun to restore.
    func finishRestoring()
    /// Replaces the saved state; nil removes the saved state.
    func save(_ state: SavedState?)
}

/// The saved state of a handler in a ``RestorationFile``. A failure is a warning, and stops nothing.
final class StateFile: RestorableStateStore {
    private let file: RestorationFile
    private let warn: (String) -> Void

    /// The state in a file.
    ///
    /// - Parameter warn: takes a sentence without a full stop.
    init(_ file: RestorationFile, warn: @escaping (String) -> Void) {
        self.file = file
        self.warn = warn
    }

    func beginRestoring() -> SavedState? {
        if unlink(file.restoringPath) == 0 {
            warn("its state is not restored, as the launch before did not survive that")
            return nil
        }
        guard rename(file.path, file.restoringPath) == 0 else {
            if errno != ENOENT { warn("its state cannot be restored: \(FileError(code: errno))") }
            return nil
        }
        do {
            // Only the handler writes the file, so the size needs no limit.
            return try SavedState(bytes: contents(ofFile: file.restoringPath, limit: .max, followingLinks: true))
        } catch is DamagedArchive {
            warn("its state is damaged and was deleted: \(file.path)")
        } catch {
            warn("its state cannot be read and was deleted: \(file.path): \(error)")
        }
        finishRestoring()
        return nil
    }

    func finishRestoring() {
        remove(file.restoringPath)
    }

    func save(_ state: SavedState?) {
        guard let state else { return remove(file.path) }
        do throws(FileWriteError) {
            try replaceFile(file.path, with: state.bytes, mode: 0o600)
        } catch {
            warn("its state cannot be saved: \(file.path): \(error.reason)")
        }
    }

    private func remove(_ path: String) {
        if unlink(path) != 0, errno != ENOENT { warn("\(path) cannot be deleted: \(FileError(code: errno))") }
    }
}
