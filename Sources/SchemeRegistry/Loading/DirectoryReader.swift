/// Reads registry directories. If an entry leads to a file system that is not responding, the others are still read.
final class DirectoryReader: Sendable {
    private let reader: PatientReader

    init(_ reader: PatientReader = PatientReader()) {
        self.reader = reader
    }

    /// Reads the current contents of a directory. Entries whose file systems are not responding stay as they were, with
    /// a diagnostic.
    func contents(
        of place: DirectoryPlace,
        before: DirectoryContents,
        files: inout ManifestFiles,
        now: Int64
    ) -> DirectoryContents {
        let copy = files
        let read = reader.read(place.path) { silent, progress in
            var files = copy
            let below = silent.filter { $0.hasPrefix("\(place.path)/") }
            let contents = DirectoryContents(
                of: place,
                before: before,
                files: &files,
                now: now,
                leavingOut: Set(below.map { String($0.dropFirst(place.path.count + 1)) })
            ) { progress("\(place.path)/\($0)") }
            return (contents: contents, files: files)
        }
        guard let read else { return before.silent(at: place, files: &files) }
        files = read.files
        return read.contents
    }
}
