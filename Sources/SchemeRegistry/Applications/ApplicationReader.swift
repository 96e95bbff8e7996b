internal import Logging

/// Reads the desktop's applications, without those on a file system that is not responding.
struct ApplicationReader: Sendable {
    /// The loader after the last update that was not given up.
    private(set) var loader: ApplicationLoader
    private let reader = PatientReader()
    private let log: Logger
    /// Whether the last update was given up.
    private var isGivenUp = false

    init(_ loader: ApplicationLoader, log: Logger) {
        self.loader = loader
        self.log = log
    }

    /// Whether something is as it was before, because of a temporary error or a silent file system.
    var isStale: Bool { isGivenUp || loader.isStale }

    /// Checks all files for changes, as ``ApplicationLoader/update(assumingEntriesOf:leavingOut:progress:)`` does.
    ///
    /// - Returns: whether the applications have changed.
    mutating func update(assumingEntriesOf handlers: [Handler] = []) -> Bool {
        let before = loader
        // The read begins with a path that every program can read.
        let update = reader.read("/") { silent, progress in
            var loader = before
            let hasChanged = loader.update(assumingEntriesOf: handlers, leavingOut: silent, progress: progress)
            return (loader: loader, hasChanged: hasChanged)
        }
        isGivenUp = update == nil
        guard let update else {
            log.warning(
                "keeping the earlier list of the desktop's applications, because a file system is not responding"
            )
            return false
        }
        loader = update.loader
        return update.hasChanged
    }
}
