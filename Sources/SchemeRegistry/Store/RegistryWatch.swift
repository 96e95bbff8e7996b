internal import Reactor
internal import SystemPackage
internal import UserFiles

/// A watch of the paths on which a registry depends. If it lacks an inotify instance or watches, it can try again.
final class RegistryWatch {
    /// How long no change must occur before a burst of changes is read.
    private static let quiet = Duration.milliseconds(100)
    /// How long after its first change a burst is read, even if it has not ended.
    private static let limit = Duration.milliseconds(500)

    /// Turns bursts of changes into readings.
    let changes: Debouncer
    private let loop: EventLoop
    /// Nil without an inotify instance.
    private var watch: PathWatch?
    /// Why there is no instance.
    private var failure: FileError?

    /// Creates a watch that has no paths yet. Use it only on the loop's thread.
    ///
    /// - Parameter onChange: reads the paths, after each burst of changes.
    init(on loop: EventLoop, onChange: @escaping () -> Void) {
        self.loop = loop
        changes = Debouncer(on: loop, quiet: Self.quiet, limit: Self.limit, action: onChange)
    }

    /// Whether a temporary error prevents the watching of a path.
    var isStale: Bool { failure?.isTemporary == true || watch?.failures.contains(where: \.isTemporary) == true }

    /// Why some changes are not noticed at once.
    var problems: [String] {
        let unwatched = (watch?.failures ?? []).map { path in
            "\(path): changes to it \(path.isTemporary ? "may be noticed only after a minute" : "will not be noticed")"
        }
        let failure = failure.map {
            "changes to the handlers' directories may be noticed only after a minute: inotify_init1: \($0)"
        }
        return unwatched + [failure].compactMap(\.self)
    }

    /// Watches exactly these paths, which have been read. If they differ from the earlier ones, they are read again.
    func follow(_ paths: Set<String>) {
        if watch == nil {
            do throws(Errno) {
                watch = try PathWatch(on: loop) { [changes] in changes.signal() }
                failure = nil
            } catch {
                failure = FileError(error)
            }
        }
        guard let watch, watch.paths != paths else { return }
        watch.paths = paths
        // A path may have changed between being read and being watched.
        changes.signal()
    }

    /// Tries again to watch the paths for which watches or memory were lacking.
    func followAgain() {
        guard let watch, watch.failures.contains(where: \.isTemporary) else { return }
        let paths = watch.paths
        watch.paths = paths.subtracting(watch.failures.map(\.path))
        watch.paths = paths
    }
}

extension UnwatchedPath {
    /// Whether only watches or memory are lacking.
    fileprivate var isTemporary: Bool { error == .noSpace || error == .noMemory }
}
