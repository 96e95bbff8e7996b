internal import Glibc
internal import Reactor

/// One connection to a share. It belongs to the server's actor.
final class RelayConnection {
    /// The result of reading.
    enum Input {
        case incomplete
        case request(RelayRequest)
        /// The other end has closed the connection, or sent something that is not a request.
        case ended
    }

    let descriptor: CInt
    var watch: DescriptorWatch?
    /// Ends the connection if its request does not arrive.
    var timer: TimerID?
    /// Performs the request.
    var task: Task<Void, Never>?
    /// Whether a callback to a port of the other end needs a server here.
    var needsServer = true
    /// Whether the connection waits for a callback.
    var isWait = false
    private var bytes: [UInt8] = []
    private var isComplete = false
    private var isClosed = false

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Reads what has arrived. Descriptors that were passed along are closed by the kernel, because this takes none.
    func read() -> Input {
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        let count = recv(descriptor, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        if count < 0, errno == EAGAIN || errno == EINTR { return .incomplete }
        // A connection has one request.
        guard count > 0, !isComplete else { return .ended }
        bytes += chunk[..<count]
        do throws(RelayRequest.ParseError) {
            guard let request = try RelayRequest(bytes) else { return .incomplete }
            isComplete = true
            bytes = []
            return .request(request)
        } catch {
            return .ended
        }
    }

    /// Writes a reply.
    ///
    /// Does not wait: the kernel's buffer has room for all replies of a connection, so one is lost only if the other end
    /// does not read.
    func write(_ reply: RelayReply) {
        guard !isClosed else { return }
        let line = Array(reply.line.utf8)
        _ = send(descriptor, line, line.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
    }

    func close() {
        isClosed = true
        watch?.cancel()
        task?.cancel()
        Glibc.close(descriptor)
    }
}
