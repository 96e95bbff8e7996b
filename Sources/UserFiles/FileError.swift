package import SystemPackage

/// The reason why a file cannot be used, worded to follow the file's name in a message.
package struct FileError: Error, Hashable, CustomStringConvertible {
    /// The error of the system call that failed; `nil` if no call failed, and the file is not what the caller expects.
    package let errno: Errno?
    /// The reason as a message gives it.
    package let reason: String

    package var description: String { reason }

    /// A file that is not what the caller expects.
    package init(_ reason: String) {
        errno = nil
        self.reason = reason
    }

    /// A system call that failed with an error.
    package init(_ errno: Errno) {
        self.errno = errno
        reason =
            switch errno {
            case .noSuchFileOrDirectory: "does not exist"
            case .tooManySymbolicLinkLevels: "is part of a cycle of links"
            default: errno.description
            }
    }

    /// A system call that failed with the number of an error.
    package init(code: Int32) {
        self.init(Errno(rawValue: code))
    }

    /// Whether the path leads nowhere: the file, or a directory above it, does not exist.
    package var isAbsence: Bool { errno == .noSuchFileOrDirectory || errno == .notDirectory }
}
