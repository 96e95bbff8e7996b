internal import Glibc
internal import UserFiles

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

/// The storage of a handler's state in a `SavedStateLocation`.
///
/// An error does not stop the handler: it is only written to standard error.
final class SavedStateFile: RestorableStateStore {
    private let file: SavedStateLocation
    private let warn: (String) -> Void

    /// Creates the storage in a file.
    ///
    /// - Parameter warn: a function that reports a problem; its argument is a sentence without a full stop.
    init(_ file: SavedStateLocation, warn: @escaping (String) -> Void) {
        self.file = file
        self.warn = warn
    }

    func beginRestoring() -> SavedState? {
        // A file that is still here was not deleted by `finishRestoring()`: the launch that used it has crashed.
        if unsafe unlink(file.restoringPath) == 0 {
            warn("its state is not restored, because the last launch crashed while it restored")
            return nil
        }
        guard unsafe rename(file.path, file.restoringPath) == 0 else {
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
        if unsafe unlink(path) != 0, errno != ENOENT { warn("\(path) cannot be deleted: \(FileError(code: errno))") }
    }
}
