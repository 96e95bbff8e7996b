internal import Glibc

/// The bytes and descriptors that have arrived on a socket, and that were not taken yet.
struct InputBuffer: ~Copyable {
    enum Progress {
        case read
        /// Nothing has arrived.
        case empty
        /// The other end has gone.
        case ended
        case failed
    }

    private var bytes = ByteBuffer(capacity: 0)
    /// The place of the first byte that was not taken.
    private var start = 0
    private var descriptors: [UnixFD] = []
    /// The largest message, in bytes.
    var limit: Int
    /// Whether the bytes are messages, and not yet lines of the authentication.
    var holdsMessages = true

    /// The bytes that one read takes, unless a message is larger.
    private static let readBytes = 16 << 10
    /// The largest number of descriptors of a system call, `SCM_MAX_FD` of the kernel. A message has at most as many.
    private static let descriptorsAtOnce = 253
    private static let controlBytes =
        MemoryLayout<cmsghdr>.size + (descriptorsAtOnce + 1) * MemoryLayout<CInt>.size

    init(limit: Int) {
        self.limit = limit
    }

    /// The size of the first message, as far as its header has arrived.
    private var firstSize: Int? {
        get throws(MalformedMessage) {
            guard holdsMessages, bytes.count - start >= MessageSizes.headerBytes else { return nil }
            return try MessageSizes(bytes.start + start, limit: limit).message
        }
    }

    // MARK: Reading

    /// Reads what has arrived, as far as one system call takes it. No whole message may be left.
    mutating func read(from socket: CInt) throws(MalformedMessage) -> Progress {
        bytes.removeFirst(start)
        start = 0
        var room = Self.readBytes
        // A large message does not share its memory with others, so the memory can go with the message.
        if let size = try firstSize, size > room {
            bytes.reserve(size)
            room = size - bytes.count
        } else {
            bytes.reserve(room)
            room -= bytes.count
        }
        let progress = withUnsafeTemporaryAllocation(byteCount: Self.controlBytes, alignment: 8) {
            receive(from: socket, room, $0)
        }
        // The other end may send descriptors with each byte of a message that has none.
        guard descriptors.count <= 2 * Self.descriptorsAtOnce else { throw MalformedMessage() }
        return progress
    }

    private mutating func receive(from socket: CInt, _ room: Int, _ control: UnsafeMutableRawBufferPointer) -> Progress
    {
        var header = msghdr()
        let count = bytes.fill { free in
            var piece = iovec(iov_base: free.baseAddress, iov_len: min(room, free.count))
            return withUnsafeMutablePointer(to: &piece) { piece in
                header.msg_iov = piece
                header.msg_iovlen = 1
                header.msg_control = control.baseAddress
                header.msg_controllen = control.count
                return recvmsg(socket, &header, CInt(MSG_CMSG_CLOEXEC | MSG_DONTWAIT))
            }
        }
        guard count >= 0 else {
            switch errno {
            case EAGAIN, EINTR: return .empty
            case ECONNRESET: return .ended
            default: return .failed
            }
        }
        takeDescriptors(UnsafeRawBufferPointer(rebasing: control[..<header.msg_controllen]))
        // Without a free descriptor in this process, some are lost, and the others would go to wrong messages.
        if header.msg_flags & CInt(MSG_CTRUNC) != 0 { return .failed }
        return count == 0 ? .ended : .read
    }

    /// Takes the descriptors of control messages, as cmsg(3) lays them out.
    private mutating func takeDescriptors(_ control: UnsafeRawBufferPointer) {
        var rest = control[...]
        while rest.count >= MemoryLayout<cmsghdr>.size {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let header = message.loadUnaligned(as: cmsghdr.self)
            let end = min(Int(header.cmsg_len), message.count)
            if header.cmsg_level == SOL_SOCKET, header.cmsg_type == CInt(SCM_RIGHTS) {
                for place in stride(from: MemoryLayout<cmsghdr>.size, to: end, by: MemoryLayout<CInt>.size) {
                    descriptors.append(UnixFD(owning: message.loadUnaligned(fromByteOffset: place, as: CInt.self)))
                }
            }
            let size = (max(end, MemoryLayout<cmsghdr>.size) + 7) & ~7
            rest = rest.dropFirst(size)
        }
    }

    // MARK: Taking

    /// Takes the first message; nil if a part of it is missing.
    mutating func nextMessage() throws(MalformedMessage) -> Message? {
        guard let size = try firstSize, bytes.count - start >= size else { return nil }
        if size > Self.readBytes {
            var whole = ByteBuffer(capacity: 0)
            swap(&whole, &bytes)
            return try Message(whole, &descriptors)
        }
        let message = bytes.contents[start..<start + size]
        start += size
        return try Message(ByteBuffer(UnsafeRawBufferPointer(rebasing: message)), &descriptors)
    }

    /// Takes the first byte; nil if nothing is left.
    mutating func nextByte() -> UInt8? {
        guard start < bytes.count else { return nil }
        start += 1
        return bytes[start - 1]
    }

    /// The largest line of the authentication, in bytes.
    private static let lineBytes = 1024

    /// Takes a line of the authentication, without its end; nil if a part of it is missing.
    mutating func nextLine() throws(MalformedMessage) -> String? {
        let rest = bytes.contents[start...].prefix(Self.lineBytes)
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
            if rest.count == Self.lineBytes { throw MalformedMessage() }
            return nil
        }
        let line = rest[..<end]
        start = end + 1
        guard line.last == UInt8(ascii: "\r") else { throw MalformedMessage() }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }
}
