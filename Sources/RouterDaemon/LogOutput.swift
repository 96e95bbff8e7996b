internal import Glibc
internal import Reactor

/// Writes the log to a descriptor whose reader may have stopped reading.
///
/// No line waits for the reader. A line for which there is no room is left out. Before the next line that fits, a
/// notice says how many lines are missing.
final class LogOutput: Sendable {
    private struct State {
        /// The number of missing lines.
        var missing = 0
        /// Whether only part of the last line was written.
        var isWithinLine = false
    }

    private let state = Lock(State())
    private let descriptor: CInt
    /// Whether this object must close the descriptor.
    private let isOwn: Bool
    private let isSocket: Bool
    private let notice: @Sendable (_ missing: Int) -> String

    /// - Parameters:
    ///   - descriptor: stays open as long as this object exists.
    ///   - notice: returns a line about missing lines, including its line break.
    init(_ descriptor: CInt, notice: @escaping @Sendable (_ missing: Int) -> String) {
        self.notice = notice
        var status = stat()
        let type = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        isSocket = type == S_IFSOCK
        var own: CInt = -1
        if type == S_IFIFO || type == S_IFCHR {
            // Open the file again: other processes share the open file, and may expect that writing to it blocks.
            own = open("/proc/self/fd/\(descriptor)", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        }
        self.descriptor = own >= 0 ? own : descriptor
        isOwn = own >= 0
    }

    deinit {
        if isOwn { close(descriptor) }
    }

    /// Writes a line, including its line break.
    func write(_ line: String) {
        state.withLock { state in
            if state.isWithinLine {
                guard put("\n") == .all else { return state.missing += 1 }
                state.isWithinLine = false
            }
            if state.missing > 0 {
                switch put(notice(state.missing)) {
                case .nothing: return state.missing += 1
                case .all: state.missing = 0
                case .part:
                    state.isWithinLine = true
                    return state.missing += 1
                }
            }
            let written = put(line)
            if written != .all { state.missing += 1 }
            state.isWithinLine = written == .part
        }
    }

    private enum Written {
        case nothing, part, all
    }

    private func put(_ text: String) -> Written {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: rest)
                let count =
                    isSocket
                    ? send(descriptor, piece.baseAddress, piece.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
                    : Glibc.write(descriptor, piece.baseAddress, piece.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return rest.count == bytes.count ? .nothing : .part }
                rest = rest.dropFirst(count)
            }
            return .all
        }
    }
}
