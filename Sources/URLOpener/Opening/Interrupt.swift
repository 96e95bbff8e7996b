internal import Glibc
internal import Synchronization

/// Ctrl-C while URLs are being opened: the first one cancels the request, the second one ends the program.
///
/// The signal handler writes into a pipe that is watched along with the router's answer, so no thread is needed.
package final class Interrupt {
    /// Readable after Ctrl-C.
    package let descriptor: CInt
    private let writingEnd: CInt
    /// Whether the user wants to cancel.
    private(set) var isRequested = false

    /// Takes over Ctrl-C.
    ///
    /// - Returns: nil if no descriptor is left, or if the signal was already ignored when the program started. A shell
    ///   does that to programs that it runs in the background.
    package init?() {
        var before = sigaction()
        sigaction(SIGINT, nil, &before)
        let handler = unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self)
        var ends: [CInt] = [-1, -1]
        // Nothing after this may fail, because `deinit` resets the signal's action.
        guard handler != Self.ignored, pipe(&ends) == 0 else { return nil }
        (descriptor, writingEnd) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        pipeEnd.store(writingEnd, ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = noteSignal
        sigaction(SIGINT, &action, nil)
    }

    /// The value of `SIG_IGN`.
    private static let ignored = 1

    deinit {
        end()
        close(descriptor)
        close(writingEnd)
    }

    /// Takes note that ``descriptor`` is readable. The second Ctrl-C ends the program as the signal itself would.
    ///
    /// - Returns: whether this is the first Ctrl-C.
    package func take() -> Bool {
        var byte: UInt8 = 0
        guard read(descriptor, &byte, 1) == 1 else { return false }
        guard isRequested else {
            isRequested = true
            return true
        }
        end()
        raise(SIGINT)
        return false
    }

    /// Whether there has been a Ctrl-C that ``take()`` has not noted.
    package var isWaiting: Bool {
        var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&end, 1, 0) > 0
    }

    /// Restores the usual meaning of Ctrl-C.
    package func end() {
        signal(SIGINT, SIG_DFL)
    }
}

/// The write end of the signal handler's pipe.
private let pipeEnd = Atomic<CInt>(-1)

private let noteSignal: @convention(c) (CInt) -> Void = { _ in
    // The interrupted code may be about to read the `errno` of its own call.
    let interrupted = errno
    var byte: UInt8 = 0
    _ = write(pipeEnd.load(ordering: .relaxed), &byte, 1)
    errno = interrupted
}
