internal import CLinux
internal import Glibc

/// Bytes and descriptors that have arrived on a socket but have not been taken yet.
struct InputBuffer: ~Copyable {
    enum Progress {
        case read
        /// Nothing has arrived.
        case empty
        /// The other end has been closed.
        case ended
        case failed
    }

    /// Descriptors, and the bytes that they arrived with.
    private struct Arrival {
        /// The descriptors; nil if they were lost.
        var descriptors: [UnixFD]?
        /// End of the bytes.
        var end: Int
    }

    private var bytes = ByteBuffer(capacity: 0)
    /// Position of the first byte that has not been taken.
    private var start = 0
    /// Descriptors that belong to no message yet, grouped by the system calls that sent them. A sender may pass a
    /// message's descriptors together with any of its bytes ("Header Fields", D-Bus specification).
    private var arrivals: [Arrival] = []
    /// The maximum size of a message, in bytes.
    var limit: Int
    /// Whether the bytes are messages, rather than lines of the authentication.
    private var holdsMessages = true
    /// Maximum number of descriptors in a message.
    private let maximumDescriptors: Int
    /// Whether the other end is a bus, which sets the sender of each message.
    private let isOnBus: Bool
    private let recentNames = RecentNames()

    /// Number of bytes that are read at a time, unless a message is larger.
    private static let readBytes = 16 << 10
    /// Number of descriptors that one system call can pass, which is the kernel's `SCM_MAX_FD`. A message has at most
    /// as many.
    static let descriptorsAtOnce = 253
    private static let controlBytes =
        MemoryLayout<cmsghdr>.size + (descriptorsAtOnce + 1) * MemoryLayout<CInt>.size

    /// Creates a buffer for messages.
    init(limit: Int, descriptors: Int, isOnBus: Bool = true) {
        self.limit = limit
        maximumDescriptors = descriptors
        self.isOnBus = isOnBus
    }

    /// Creates a buffer for the lines that come before messages on a connection without a bus. The first message may
    /// arrive together with the last line.
    init(linesBefore limit: Int) {
        self.init(limit: limit, descriptors: MessageWriter.maximumDescriptors, isOnBus: false)
        holdsMessages = false
    }

    /// Treats the rest as messages.
    mutating func beginMessages() {
        holdsMessages = true
    }

    /// Number of descriptors that belong to no message yet.
    var descriptors: Int { arrivals.reduce(0) { $0 + max($1.descriptors?.count ?? 0, 1) } }

    /// The size of the first message; nil until enough of its header has arrived.
    private var firstSize: Int? {
        get throws(MalformedMessage) {
            guard holdsMessages, bytes.count - start >= MessageSizes.headerBytes else { return nil }
            return try MessageSizes(bytes.start + start, limit: limit).message
        }
    }

    // MARK: Reading

    /// Reads as much as one system call delivers. No whole message may be left in the buffer.
    mutating func read(from socket: CInt) throws(MalformedMessage) -> Progress {
        bytes.removeFirst(start)
        for index in arrivals.indices { arrivals[index].end -= start }
        start = 0
        var room = Self.readBytes
        // Give a large message its own memory, which it can then keep.
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
        // Before this read, at most part of one message was left. The rest of it may be followed by a message with
        // descriptors.
        guard descriptors <= 2 * maximumDescriptors, arrivals.last?.descriptors?.count ?? 0 <= maximumDescriptors else {
            throw MalformedMessage()
        }
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
        let arrived = Self.descriptors(in: UnsafeRawBufferPointer(rebasing: control[..<header.msg_controllen]))
        // If this process has too few free descriptors, the kernel drops some of those that were sent. Act as if none
        // had arrived.
        let areLost = header.msg_flags & CInt(MSG_CTRUNC) != 0
        if areLost || !arrived.isEmpty {
            arrivals.append(Arrival(descriptors: areLost ? nil : arrived, end: bytes.count))
        }
        return count == 0 ? .ended : .read
    }

    /// Returns the descriptors of control messages, laid out as in cmsg(3).
    private static func descriptors(in control: UnsafeRawBufferPointer) -> [UnixFD] {
        var descriptors: [UnixFD] = []
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
        return descriptors
    }

    // MARK: Taking

    /// Takes the first message; nil if part of it is missing.
    mutating func nextMessage() throws(MalformedMessage) -> Message? {
        guard let size = try firstSize, bytes.count - start >= size else { return nil }
        var message = ByteBuffer(capacity: 0)
        let end = start + size
        if size > Self.readBytes {
            swap(&message, &bytes)
        } else {
            message = ByteBuffer(UnsafeRawBufferPointer(rebasing: bytes.contents[start..<end]))
            start = end
        }
        let taken = try Message(message, recentNames, isOnBus: isOnBus) { count throws(MalformedMessage) in
            try takeDescriptors(count, ofMessageBefore: end)
        }
        guard start != bytes.count || arrivals.isEmpty else { throw MalformedMessage() }
        return taken
    }

    /// Takes a message's descriptors, which are the first that have arrived. If some of them were lost, the message
    /// gets none.
    private mutating func takeDescriptors(
        _ count: Int,
        ofMessageBefore end: Int
    ) throws(MalformedMessage) -> [UnixFD] {
        guard count <= maximumDescriptors else { throw MalformedMessage() }
        var taken: [UnixFD] = []
        while taken.count < count {
            guard let arrival = arrivals.first else { throw MalformedMessage() }
            guard let descriptors = arrival.descriptors else {
                arrivals.removeFirst()
                arrivals.removeAll { $0.end <= end }
                return []
            }
            let left = descriptors.dropFirst(count - taken.count)
            taken += descriptors.prefix(count - taken.count)
            if left.isEmpty { arrivals.removeFirst() } else { arrivals[0].descriptors = Array(left) }
        }
        return taken
    }

    /// Takes the first byte; nil if there is none.
    mutating func nextByte() -> UInt8? {
        guard start < bytes.count else { return nil }
        start += 1
        return bytes[start - 1]
    }

    /// The maximum length of a line in the authentication, in bytes.
    private static let lineBytes = 1024

    /// Takes a line of the authentication, without its end; nil if part of it is missing.
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
