internal import Glibc
internal import OpenURLBus

/// What the program prints, collected and written at the end, or when ``flush()`` says that somebody may wait for it.
///
/// When it cannot be written, the program goes on with what it was asked to do, and ends with the failure.
final class StandardOutput {
    /// Whether a person reads it.
    private(set) lazy var isTerminal = isatty(descriptor) != 0
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var problem: CInt?

    /// Prints to a descriptor that stays the caller's.
    init(_ descriptor: CInt = STDOUT_FILENO) {
        self.descriptor = descriptor
    }

    /// Whether what was written so far has arrived.
    var isIntact: Bool { problem == nil }

    /// Adds a line.
    func print(_ line: String) {
        buffer.append(contentsOf: line.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= 1 << 16 { flush() }
    }

    /// Writes what has been collected.
    func flush() {
        guard isIntact else { return buffer.removeAll() }
        problem = write(buffer[...], to: descriptor)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes what is left, and returns the program's exit status: `status`, unless that is success and the output got
    /// lost.
    func finish(_ status: Int32, _ errors: StandardError) -> Int32 {
        flush()
        guard let problem else { return status }
        if problem != EPIPE { errors.print("standard output: \(String(cString: strerror(problem)))") }
        return status == 0 ? ExitStatus.inputOutput : status
    }
}

/// What the program tells a person who may not be reading its output.
struct StandardError {
    /// The descriptor, which stays the caller's.
    var descriptor = STDERR_FILENO

    /// Whether a person reads it.
    var isTerminal: Bool { isatty(descriptor) != 0 }

    /// Writes a line after the program's name, with nothing in it that a terminal would obey.
    func print(_ message: String) {
        // There is nobody left to be told that this could not be written.
        _ = write(Array("openurl: \(message.printable)\n".utf8)[...], to: descriptor)
    }
}

/// Writes everything; returns the error where that is not possible.
private func write(_ bytes: ArraySlice<UInt8>, to descriptor: CInt) -> CInt? {
    var bytes = bytes
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count >= 0 {
            bytes = bytes.dropFirst(count)
        } else if errno != EINTR {
            return errno
        }
    }
    return nil
}
