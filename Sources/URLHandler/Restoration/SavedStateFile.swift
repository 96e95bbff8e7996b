internal import CLinux
internal import Glibc
internal import UserFiles

/// A store for a handler's state between two of its processes.
@MainActor package protocol RestorableStateStore: AnyObject {
    /// Returns the saved state at the start of a launch.
    ///
    /// Until ``finishLaunch()``, the launch counts as failed. After one failed launch, the state is offered to the next
    /// launch. After two failed launches in a row, it is deleted.
    func beginLaunch() -> SavedState?
    /// Deletes the state that ``beginLaunch()`` returned, when the launch is over.
    func finishLaunch()
    /// Replaces the saved state; nil deletes it.
    func save(_ state: SavedState?)
}

/// A store for a handler's state in a `SavedStateLocation`.
///
/// Errors are only written to standard error, and do not stop the handler.
///
/// The file's name contains the number of launches that have failed with the state. Renaming the file once is therefore
/// enough to count a launch, and a process that is killed at any moment loses neither the state nor the count.
final class SavedStateFile: RestorableStateStore {
    private let file: SavedStateLocation
    private let warn: (String) -> Void

    /// Creates the storage in a file.
    ///
    /// - Parameter warn: reports a problem; its argument is a sentence without a full stop.
    init(_ file: SavedStateLocation, warn: @escaping (String) -> Void) {
        self.file = file
        self.warn = warn
    }

    func beginLaunch() -> SavedState? {
        guard let path = countLaunch() else { return nil }
        do {
            // Only the handler writes the file, so its size needs no limit.
            return try SavedState(bytes: contents(ofFile: path, limit: .max, followingLinks: true))
        } catch is DamagedArchive {
            warn("its state is damaged and was deleted: \(file.path)")
        } catch {
            warn("its state cannot be read and was deleted: \(file.path): \(error)")
        }
        finishLaunch()
        return nil
    }

    /// Counts the launch that is beginning as a failed one.
    ///
    /// - Returns: the path of the state that the launch uses; nil if there is no state, or if two launches have failed.
    private func countLaunch() -> String? {
        // The file with the smaller count is the newer one: a later process saved it, but could not remove the older
        // file.
        for (path, next) in zip(file.paths, file.paths.dropFirst()) {
            if unsafe rename(path, next) == 0 { return next }
            guard errno == ENOENT else {
                warn("its state cannot be restored: \(FileError(code: errno))")
                return nil
            }
        }
        guard let last = file.paths.last, unsafe unlink(last) == 0 else { return nil }
        warn("its state was deleted, because two launches with it have failed")
        return nil
    }

    func finishLaunch() {
        for path in file.paths.dropFirst() { remove(path) }
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
