internal import Glibc
internal import OpenURLBus
internal import Translations

/// The program's output, collected so that it is written in large pieces.
///
/// Call ``flush()`` before the program may wait. If the output cannot be written, the program still performs its
/// command, and then fails.
package final class StandardOutput {
    /// Whether a person reads the output.
    package private(set) lazy var isTerminal = isatty(descriptor) != 0
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var problem: CInt?

    /// Creates an output. It does not own the descriptor.
    ///
    /// - Parameter isTerminal: whether a person reads the output; nil asks the kernel about the descriptor.
    package init(_ descriptor: CInt = STDOUT_FILENO, isTerminal: Bool? = nil) {
        self.descriptor = descriptor
        if let isTerminal { self.isTerminal = isTerminal }
    }

    /// Whether every write has succeeded so far.
    package var isIntact: Bool { problem == nil }

    /// Adds a line.
    package func print(_ line: String) {
        buffer.append(contentsOf: line.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= 1 << 16 { flush() }
    }

    /// Adds a string without a line break, for a terminal.
    package func append(_ text: String) {
        buffer.append(contentsOf: text.utf8)
    }

    /// The width of the terminal; 80 if it is unknown.
    package var width: Int { terminalWidth(of: descriptor) }

    /// Writes bytes immediately, after any output collected before.
    ///
    /// - Returns: whether to continue.
    package func write(_ bytes: ArraySlice<UInt8>) -> Bool {
        flush()
        if isIntact { problem = URLOpener.write(bytes, to: descriptor) }
        return isIntact
    }

    /// Writes the collected output.
    package func flush() {
        guard isIntact else { return buffer.removeAll() }
        problem = URLOpener.write(buffer[...], to: descriptor)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes the rest of the output, and reports a write that failed.
    ///
    /// A reader that has closed its end (`EPIPE`) is not reported: it has what it wanted.
    ///
    /// - Parameter status: the command's exit status.
    /// - Returns: the program's exit status, which is `status` unless the command succeeded and its output was lost.
    package func finish(_ status: Int32, _ errors: StandardError) -> Int32 {
        flush()
        guard let problem else { return status }
        if problem != EPIPE { errors.print(translated("standard output: \(systemErrorText(problem))")) }
        return status == 0 ? ExitStatus.inputOutput : status
    }
}

/// The program's messages to people, as opposed to its output.
package struct StandardError {
    /// The name of the program, with which each message begins.
    package var program = "openurl"
    /// The descriptor, which this does not own.
    package var descriptor = STDERR_FILENO

    /// Whether a person reads the messages.
    package var isTerminal: Bool { isatty(descriptor) != 0 }

    /// Writes a line that begins with the program's name, with the controls in the message escaped.
    package func print(_ message: String) {
        write(message.printable)
    }

    /// Writes the beginning of a line that the user at the terminal completes, with the controls in the message
    /// escaped.
    package func prompt(_ message: String) {
        _ = URLOpener.write(Array("\(program): \(message.printable)".utf8)[...], to: descriptor)
    }

    /// Replaces the terminal's current line with a string without controls.
    package func draw(_ text: String) {
        _ = URLOpener.write(Array("\r\(text)\u{1B}[K".utf8)[...], to: descriptor)
    }

    /// Writes a failure's message. Further lines are indented, so that none of them looks like a separate message from
    /// the program.
    ///
    /// - Parameter item: the item that failed, if the command has several.
    package func print(_ failure: CommandFailure, of item: String? = nil) {
        let title = item.map { "\($0.printable): " } ?? ""
        let lines = failure.lines.enumerated().map { $0 == 0 || $1.isEmpty ? $1 : "  \($1)" }
        write(title + lines.joined(separator: "\n"))
    }

    private func write(_ text: String) {
        // If this write fails, no stream is left to report that.
        _ = URLOpener.write(Array("\(program): \(text)\n".utf8)[...], to: descriptor)
    }
}

/// Returns the width of the terminal at a descriptor; 80 if it is unknown.
package func terminalWidth(of descriptor: CInt) -> Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
}

/// Writes all bytes, also if the descriptor is non-blocking: another program with the same open file can make it so, as
/// ssh does.
///
/// - Returns: the error number if the write failed; otherwise nil.
package func write(_ bytes: ArraySlice<UInt8>, to descriptor: CInt) -> CInt? {
    var bytes = bytes
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
            bytes = bytes.dropFirst(count)
        } else if errno == EAGAIN {
            waitUntilReady(descriptor, for: POLLOUT)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}

/// Waits until a descriptor can be read (`POLLIN`) or written (`POLLOUT`), or until a signal. The caller then tries
/// again, and sees any error.
package func waitUntilReady(_ descriptor: CInt, for event: CInt) {
    var ready = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    poll(&ready, 1, -1)
}
