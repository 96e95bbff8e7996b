internal import CLinux
internal import Glibc

/// System calls for sockets on 127.0.0.1 and ::1. The caller owns every descriptor that they return.
enum LoopbackSocket {
    /// The address families.
    enum Family: CaseIterable {
        case v4, v6

        var value: CInt { self == .v4 ? AF_INET : AF_INET6 }

        /// The kernel's list of sockets in the family.
        fileprivate var table: String { self == .v4 ? "/proc/net/tcp" : "/proc/net/tcp6" }
    }

    /// Opens a socket that listens on a port of the loopback address; 0 stands for any free port.
    ///
    /// - Returns: the socket, or the error.
    static func listen(_ family: Family, port: UInt16) -> Result<CInt, SocketError> {
        let socket = Glibc.socket(
            family.value,
            CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue),
            0
        )
        guard socket >= 0 else { return .failure(SocketError()) }
        var one: CInt = 1
        let size = socklen_t(MemoryLayout<CInt>.size)
        if family == .v6 { setsockopt(socket, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &one, size) }
        if port != 0 { setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, size) }
        let status =
            switch family {
            case .v4:
                withAddress(sockaddr_in.self) {
                    $0.sin_family = sa_family_t(AF_INET)
                    $0.sin_port = port.bigEndian
                    $0.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                } use: {
                    bind(socket, $0, $1)
                }
            case .v6:
                withAddress(sockaddr_in6.self) {
                    $0.sin6_family = sa_family_t(AF_INET6)
                    $0.sin6_port = port.bigEndian
                    $0.sin6_addr = in6addr_loopback
                } use: {
                    bind(socket, $0, $1)
                }
            }
        // The kernel remembers ended connections for a minute. A program that signs in twice can have the port again, if
        // both servers allow it. A free port is chosen without this, so that it is really free.
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, size)
        guard status == 0, Glibc.listen(socket, backlog) == 0 else {
            let error = SocketError()
            close(socket)
            return .failure(error)
        }
        return .success(socket)
    }

    /// Number of connections that the kernel keeps until they are accepted.
    private static let backlog: CInt = 16

    /// Returns a socket's port; nil if the kernel does not report it.
    static func port(of socket: CInt, _ family: Family) -> UInt16? {
        end(of: socket, family, getsockname)?.port
    }

    /// Returns whether the program at the other end of a connection belongs to this user.
    ///
    /// The kernel's list of sockets gives the user of each. As long as the connection is open, its other end is in the
    /// list.
    static func isPeerOwn(_ socket: CInt, _ family: Family) -> Bool {
        guard let here = end(of: socket, family, getsockname), let there = end(of: socket, family, getpeername) else {
            return false
        }
        let (local, remote) = (
            SocketTable.End(address: there.address, port: there.port),
            SocketTable.End(address: here.address, port: here.port)
        )
        var user: UInt32?
        forEachLine(of: family.table) { line in
            user = SocketTable.user(in: line, from: local, to: remote)
            return user == nil
        }
        return user == getuid()
    }

    private typealias Lookup = (CInt, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> CInt

    private static func end(of socket: CInt, _ family: Family, _ lookup: Lookup) -> (address: [UInt8], port: UInt16)? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            let raw = UnsafeMutableRawPointer(pointer)
            guard lookup(socket, raw.assumingMemoryBound(to: sockaddr.self), &size) == 0 else { return nil }
            switch family {
            case .v4:
                let address = raw.load(as: sockaddr_in.self)
                return (withUnsafeBytes(of: address.sin_addr) { Array($0) }, UInt16(bigEndian: address.sin_port))
            case .v6:
                let address = raw.load(as: sockaddr_in6.self)
                return (withUnsafeBytes(of: address.sin6_addr) { Array($0) }, UInt16(bigEndian: address.sin6_port))
            }
        }
    }

    private static func withAddress<Address>(
        _ type: Address.Type,
        _ fill: (inout Address) -> Void,
        use: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        withUnsafeTemporaryAllocation(of: Address.self, capacity: 1) { buffer in
            guard let address = buffer.baseAddress else { return -1 }
            memset(address, 0, MemoryLayout<Address>.size)
            fill(&address.pointee)
            let size = socklen_t(MemoryLayout<Address>.size)
            return use(UnsafeRawPointer(address).assumingMemoryBound(to: sockaddr.self), size)
        }
    }

    /// Maximum number of bytes of the kernel's list that are read: enough for several hundred thousand sockets.
    private static let tableLimit = 64 << 20

    /// Reads one of the kernel's files line by line, until `body` returns false.
    private static func forEachLine(of path: String, _ body: (Substring) -> Bool) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var rest: [UInt8] = []
        var total = 0
        while total < tableLimit {
            let count = read(file, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            total += count
            rest += bytes[..<count]
            let lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for line in lines.dropLast() {
                guard body(Substring(String(decoding: line, as: UTF8.self))) else { return }
            }
            rest = Array(lines.last ?? [])
        }
    }
}

/// A call's failure, as its error number.
struct SocketError: Error, CustomStringConvertible {
    let number = errno

    var description: String { String(cString: strerror(number)) }
}
