import Glibc
import Reactor
import TestSupport
import Testing

/// A broker that takes each connection and then says nothing more, as one does whose machine has stopped.
final class SilentBroker: Sendable {
    let port: UInt16
    private let descriptors: Lock<[CInt]>
    private let loop: EventLoop

    /// Begins to listen at a port of the loopback device.
    ///
    /// - Parameters:
    ///   - accepts: whether the broker accepts each client before it falls silent.
    ///   - refusals: how many of each client's subscriptions the broker refuses. It does not wait for them, because it knows
    ///     their numbers: a client counts from 1.
    init(on loop: EventLoop, accepts: Bool, refusals: UInt8 = 0) async throws {
        let (listener, port) = try listeningSocket()
        // CONNACK: there is no session, the reason is 0, and there are no properties.
        var greeting: [UInt8] = accepts ? [0x20, 3, 0, 0, 0] : []
        // SUBACK: the number, no properties, and the reason "Not authorized".
        for number in 0..<refusals { greeting += [0x90, 4, 0, number + 1, 0, 0x87] }
        let descriptors = Lock([listener])
        (self.port, self.descriptors, self.loop) = (port, descriptors, loop)
        await loop.run { [greeting] in
            _ = loop.watch(listener, for: .readable) { _ in
                let client = accept(listener, nil, nil)
                guard client >= 0, fcntl(client, F_SETFD, FD_CLOEXEC) == 0 else { return }
                _ = send(client, greeting, greeting.count, CInt(MSG_NOSIGNAL))
                descriptors.withLock { $0.append(client) }
            }
        }
    }

    /// Number of clients that have connected.
    var connections: Int { descriptors.withLock { $0.count - 1 } }

    /// Ends the loop of the broker, and the connections.
    func stop() {
        loop.stop()
        for descriptor in descriptors.withLock({ $0 }) { close(descriptor) }
    }
}

/// Makes a socket that listens at a free port of the loopback device.
private func listeningSocket() throws -> (CInt, UInt16) {
    let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(listener >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(listener, address, size) == 0 && listen(listener, 16) == 0
                && getsockname(listener, address, &size) == 0
        }
    }
    try #require(isListening)
    return (listener, address.sin_port.bigEndian)
}
