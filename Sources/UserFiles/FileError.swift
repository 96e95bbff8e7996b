package import SystemPackage

/// Why a file cannot be used, worded to follow the file's name in a message.
package struct FileError: Error, Hashable, CustomStringConvertible {
    /// The error of the system call that failed; `nil` if none did, and the file is just not what the caller expects.
    package let errno: Errno?
    /// The reason as it appears in a message.
    package let reason: String

    package var description: String { reason }

    /// Creates the error for a file that is not what the caller expects.
    package init(_ reason: String) {
        errno = nil
        self.reason = reason
    }

    /// Creates the error for a failed system call.
    package init(_ errno: Errno) {
        self.errno = errno
        reason =
            switch errno {
            case .noSuchFileOrDirectory: "does not exist"
            case .tooManySymbolicLinkLevels: "is part of a cycle of links"
            default: errno.description
            }
    }

    /// Creates the error for a failed system call from the call's error number.
    package init(code: Int32) {
        self.init(Errno(rawValue: code))
    }

    /// Returns a clause about a file: `FILE does not exist`, but `FILE: Permission denied` in the system's words.
    package func clause(about file: String) -> String {
        errno.map { $0.description == reason } == true ? "\(file): \(reason)" : "\(file) \(reason)"
    }

    /// Whether descriptors or memory are lacking for now, which says nothing about the file.
    package var isShortage: Bool {
        errno == .tooManyOpenFiles || errno == .tooManyOpenFilesInSystem || errno == .noMemory
    }

    /// Whether there is a shortage, or the device has failed, which says nothing about the file either.
    ///
    /// Keep the state that was read before, and read the file again later. A failure of the device may never end and may
    /// concern only this file, so it must not keep anything else from being read.
    package var isTemporary: Bool { isShortage || errno == .ioError }

    /// Whether the path leads nowhere, because the file or a directory above it does not exist.
    package var isAbsence: Bool { errno == .noSuchFileOrDirectory || errno == .notDirectory }
}
