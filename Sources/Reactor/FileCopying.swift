internal import CLinux
internal import Glibc

/// System calls for files that Swift's Glibc module leaves out.
package enum FileCopying {
    /// Opens a new file without a name, for writing, in an open directory. linkat(2) gives it a name.
    ///
    /// - Returns: the descriptor, or -1 with `errno`. Not every file system has files without a name.
    package static func openUnnamedFile(in directory: CInt, mode: UInt32) -> CInt {
        openat(directory, ".", CInt(OPEN_UNNAMED) | O_WRONLY | O_CLOEXEC, mode)
    }

    /// Copies bytes from one file to the same position in another, within the kernel.
    ///
    /// - Returns: the number of bytes, 0 at the end of the file, or -1 with `errno`.
    package static func copyRange(from source: CInt, to target: CInt, at place: Int, atMost count: Int) -> Int {
        var (from, to) = (off_t(place), off_t(place))
        return copy_file_range(source, &from, target, &to, count, 0)
    }

    /// Returns the next range of a file that is not a hole, and changes the file's position.
    ///
    /// If the file system does not support holes, there is one range.
    ///
    /// - Returns: nil after the last range, with `errno` ENXIO, and after an error, with another `errno`.
    package static func data(in file: CInt, from start: Int) -> Range<Int>? {
        let first = lseek(file, off_t(start), CInt(SEEK_TO_DATA))
        guard first >= 0 else { return nil }
        let end = lseek(file, first, CInt(SEEK_TO_HOLE))
        // A writer may have truncated the file in the meantime.
        return end < first ? nil : Int(first)..<Int(end)
    }
}
