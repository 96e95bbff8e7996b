internal import Reactor
internal import SystemPackage

/// Reads registry directories, each in a thread of its own: an entry may lead to a file system that does not answer, and
/// must not keep the others from being read.
final class DirectoryReader: Sendable {
    /// One thread that reads a directory.
    private struct Attempt {
        /// The entry that the thread has come to; nil before the first.
        var entry: String?
        var hasEnded = false
    }

    /// The attempts that made no progress, by the paths of their entries. A thread that still waits for an entry is the reason
    /// not to try the entry again.
    private let stuck = Lock<[String: Lock<Attempt>]>([:])
    /// The time within which a file system has to give one entry.
    private let patience: Duration
    /// The number of silent entries that one reading waits for.
    private static let attempts = 4

    init(patience: Duration = .seconds(2)) {
        self.patience = patience
    }

    /// The current contents of a directory. Entries that do not answer stay as they were before, with a diagnostic.
    func contents(
        of place: DirectoryPlace,
        before: DirectoryContents,
        files: inout ManifestFiles,
        now: Int64
    ) -> DirectoryContents {
        for _ in 0..<Self.attempts {
            let silent = silentPaths()
            if silent.contains(place.path) { break }
            let below = silent.filter { $0.hasPrefix("\(place.path)/") }
            let leftOut = Set(below.map { String($0.dropFirst(place.path.count + 1)) })
            let attempt = Lock(Attempt())
            let copy = files
            let read: (contents: DirectoryContents, files: ManifestFiles)?
            do throws(Errno) {
                read = try HelperThread.wait(patience: patience) { progress in
                    var files = copy
                    let contents = DirectoryContents(
                        of: place,
                        before: before,
                        files: &files,
                        now: now,
                        leavingOut: leftOut
                    ) { entry in
                        attempt.withLock { $0.entry = entry }
                        progress()
                    }
                    return (contents, files)
                } late: {
                    attempt.withLock { $0.hasEnded = true }
                }
            } catch {
                break
            }
            if let read {
                files = read.files
                return read.contents
            }
            let path = attempt.withLock(\.entry).map { "\(place.path)/\($0)" } ?? place.path
            stuck.withLock { $0[path] = attempt }
        }
        return before.silent(at: place)
    }

    private func silentPaths() -> Set<String> {
        stuck.withLock { stuck in
            stuck = stuck.filter { !$0.value.withLock(\.hasEnded) }
            return Set(stuck.keys)
        }
    }
}
