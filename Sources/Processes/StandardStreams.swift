internal import Glibc

/// The standard streams of this process.
package enum StandardStreams {
    /// Keeps the numbers of closed streams from other files. Otherwise, a socket or a file of the user could get such a number,
    /// and what is meant for the stream.
    ///
    /// As on closed streams, reading standard input and writing to the other two still fail. Call this before anything else is
    /// opened.
    package static func reserve() {
        for (stream, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(stream, F_GETFD) < 0 {
            // The numbers below are taken, so it gets this one. If there is no such file, the stream stays closed.
            _ = open("/dev/null", mode | O_CLOEXEC)
        }
    }
}
