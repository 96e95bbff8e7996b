internal import Glibc
internal import Reactor
internal import SystemPackage

/// Waits for changes to a file, which need not exist yet.
final class FileChanges {
    private let loop: EventLoop
    /// Contains a byte after a change: 0, or the number of the error that ended the watch.
    private let descriptor: CInt

    /// Begins to watch. The first ``wait()`` returns as soon as the watch can no longer miss a change.
    ///
    /// The watch lasts until the process exits, so nothing cancels it.
    init(of path: String) throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        descriptor = ends[0]
        // If the pipe is full, there is already a change to read.
        let writingEnd = ends[1]
        _ = fcntl(writingEnd, F_SETFL, O_NONBLOCK)
        do throws(Errno) {
            loop = try EventLoop()
        } catch {
            for end in ends { close(end) }
            throw error
        }
        loop.execute { [loop] in
            do throws(Errno) {
                let watch = try PathWatch(on: loop) { note(0, at: writingEnd) }
                watch.paths = [path]
                note(watch.failures.first?.error.rawValue ?? 0, at: writingEnd)
            } catch {
                note(error.rawValue, at: writingEnd)
            }
        }
    }

    /// Waits for changes since the last call.
    func wait() throws(Errno) {
        var bytes = [UInt8](repeating: 0, count: 256)
        var count = -1
        repeat { count = read(descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
        if let code = bytes.prefix(max(count, 0)).first(where: { $0 != 0 }) { throw Errno(rawValue: CInt(code)) }
    }
}

private func note(_ code: CInt, at descriptor: CInt) {
    var byte = UInt8(truncatingIfNeeded: code)
    _ = write(descriptor, &byte, 1)
}
