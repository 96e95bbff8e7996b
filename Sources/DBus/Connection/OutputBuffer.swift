internal import CLinux
internal import DequeModule
internal import Glibc

/// Messages on their way to the socket, as bytes.
///
/// Messages without descriptors share a piece, which one system call writes. A message with descriptors is a separate
/// piece, because its descriptors go with its first byte.
struct OutputBuffer {
    private struct Piece {
        var bytes: [UInt8]
        var descriptors: [UnixFD]

        /// The serial of the first message.
        var serial: UInt32 {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: MessageHeader.serialPlace, as: UInt32.self) }
        }
    }

    enum Progress: Equatable {
        /// The first piece was written, at least in part.
        case written
        /// The socket cannot take anything now.
        case full
        /// The message with this serial was left out, because its descriptors cannot be passed now.
        case dropped(UInt32)
        /// The other end has been closed.
        case ended
        case failed
    }

    private var pieces: Deque<Piece> = []
    /// Number of bytes that have been written from the first piece.
    private var written = 0
    /// Number of bytes that have not been written.
    private(set) var bytes = 0
    /// Number of descriptors that have not been written.
    private(set) var descriptors = 0

    /// Number of messages that were added after the last attempt to write.
    private(set) var messagesSinceWrite = 0

    var isEmpty: Bool { pieces.isEmpty }

    /// Number of bytes for which a new piece has room without growing.
    private static let firstSize = 16 << 10
    /// Above this size, the next message begins a new piece.
    static let pieceSize = 64 << 10

    mutating func append(_ message: WrittenMessage, as serial: UInt32) {
        messagesSinceWrite += 1
        let start: Int
        let last = pieces.count - 1
        if message.descriptors.isEmpty, last >= 0, pieces[last].descriptors.isEmpty,
            pieces[last].bytes.count < Self.pieceSize
        {
            start = pieces[last].bytes.count
            pieces[last].bytes.append(contentsOf: message.bytes)
            bytes += message.bytes.count
            pieces[last].bytes.set(serial, at: start + MessageHeader.serialPlace)
        } else {
            var sent = message.sentBytes
            // Other messages follow.
            if message.descriptors.isEmpty { sent.reserveCapacity(Self.firstSize) }
            sent.set(serial, at: MessageHeader.serialPlace)
            bytes += sent.count
            descriptors += message.descriptors.count
            pieces.append(Piece(bytes: sent, descriptors: message.descriptors))
        }
    }

    /// Adds lines, which come before the first message.
    mutating func append(_ lines: String) {
        pieces.append(Piece(bytes: Array(lines.utf8), descriptors: []))
        bytes += lines.utf8.count
    }

    /// Writes as much of the first piece as the socket takes.
    mutating func write(to socket: CInt) -> Progress {
        messagesSinceWrite = 0
        guard let first = pieces.first else { return .written }
        let descriptors = written == 0 ? first.descriptors : []
        let count = first.bytes.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            return descriptors.isEmpty
                ? send(socket, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
                : Self.pass(rest, descriptors, to: socket)
        }
        guard count >= 0 else {
            switch errno {
            case EINTR: return .written
            case EAGAIN: return .full
            case EPIPE, ECONNRESET: return .ended
            // Too many descriptors of this user are on their way, so drop the message, as libdbus does.
            case ETOOMANYREFS where written == 0:
                remove(first)
                return .dropped(first.serial)
            default: return .failed
            }
        }
        written += count
        bytes -= count
        self.descriptors -= descriptors.count
        if written == first.bytes.count {
            pieces.removeFirst()
            written = 0
        } else {
            pieces[0].descriptors = []
        }
        return .written
    }

    private mutating func remove(_ first: Piece) {
        pieces.removeFirst()
        bytes -= first.bytes.count
        descriptors -= first.descriptors.count
    }

    private static func pass(_ bytes: UnsafeRawBufferPointer, _ descriptors: [UnixFD], to socket: CInt) -> Int {
        // This is one control message, laid out as in cmsg(3).
        var control = ByteBuffer(capacity: 64)
        control.append(number: MemoryLayout<cmsghdr>.size + descriptors.count * MemoryLayout<CInt>.size)
        control.append(number: SOL_SOCKET)
        control.append(number: CInt(SCM_RIGHTS))
        for descriptor in descriptors { control.append(number: descriptor.rawValue) }
        control.pad(to: MemoryLayout<cmsghdr>.alignment)
        var piece = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        var bytes = control.array
        return bytes.withUnsafeMutableBytes { control in
            withUnsafeMutablePointer(to: &piece) { piece in
                var message = msghdr()
                message.msg_iov = piece
                message.msg_iovlen = 1
                message.msg_control = control.baseAddress
                message.msg_controllen = control.count
                return sendmsg(socket, &message, CInt(MSG_NOSIGNAL))
            }
        }
    }
}
